// SPDX-License-Identifier: Apache-2.0
#include "help.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <vector>

#include "device.h"
#include "director.h"
#include "stream.h"
#include "thread.h"

namespace anyplace::cpu_sim {
namespace {

constexpr std::int64_t spin_ns = 20'000;  // A host thread polls for work so long before it sleeps.
// It pauses at most so often between two polls; each poll takes a cache line from the working thread.
constexpr int most_pauses = 64;
constexpr int most_depth = 3;             // So many waits are followed from stream to stream.
constexpr std::size_t most_streams = 64;  // At most so many streams are tried at each poll.

/// Runs work that the record depends on. Returns false if this thread can run none.
bool help(const Record& record, int depth) noexcept {
  if (record.timeline == nullptr) return false;
  Stream* const stream = record.timeline->owner();
  if (stream == nullptr) return false;
  // The stream's dependencies matter only while it hasn't reached the target. So they are read first, and whether the
  // record is complete is checked after that. (If the stream was recycled meanwhile, the record is complete.)
  const Stream::Dependencies needed = stream->dependencies(record.target);
  if (record.complete()) return false;
  if (stream->help(record.target)) return true;
  if (depth == most_depth) return false;
  return std::any_of(std::begin(needed.records), std::end(needed.records),
                     [depth](const Record& each) { return help(each, depth + 1); });
}

bool help_any(std::span<const Record> records) noexcept {
  const std::size_t tried = std::min(records.size(), most_streams);
  return std::any_of(records.begin(), records.begin() + static_cast<std::ptrdiff_t>(tried),
                     [](const Record& record) { return help(record, 0); });
}

/// Polls for a while. Returns true as soon as the first record is complete, or this thread has run work that a record
/// depends on.
bool poll(Scheduler& scheduler, std::span<const Record> records, bool helps) noexcept {
  if (!scheduler.begin_polling()) return false;
  bool done = false;
  int pauses = 1;
  const std::int64_t began = now_ns();
  for (std::int64_t now = began; !done && now < began + spin_ns; now = now_ns()) {
    for (int i = 0; i < pauses; ++i) pause_briefly();
    pauses = std::min(2 * pauses, most_pauses);
    done = records.front().complete() || (helps && help_any(records));
    if (!done) give_up_core(now - began);
  }
  scheduler.end_polling();
  return done;
}

}  // namespace

bool wait_for(std::span<const Record> records, const Deadline& deadline) noexcept {
  if (Director* const director = Director::get(); director != nullptr && director->has_turn()) {
    return director->wait_for(records, deadline.timeout_ns());
  }
  const bool helps = deadline.forever();
  while (!records.empty()) {
    const Record& first = records.front();
    if (first.complete()) {
      records = records.subspan(1);
      continue;
    }
    if (deadline.poll()) return false;
    if (helps && help_any(records)) continue;
    Stream* const stream = first.timeline->owner();
    if (stream != nullptr && poll(stream->scheduler(), records, helps)) continue;
    if (stream != nullptr) stream->scheduler().wake_worker();
    if (!first.timeline->wait(first.target, deadline)) return false;
  }
  return true;
}

bool synchronize(Device& device, const Deadline& deadline) {
  std::vector<Record> records;
  device.unfinished(records);
  return wait_for(records, deadline);
}

}  // namespace anyplace::cpu_sim
