// SPDX-License-Identifier: Apache-2.0
#include "comm/transfers.h"

namespace anyplace::detail {
namespace {

void transfer_on(const StreamView& stream, const StreamView& other, const CommSide& destination,
                 const CommSide& source) {
  if (destination.array.size() == 0) return;
  order(stream, other);
  copy(stream, destination.array, source.array);
  order(other, stream);
}

}  // namespace

StreamView current_stream_of_array(const ArrayView& array) {
  const ArrayPlace place = array.place();
  return place.is_host() ? StreamView() : current_stream(place.device());
}

void order(const StreamView& later, const StreamView& earlier) {
  if (!later || !earlier || later == earlier) return;
  later.wait_stream(earlier);
}

Joined::Joined(const std::vector<StreamView>& streams) {
  for (const StreamView& stream : streams) {
    if (!captured_ && stream && stream.is_capturing()) captured_ = stream;
  }
  if (!captured_) return;
  for (const StreamView& stream : streams) {
    if (!stream || stream.is_capturing()) continue;
    order(stream, captured_);
    joined_.push_back(stream);
  }
}

void Joined::finish() const {
  for (const StreamView& stream : joined_) order(captured_, stream);
}

void transfer_to(const CommSide& destination, const CommSide& source) {
  const bool here = static_cast<bool>(destination.stream);
  transfer_on(here ? destination.stream : source.stream, here ? source.stream : destination.stream, destination,
              source);
}

void transfer_from(const CommSide& destination, const CommSide& source) {
  const bool here = static_cast<bool>(source.stream);
  transfer_on(here ? source.stream : destination.stream, here ? destination.stream : source.stream, destination,
              source);
}

Array contiguous(const Array& array, const StreamView& stream) {
  if (array.is_contiguous()) return array;
  Array made(stream, array.dtype(), array.shape());
  copy(stream, made, array);
  return made;
}

}  // namespace anyplace::detail
