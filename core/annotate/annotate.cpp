// SPDX-License-Identifier: Apache-2.0
// The out-of-line part of the calls of annotate.h, which they reach if somebody may listen.
#include "anyplace/annotate.h"

#include <array>
#include <mutex>
#include <new>
#include <optional>
#include <unordered_map>

#include <fmt/format.h>

#include "annotate/listeners.h"
#include "annotate/marks.h"
#include "annotate/registry.h"
#include "annotate/text.h"
#include "anyplace/backend/layer.h"
#include "runtime/call.h"
#include "runtime/no_destructor.h"

namespace anyplace {
namespace detail {
namespace {

using annotate::Attributes;
using annotate::Event;
using annotate::RangeId;

/// A range that was started, with the id that each tool gave it.
struct Started {
  std::uint32_t domain = 0;
  std::array<std::uint64_t, vendor_kinds> ids{};
};

struct StartedRanges {
  std::mutex mutex;  // guards the rest; a leaf
  std::unordered_map<RangeId, Started> open;
  RangeId last = 0;
};
NoDestructor<StartedRanges> started_storage;
StartedRanges& started() noexcept { return started_storage.value; }

/// The number of the domain, or 0 if it was never made: a program may have made the number up.
std::uint32_t domain_of(const Attributes& attributes) noexcept {
  return attributes.domain.number() < max_domains ? attributes.domain.number() : 0;
}

Event event_of(const AnnotatingThread& thread, std::string_view name, const Attributes& attributes) noexcept {
  Event event;
  event.name = name;
  event.domain = domain_name(domain_of(attributes));
  event.category = category_name(attributes.category.number());
  event.color = attributes.color;
  event.payload = attributes.payload;
  event.thread = thread.system_number;
  return event;
}

void pop_one(AnnotatingThread& thread, std::uint32_t domain) noexcept {
  const int depth = --thread.depths[domain];
  each_vendor([&](VendorListener& listener, std::size_t) { listener.pop(domain); });
  Event event;
  event.domain = domain_name(domain);
  event.depth = depth;
  event.thread = thread.system_number;
  tell_listeners(thread, ANYPLACE_ANNOTATION_RANGE_POPPED, event);
}

int push_one(AnnotatingThread& thread, annotate::Name name, const Attributes& attributes) noexcept {
  const CallText text(name, any_vendor());
  const int depth = thread.depths[domain_of(attributes)]++;
  each_vendor([&](VendorListener& listener, std::size_t) { listener.push({text.c_str(), &attributes}); });
  Event event = event_of(thread, text.view(), attributes);
  event.depth = depth;
  tell_listeners(thread, ANYPLACE_ANNOTATION_RANGE_PUSHED, event);
  return depth;
}

void end_one(RangeId id, const Started& range) noexcept {
  each_vendor([&](VendorListener& listener, std::size_t kind) { listener.end(range.domain, range.ids[kind]); });
  AnnotatingThread* const thread = annotating_thread();
  if (thread == nullptr) return;
  Event event;
  event.domain = domain_name(range.domain);
  event.range = id;
  event.thread = thread->system_number;
  tell_listeners(*thread, ANYPLACE_ANNOTATION_RANGE_ENDED, event);
}

void report_wrong_thread(std::uint64_t began, std::uint64_t ends) noexcept {
  try {
    ErrorDetails details;
    details.code = ErrorCode::invalid_argument;
    details.operation = "annotate::Range::~Range";
    set_parts(details, fmt::format("the range was begun on another thread (the {}. that annotates) than where it ends "
                                   "(the {}.): it stays open\na Range ends on the thread that began it; range_start "
                                   "and range_end are for those that end elsewhere\nsee docs/annotations.md",
                                   began, ends));
    report(Error(std::move(details)));
  } catch (...) {  // there is no memory to report it
  }
}

}  // namespace

void mark_reached(annotate::Name name, const Attributes& attributes, std::uint64_t stream) noexcept {
  AnnotatingThread* const thread = annotating_thread();
  if (thread == nullptr) return;
  const CallText text(name, any_vendor());
  each_vendor([&](VendorListener& listener, std::size_t) { listener.mark({text.c_str(), &attributes}); });
  Event event = event_of(*thread, text.view(), attributes);
  event.stream = stream;
  tell_listeners(*thread, ANYPLACE_ANNOTATION_MARK, event);
}

bool anybody_listens() noexcept {
  static_cast<void>(annotating_thread());
  return (annotate::detail::listeners.load(std::memory_order_relaxed) & ~not_looked_for) != 0;
}

}  // namespace detail

namespace annotate::detail {

using namespace anyplace::detail;

int push(Name name, const Attributes& attributes) noexcept {
  AnnotatingThread* const thread = annotating_thread();
  return thread == nullptr ? nobody_listens : push_one(*thread, name, attributes);
}

int pop(Domain domain) noexcept {
  AnnotatingThread* const thread = annotating_thread();
  if (thread == nullptr) return nobody_listens;
  const std::uint32_t number = domain_of({.domain = domain});
  if (thread->depths[number] <= 0) return no_range;
  pop_one(*thread, number);
  return thread->depths[number];
}

void mark(Name name, const Attributes& attributes) noexcept { mark_reached(name, attributes, 0); }

RangeId start(Name name, const Attributes& attributes) noexcept {
  AnnotatingThread* const thread = annotating_thread();
  if (thread == nullptr) return 0;
  RangeId id = 0;
  Started range{.domain = domain_of(attributes)};
  try {
    const std::lock_guard lock(started().mutex);
    id = ++started().last;
    started().open.emplace(id, range);
  } catch (const std::bad_alloc&) {
    return 0;
  }
  const CallText text(name, any_vendor());
  each_vendor([&](VendorListener& listener, std::size_t kind) {
    range.ids[kind] = listener.start({text.c_str(), &attributes}, id);
  });
  {
    const std::lock_guard lock(started().mutex);
    const auto found = started().open.find(id);
    if (found != started().open.end()) found->second = range;
  }
  Event event = event_of(*thread, text.view(), attributes);
  event.range = id;
  tell_listeners(*thread, ANYPLACE_ANNOTATION_RANGE_STARTED, event);
  return id;
}

bool end(RangeId id) noexcept {
  if (annotations_silent() || inside_listener()) return false;
  std::optional<Started> range;
  {
    const std::lock_guard lock(started().mutex);
    const auto found = started().open.find(id);
    if (found == started().open.end()) return false;
    range = found->second;
    started().open.erase(found);
  }
  end_one(id, *range);
  return true;
}

void name_thread(Name name) noexcept {
  AnnotatingThread* const thread = annotating_thread();
  if (thread == nullptr) return;
  const CallText text(name, any_vendor());
  each_vendor([&](VendorListener& listener, std::size_t) { listener.name_thread(text.c_str()); });
  tell_listeners(*thread, ANYPLACE_ANNOTATION_THREAD_NAMED, event_of(*thread, text.view(), {}));
}

void begin_range(RangeToken& token, Name name, const Attributes& attributes) noexcept {
  AnnotatingThread* const thread = annotating_thread();
  if (thread == nullptr) return;
  token = {thread->number, thread->generation, domain_of(attributes), 0};
  token.depth = push_one(*thread, name, attributes);
}

void end_range(const RangeToken& token) noexcept {
  if (annotations_silent() || inside_listener()) return;
  AnnotatingThread* const thread = calling_thread();
  if (thread == nullptr) return;
  if (thread->number != token.thread) return report_wrong_thread(token.thread, thread->number);
  // The range's listeners have stopped in between, so nobody knows of the range.
  if (token.generation != annotation_generation() || annotating_thread() == nullptr) return;
  // Ranges that were begun later and are still open end first, so that tools see nested ranges.
  while (thread->depths[token.domain] > token.depth) pop_one(*thread, token.domain);
}

}  // namespace annotate::detail
}  // namespace anyplace
