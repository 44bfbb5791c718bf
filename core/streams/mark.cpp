// SPDX-License-Identifier: Apache-2.0
// Marks: a host function that tells listeners that the stream's work got there.
#include <string>
#include <utility>

#include "annotate/marks.h"
#include "anyplace/stream.h"
#include "plugins/device_properties.h"
#include "runtime/call.h"
#include "streams/stream_state.h"

namespace anyplace {

void StreamView::mark_when_reached(annotate::Name name, const annotate::Attributes& attributes) const {
  constexpr const char* operation = "Stream::mark";
  detail::enter(operation);
  if (!detail::anybody_listens()) return;
  const detail::Pin<detail::StreamState> stream = detail::streams().pin(id_, operation);
  detail::require_usable(*stream->device, operation);
  // A program that annotates must not fail where it wouldn't without.
  if (!detail::has_capability(*stream->device, Capability::host_functions, operation)) return;
  detail::launch_host_function(
      *stream,
      [text = std::string(name.view()), attributes, id = id_] {
        detail::mark_reached(std::string_view(text), attributes, id);
      },
      operation);
}

}  // namespace anyplace
