// SPDX-License-Identifier: Apache-2.0
//
// Objects: what handles and addresses stand for, as far as calls have told, and what is known of the order of their
// work.
#pragma once

#include <anyplace/backend/kit/layer.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "clock.h"
#include "shadow.h"
#include "site.h"

namespace anyplace::validate {

/// An address space: 0 is that of the host and of the devices that share their addresses with it.
using Space = std::uint32_t;

/// A backend that the layer is over, and one of its devices.
struct Device {
  const void* backend = nullptr;
  std::int32_t index = 0;
  std::string place;
  Space space = 0;
  bool reads_pageable_in_order = false;  ///< it has no pinned memory, and reads all host memory in the stream's order
  bool is_in_virtual_time = false;       ///< the host's clock has no part in the order of its work
  std::vector<std::int32_t> peers;       ///< whose memory it was given access to
  Clock gone;                            ///< of the streams that were destroyed, whose work goes on
  Clock gone_blocking;                   ///< of those among them that the default stream waits for
};

struct Stream {
  Device* device = nullptr;
  Component component = 0;
  std::uint64_t cookie = 0;
  std::string name;
  bool is_default = false;
  bool is_blocking = false;
  bool is_gone = false;
  std::uint32_t made = 0;          ///< the operation; 0 if the library made it for itself
  std::uint64_t number = 0;        ///< of the last operation
  std::uint64_t submitted = 0;     ///< the how many-th submission of the process that was
  std::uint64_t host_version = 0;  ///< of the host's clock, when it was joined last
  Clock clock;
};

struct Event {
  Device* device = nullptr;
  bool is_interprocess = false;
  bool is_shared = false;  ///< it was imported or exported, so another process may record it
  bool is_recorded = false;
  bool is_foreign = false;  ///< it is the vendor's and was wrapped, so others may record it
  std::uint32_t made = 0;   ///< the operation; 0 if the library made it for itself
  Clock clock;              ///< that of the most recent record
};

/// What an operation is, in words. Equal ones are kept once, so that an access names one by a number.
struct Operation {
  std::string name;
  std::string stream;
  std::uint64_t stream_id = 0;  ///< StreamView::id(); 0 for the host
  std::string thread;
  SiteId site = 0;
  bool by_graph = false;
};

/// Memory that the application has, or had.
struct Allocation {
  std::uint32_t id = 0;
  Space space = 0;
  Range range;
  std::uint32_t kind = 0;  ///< ANYPLACE_MEMORY_*; 0 for memory that was registered
  Device* device = nullptr;
  std::shared_ptr<Stream> home;
  bool is_live = true;
  bool is_given_up = false;  ///< the backend has the memory back, and may hand out the address as something else
  bool is_kept = false;      ///< its owner let go of it, and a graph keeps it
  std::uint32_t made = 0;    ///< the operation
  std::uint32_t freed = 0;   ///< the operation
  std::string name;
};

/// An access of a graph's node, or of an operation that is about to be submitted.
struct Touch {
  Space space = 0;
  Range range;
  bool writes = false;
  bool reads = false;
  bool at_the_call = false;      ///< it may read at any time from the call on
  bool is_declared = false;      ///< that it reads is known, not assumed
  std::uint32_t allocation = 0;  ///< when it was captured
};

}  // namespace anyplace::validate
