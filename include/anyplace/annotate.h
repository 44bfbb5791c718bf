// SPDX-License-Identifier: Apache-2.0
//
// Annotations: names for what a program does, shown by whatever profiler is there. One call reaches all of them.
//
//   namespace annotate = anyplace::annotate;
//   const annotate::Range frame("frame");                              // until the end of the scope
//   annotate::mark("first pixel", {.color = 0xff76b900, .payload = 42});
//   stream.mark("blurred");                                            // when the stream's work gets there
//
// Who hears it: tools of NVTX (Nsight), ROCTX (rocprofv3) and ITT (VTune), which are looked for at the first annotation
// (ANYPLACE_ANNOTATE says which; docs/annotations.md has the signs by which each is found), and the program's own
// Listeners. While nobody listens a call is the load of one number: nothing is copied, measured or allocated.
//
// No call here throws but where it is said. Every one may be made on any thread, also in a host function. In the child
// of a fork, at exit, and inside a listener's function annotations are silent.
#pragma once

#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "export.h"

namespace anyplace::annotate {

class Category;
class Domain;
class Listener;
class Range;
struct Attributes;

/// The text of an annotation, borrowed for the call. Tools get the text up to its first '\0' and at most 64 KiB of it;
/// a Listener gets all of it.
class Name {
 public:
  /// A C string, of which the length is found out only if somebody listens.
  constexpr Name(const char* text) noexcept : data_(text), size_(unmeasured) {}
  /// A text that need not end with a zero.
  constexpr Name(std::string_view text) noexcept : data_(text.data()), size_(text.size()) {}
  /// A text that lives at least as long as the call.
  Name(const std::string& text) noexcept : data_(text.data()), size_(text.size()) {}
  Name(std::nullptr_t) = delete;

  /// The text is measured here and not when the name is made, so that a name that nobody hears costs nothing.
  std::string_view view() const noexcept {
    if (data_ == nullptr) return {};
    return size_ == unmeasured ? std::string_view(data_) : std::string_view(data_, size_);
  }
  /// Whether it was given as a C string.
  bool is_c_string() const noexcept { return size_ == unmeasured && data_ != nullptr; }

 private:
  static constexpr std::size_t unmeasured = ~std::size_t{0};
  const char* data_;
  std::size_t size_;
};

/// A number that goes with an annotation: signed, unsigned or floating, kept in 64 bits.
class Payload {
 public:
  /// What kind of number it is.
  enum class Kind : std::uint8_t {
    none,  ///< there is no number
    i64,   ///< signed
    u64,   ///< unsigned
    f64,   ///< floating
  };

  constexpr Payload() noexcept = default;
  /// A signed number.
  template <std::signed_integral T>
  constexpr Payload(T value) noexcept : kind_(Kind::i64), value_{.i64 = value} {}
  /// An unsigned number.
  template <std::unsigned_integral T>
  constexpr Payload(T value) noexcept : kind_(Kind::u64), value_{.u64 = value} {}
  /// A floating-point number, kept as a double.
  template <std::floating_point T>
  constexpr Payload(T value) noexcept : kind_(Kind::f64), value_{.f64 = static_cast<double>(value)} {}

  /// Which of the three it is, or none.
  constexpr Kind kind() const noexcept { return kind_; }
  /// The value of that kind; 0 for a payload of another one.
  constexpr std::int64_t i64() const noexcept { return kind_ == Kind::i64 ? value_.i64 : 0; }
  /// The unsigned number; 0 for a payload of another kind.
  constexpr std::uint64_t u64() const noexcept { return kind_ == Kind::u64 ? value_.u64 : 0; }
  /// The floating-point number; 0 for a payload of another kind.
  constexpr double f64() const noexcept { return kind_ == Kind::f64 ? value_.f64 : 0; }

 private:
  Kind kind_ = Kind::none;
  union Value {
    std::int64_t i64;
    std::uint64_t u64;
    double f64;
  } value_{.u64 = 0};
};

/// Groups the annotations of one library, so that tools can show or hide them together. Ranges of different domains
/// don't nest in each other. A domain is made once and kept until the process ends; this is its number, free to copy.
class ANYPLACE_API Domain {
 public:
  /// The domain of annotations that name none: the default one of NVTX, and "anyplace" for ITT.
  constexpr Domain() noexcept = default;
  /// The domain of that name; the same name gives the same domain. Throws invalid_argument for an empty name, for one
  /// of more than 1024 bytes or with '\0', and for more than 63 domains.
  explicit Domain(std::string_view name);

  /// The number that stands for the domain in this process; 0 for the default one.
  constexpr std::uint32_t number() const noexcept { return number_; }
  friend constexpr bool operator==(Domain, Domain) noexcept = default;

 private:
  std::uint32_t number_ = 0;
};

/// A kind of annotation ("copies"), by which tools filter. A category is made once and kept until the process ends;
/// this is its number, free to copy. Categories are the same in all domains.
class ANYPLACE_API Category {
 public:
  /// No category.
  constexpr Category() noexcept = default;
  /// The category of that name; the same name gives the same category. Throws invalid_argument as the constructor of
  /// Domain does, but for more than 1023 categories.
  explicit Category(std::string_view name);

  /// The number that stands for the category in this process; 0 for none.
  constexpr std::uint32_t number() const noexcept { return number_; }
  friend constexpr bool operator==(Category, Category) noexcept = default;

 private:
  std::uint32_t number_ = 0;
};

/// What goes with a name: {.color = 0xff76b900, .payload = bytes}.
struct Attributes {
  Domain domain = {};                       ///< the library that annotates
  Category category = {};                   ///< what the annotation is of, for filters
  std::optional<std::uint32_t> color = {};  ///< 0xAARRGGBB
  Payload payload = {};                     ///< a number that tools show with the name
};

/// The attributes of calls that pass none. One object serves them all, so that such a call needn't make its own.
inline constexpr Attributes no_attributes;

/// The id of a range that range_start() began. It is never reused; 0 says that nobody listened.
using RangeId = std::uint64_t;

/// What range_push and range_pop return while nobody listens, as NVTX does: depths aren't counted then.
inline constexpr int nobody_listens = -2;
/// What range_pop returns where there is no range to end.
inline constexpr int no_range = -1;

namespace detail {
/// The number of listeners; one more bit is set until tools were looked for. At 0 a call has nothing to do.
extern ANYPLACE_API std::atomic<std::uint32_t> listeners;

/// What a Range remembers of its beginning. With a depth less than 0 nobody listened at the beginning, and the other
/// members aren't set.
struct RangeToken {
  std::uint64_t thread;
  std::uint32_t generation;
  std::uint32_t domain;
  std::int32_t depth;
};

ANYPLACE_API int push(Name name, const Attributes& attributes) noexcept;
ANYPLACE_API int pop(Domain domain) noexcept;
ANYPLACE_API void mark(Name name, const Attributes& attributes) noexcept;
ANYPLACE_API RangeId start(Name name, const Attributes& attributes) noexcept;
ANYPLACE_API bool end(RangeId id) noexcept;
ANYPLACE_API void name_thread(Name name) noexcept;
ANYPLACE_API void begin_range(RangeToken& token, Name name, const Attributes& attributes) noexcept;
ANYPLACE_API void end_range(const RangeToken& token) noexcept;
}  // namespace detail

/// Whether an annotation may be heard. Where it is false, making a name can be spared. It is true before the first
/// annotation, which is when tools are looked for.
inline bool listening() noexcept { return detail::listeners.load(std::memory_order_relaxed) != 0; }

/// Begins a range on this thread, inside the one that was begun last and hasn't ended. Returns its depth, from 0, or
/// nobody_listens. A range that is still open when its thread ends stays open: tools show it so.
inline int range_push(Name name, const Attributes& attributes = no_attributes) noexcept {
  return listening() ? detail::push(name, attributes) : nobody_listens;
}

/// Ends the innermost range of this thread and domain. Returns its depth, or nobody_listens. Returns no_range, and no
/// listener hears anything, if no range is open that was begun while somebody listened.
inline int range_pop(Domain domain = {}) noexcept { return listening() ? detail::pop(domain) : nobody_listens; }

/// Names a point in time.
inline void mark(Name name, const Attributes& attributes = no_attributes) noexcept {
  if (listening()) detail::mark(name, attributes);
}

/// Begins a range that overlaps others as it likes and may end on another thread. It stays open until it is ended.
inline RangeId range_start(Name name, const Attributes& attributes = no_attributes) noexcept {
  return listening() ? detail::start(name, attributes) : 0;
}

/// Ends the range, from any thread. Returns false, and no listener hears anything, for an id that was never returned or
/// whose range has ended. Returns true for 0.
inline bool range_end(RangeId id) noexcept { return id == 0 || detail::end(id); }

/// Tells the tools what the calling thread is called.
inline void name_thread(Name name) noexcept {
  if (listening()) detail::name_thread(name);
}

/// A range that is as long as a scope. It ends on the thread that began it, together with the ranges that were begun in
/// it and are still open. If it is destroyed on another thread, the range stays open and the error handler gets an
/// invalid_argument; range_start is made for that. It can't be moved, as it would end in another scope then.
class Range {
 public:
  /// Begins the range, if somebody listens.
  [[nodiscard]] explicit Range(Name name, const Attributes& attributes = no_attributes) noexcept {
    token_.depth = -1;
    if (listening()) detail::begin_range(token_, name, attributes);
  }
  Range(const Range&) = delete;
  Range& operator=(const Range&) = delete;
  ~Range() {
    if (token_.depth >= 0) detail::end_range(token_);
  }

 private:
  detail::RangeToken token_;
};

// ---- Who listens ---------------------------------------------------------------------------------------------------

/// An annotation as a Listener hears it. Texts are valid during the call.
struct Event {
  std::string_view name;               ///< "" at the end of a range
  std::string_view domain;             ///< the name of its domain; "" for the default one
  std::string_view category;           ///< the name of its category; "" for none
  std::optional<std::uint32_t> color;  ///< 0xAARRGGBB; empty where none was given
  Payload payload;                     ///< the number that was given with it
  int depth = 0;                       ///< of a pushed or popped range, in its thread and domain
  RangeId range = 0;                   ///< of a started or ended range
  std::uint64_t thread = 0;            ///< the calling thread, by the number that the system gives it
  std::uint64_t stream = 0;            ///< of Stream::mark: the id of the stream
};

/// A listener of the program's own. Its functions are called on the annotating threads, by several at once, in each
/// thread's order. They are like host functions: calls of anyplace are refused there (not_permitted), and what they
/// throw goes to the error handler.
class ANYPLACE_API Listener {
 public:
  Listener() = default;
  Listener(const Listener&) = delete;  // a ListenerGuard refers to it
  Listener& operator=(const Listener&) = delete;
  virtual ~Listener();

  /// A thread began a range (Range, range_push). Does nothing unless it is overridden, as the others.
  virtual void range_pushed(const Event& event);
  /// A thread ended its innermost range of that domain.
  virtual void range_popped(const Event& event);
  /// A range began that may end on another thread (range_start).
  virtual void range_started(const Event& event);
  /// Such a range ended (range_end).
  virtual void range_ended(const Event& event);
  /// A point was marked: by mark(), or by Stream::mark when the work came to it.
  virtual void marked(const Event& event);
  /// A thread got a name (name_thread).
  virtual void thread_named(const Event& event);
};

/// A Listener hears all annotations for as long as this lives. Its destructor waits for calls of the listener that are
/// under way on other threads.
class ANYPLACE_API ListenerGuard {
 public:
  /// Throws not_permitted inside a listener's function, invalid_argument for more than 16 listeners, and forked in the
  /// child of a fork.
  [[nodiscard]] explicit ListenerGuard(Listener& listener);
  ListenerGuard(const ListenerGuard&) = delete;  // ends the listening once
  ListenerGuard& operator=(const ListenerGuard&) = delete;
  ~ListenerGuard();

 private:
  std::size_t slot_;
};

/// A vendor's tool, and whether it hears annotations.
struct ListenerLibrary {
  std::string name;     ///< "nvtx", "roctx" or "itt"
  std::string library;  ///< the file of its library; "" if none is named or loaded
  bool active = false;  ///< whether it hears annotations
  std::string reason;   ///< why it hears none; "" if it is active
};

/// The libraries of NVTX, ROCTX and ITT. Looks for them if that hasn't been done. Throws forked in the child of a fork.
ANYPLACE_API std::vector<ListenerLibrary> listener_libraries();

}  // namespace anyplace::annotate
