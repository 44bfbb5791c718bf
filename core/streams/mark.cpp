// SPDX-License-Identifier: Apache-2.0
// Marks: host functions that tell listeners that the stream's work has got there.
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
  // An annotation must not make a program fail, so a backend without host functions has no marks.
  if (!detail::has_capability(*stream->device, Capability::host_functions, operation)) return;
  detail::launch_host_function(
      *stream,
      [text = std::string(name.view()), attributes, id = id_] {
        detail::mark_reached(std::string_view(text), attributes, id);
      },
      detail::no_deed(), operation);
}

}  // namespace anyplace
