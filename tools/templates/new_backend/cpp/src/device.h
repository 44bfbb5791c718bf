// SPDX-License-Identifier: Apache-2.0
//
// Device: its properties, its memory, and its streams as a whole.
//
// A device is never destroyed, because a process that exits may still have handles and threads that point at it.
#pragma once

#include <anyplace/backend/device_backend.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <set>

#include "heap.h"
#include "stream.h"
#include "timeline.h"
#include "workers.h"

namespace newname_backend {

class Device {
 public:
  Device(std::int32_t index, anyplace::backend::Host host) : index_(index), host_(host) {}
  Device(const Device&) = delete;  // its streams point at it
  Device& operator=(const Device&) = delete;

  void properties(anyplace_device_properties& out) const;
  /// The heap for memory of that `kind`, which is ANYPLACE_MEMORY_*. Throws Failure(UNSUPPORTED) for a kind that this
  /// device lacks.
  Heap& heap(std::uint32_t kind);
  Workers& workers() noexcept { return workers_; }

  std::shared_ptr<Stream> make_stream(const anyplace_stream_desc& desc);
  /// Waits for all work that was submitted to any stream; false if time ran out first.
  bool synchronize(const Deadline& deadline);
  /// Waits for all work and ends the threads; false if time ran out first. Nothing is submitted afterwards.
  bool shut_down(const Deadline& deadline);

 private:
  friend class Stream;
  void add(Stream& stream);
  void remove(Stream& stream) noexcept;

  const std::int32_t index_;
  const anyplace::backend::Host host_;
  Heap device_memory_{std::uint64_t{1} << 30};
  Heap pinned_memory_{std::uint64_t{1} << 30};
  Workers workers_;
  std::mutex mutex_;  // guards streams_
  std::set<Stream*> streams_;
};

}  // namespace newname_backend
