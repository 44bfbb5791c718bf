// SPDX-License-Identifier: Apache-2.0
//
// The order between the streams of a collective. A side is an array's memory with the stream that it is used in the
// order of. A copy runs on one side's stream, which waits for the other side's stream before; the other one waits for
// it afterwards. They wait by events, so the host doesn't.
#pragma once

#include <vector>

#include "anyplace/array.h"

namespace anyplace::detail {

/// The stream is the one in whose order the array's memory is used. It is null for memory of the host that nothing else
/// writes.
struct CommSide {
  ArrayView array;
  StreamView stream;
};

/// Gives the calling thread's current stream of the array's device; null for an array of the host.
StreamView current_stream_of_array(const ArrayView& array);

/// Makes `later` wait for what `earlier` was given up to now. Does nothing if one is null or both are the same.
void order(const StreamView& later, const StreamView& earlier);

/// Where one of the streams is captured, Joined makes the others part of the capture. finish() ends their part: the
/// captured stream then waits for them, as a capture demands. Null streams are skipped.
class Joined {
 public:
  explicit Joined(const std::vector<StreamView>& streams);
  void finish() const;

 private:
  StreamView captured_;
  std::vector<StreamView> joined_;
};

/// Copies on the destination's stream, or on the source's if the destination's is null.
void transfer_to(const CommSide& destination, const CommSide& source);
/// Copies on the source's stream, or on the destination's if the source's is null.
void transfer_from(const CommSide& destination, const CommSide& source);

/// Gives the array itself if it is contiguous, else a copy on its device, which is made on the stream.
Array contiguous(const Array& array, const StreamView& stream);

}  // namespace anyplace::detail
