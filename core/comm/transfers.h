// SPDX-License-Identifier: Apache-2.0
//
// The order between the streams of a collective. A side is an array's memory with the stream that it is used in the
// order of. A copy runs on one side's stream: that waits for the other side's before, and the other waits for it
// afterwards, by events, so the host doesn't.
#pragma once

#include <vector>

#include "anyplace/array.h"

namespace anyplace::detail {

/// Memory, and the stream in whose order it is used: null for memory of the host that nothing else writes.
struct CommSide {
  ArrayView array;
  StreamView stream;
};

/// The calling thread's current stream of the array's device; null for the host's.
StreamView current_stream_of_array(const ArrayView& array);

/// `later` comes after what `earlier` was given up to now. Nothing for null streams and for a stream itself.
void order(const StreamView& later, const StreamView& earlier);

/// Where one of the streams is captured, makes the others part of the capture, and ends their part with finish(). The
/// captured stream then waits for them, as a capture demands. Null streams are skipped.
class Joined {
 public:
  explicit Joined(const std::vector<StreamView>& streams);
  void finish() const;

 private:
  StreamView captured_;
  std::vector<StreamView> joined_;
};

/// Copies on the destination's stream; on the source's if the destination's is null.
void transfer_to(const CommSide& destination, const CommSide& source);
/// Copies on the source's stream; on the destination's if the source's is null.
void transfer_from(const CommSide& destination, const CommSide& source);

/// The array itself if it is contiguous, else a copy on its device, made on the stream.
Array contiguous(const Array& array, const StreamView& stream);

}  // namespace anyplace::detail
