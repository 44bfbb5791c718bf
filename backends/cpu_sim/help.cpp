// SPDX-License-Identifier: Apache-2.0
#include "help.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

#include "stream.h"

namespace anyplace::cpu_sim {
namespace {

constexpr int64_t kSpinNs = 20'000;       // how long a host looks without sleeping
constexpr int kMostPauses = 64;           // between two looks: each takes a line from the thread that works
constexpr int kDepth = 3;                 // how far it is followed what waits for what
constexpr std::size_t kMostStreams = 64;  // that are tried at each look, of many

/// Runs something that the record waits for. False if there is nothing that could be run here.
bool help(const Record& record, int depth) noexcept {
  if (record.timeline == nullptr) return false;
  Stream* const stream = record.timeline->owner();
  if (stream == nullptr) return false;
  // What the stream waits for concerns us only if it hasn't got past our target: so this is read before that. (Of a
  // stream that was recycled meanwhile nothing concerns us, and the record is complete.)
  const Stream::Dependencies needed = stream->dependencies(record.target);
  if (record.complete()) return false;
  if (stream->help(record.target)) return true;
  if (depth == kDepth) return false;
  return std::any_of(std::begin(needed.records), std::end(needed.records),
                     [depth](const Record& each) { return help(each, depth + 1); });
}

bool help_any(std::span<const Record> records) noexcept {
  const std::size_t tried = std::min(records.size(), kMostStreams);
  return std::any_of(records.begin(), records.begin() + static_cast<std::ptrdiff_t>(tried),
                     [](const Record& record) { return help(record, 0); });
}

/// Looks for a while. True if something was done meanwhile: the first record is complete, or one could be helped.
bool look(Scheduler& scheduler, std::span<const Record> records, bool helps) noexcept {
  if (!scheduler.begin_looking()) return false;
  bool done = false;
  int pauses = 1;
  const int64_t end = now_ns() + kSpinNs;
  do {
    for (int i = 0; i < pauses; ++i) pause_briefly();
    pauses = std::min(2 * pauses, kMostPauses);
    done = records.front().complete() || (helps && help_any(records));
  } while (!done && now_ns() < end);
  scheduler.end_looking();
  return done;
}

}  // namespace

bool wait_for(std::span<const Record> records, const Deadline& deadline) noexcept {
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
    if (stream != nullptr && look(stream->scheduler(), records, helps)) continue;
    if (stream != nullptr) stream->scheduler().call();
    if (!first.timeline->wait(first.target, deadline)) return false;
  }
  return true;
}

}  // namespace anyplace::cpu_sim
