// SPDX-License-Identifier: Apache-2.0
//
// The macros and helpers with which cases are written.
//
//   ANYPLACE_CASE("streams", "streams.order", "copies of one stream run in order", Capability::host_functions) {
//     const Device device = run.device();
//     Stream stream = CALL(Stream(device));
//     ...
//     CHECK_EQUAL(read(buffer), expected);
//   }
//
// A case uses only the public API (or the table, by table_backend.h), and runs in a process of its own: it may set
// environment variables, use up the device or die. CALL notes the call in memory that the parent reads, so that the
// report of a crash or a hang says where it was; CHECK does that too. A check that fails ends the case.
//
// Rules: a verdict never depends on how long something took. A case that shows that nothing happens looks for a while
// (CHECK_STAYS_FALSE), which convicts a broken backend sooner or later and a good one never. No case holds back more
// than one stream at a time by a host gate. No case allocates while a gate is closed, unless it tests that.
#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <random>
#include <span>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>

#include "anyplace/anyplace.h"
#include "decomposed.h"
#include "suite.h"

namespace anyplace::conformance {

/// Thrown by a check that didn't hold. Only run_case catches it.
struct CheckFailed {
  std::string text;
  std::string where = {};  ///< as step_text(); "" where the thread's last step says it
};
/// Thrown if the device lacks something that the case found out that it needs.
struct Skipped {
  std::string missing;
};

/// The surroundings that a case is given.
class Run {
 public:
  Run(std::string place, std::string plugin, std::string other, std::string module, int device_count,
      std::uint64_t seed)
      : place_(std::move(place)),
        plugin_(std::move(plugin)),
        other_(std::move(other)),
        module_(std::move(module)),
        device_count_(device_count),
        random_(seed) {}

  /// Such as "cuda:0".
  const std::string& place() const noexcept { return place_; }
  const std::string& other_place() const noexcept { return other_; }
  /// The plugin of the device's backend, for table_backend.h.
  const std::string& plugin_file() const noexcept { return plugin_; }
  /// Such as "cuda".
  std::string backend() const { return place_.substr(0, place_.find(':')); }
  /// The device under test; the call loads its backend. (The parameters tell the caller's position.)
  Device device(const char* file = __builtin_FILE(), int line = __builtin_LINE()) const;
  /// Another device of the same backend. The case must need second_device.
  Device second(const char* file = __builtin_FILE(), int line = __builtin_LINE()) const;
  /// A device of another backend. The case must need other_backend.
  Device other(const char* file = __builtin_FILE(), int line = __builtin_LINE()) const;
  int device_count() const noexcept { return device_count_; }
  /// The file of the test kernels. The case must need test_module.
  const std::string& module_file() const noexcept { return module_; }

  /// Skips the case unless the device has the capability.
  void need(Capability capability) const;
  std::mt19937_64& random() noexcept { return random_; }

 private:
  std::string place_;
  std::string plugin_;
  std::string other_;
  std::string module_;
  int device_count_;
  std::mt19937_64 random_;
};

/// The path from "conformance/" on, such as "conformance/cases/x.cpp", wherever the compiler was called.
const char* source_name(const char* file) noexcept;

/// Notes that this thread is about to evaluate `text`.
void step(const char* file, int line, const char* text) noexcept;
[[noreturn]] void check_failed(const char* file, int line, const std::string& text);
[[noreturn]] void skip(std::string missing);

/// Runs `body` in a process that the case forked, such as the "second process". Returns false if it failed; the report
/// and standard error then have the reason and the position.
bool end_well(const char* process, const std::function<void()>& body) noexcept;
/// Fails unless that process ended well; `status` is waitpid's. The failure says by which signal it was killed, and
/// where.
void check_end(const char* process, int status, const char* file, int line);
/// Gives the case `factor` times as long as others, because it moves very much.
void needs_time(int factor) noexcept;

/// A value as a report shows it.
template <class T>
std::string shown(const T& value) {
  if constexpr (std::is_same_v<T, ErrorCode>) {
    return to_string(value);
  } else if constexpr (std::is_same_v<T, bool>) {
    return value ? "true" : "false";
  } else if constexpr (std::is_same_v<T, Device>) {
    return value.to_string();
  } else if constexpr (std::is_convertible_v<T, std::string>) {
    if constexpr (std::is_pointer_v<T>) {
      if (value == nullptr) return "null";
    }
    return "\"" + std::string(value) + "\"";
  } else if constexpr (std::is_base_of_v<StreamView, T> || std::is_base_of_v<EventView, T>) {
    return "#" + std::to_string(value.id());
  } else if constexpr (std::is_enum_v<T>) {
    return std::to_string(static_cast<long long>(value));
  } else if constexpr (requires(std::ostringstream & out) { out << value; }) {
    std::ostringstream out;
    out << value;
    return out.str();
  } else {
    return "a value";
  }
}

template <class A, class B>
void check_equal(const A& actual, const B& expected, const char* file, int line, const char* text) {
  if (!(actual == expected)) {
    check_failed(file, line, std::string(text) + ": it is " + shown(actual) + ", not " + shown(expected));
  }
}

/// Runs `body`, which has to throw an Error of that code, and returns the Error.
Error expect_error(ErrorCode code, const char* file, int line, const char* text, const std::function<void()>& body);

/// Evaluates `body` again and again for a while, and fails if it becomes true.
void check_stays_false(const char* file, int line, const char* text, const std::function<bool()>& body);

}  // namespace anyplace::conformance

/// Evaluates an expression and returns its value; the report of a crash or hang shows the expression.
#define CALL(...) (::anyplace::conformance::step(__FILE__, __LINE__, #__VA_ARGS__), __VA_ARGS__)

/// A comparison that doesn't hold is reported with the values of both sides.
#define CHECK(...)                                                                                  \
  do {                                                                                              \
    ::anyplace::conformance::step(__FILE__, __LINE__, #__VA_ARGS__);                                \
    _Pragma("GCC diagnostic push")                                                                  \
        _Pragma("GCC diagnostic ignored \"-Wparentheses\"")::anyplace::conformance::check_that(     \
            ::anyplace::conformance::Decompose() <= __VA_ARGS__, __FILE__, __LINE__, #__VA_ARGS__); \
    _Pragma("GCC diagnostic pop")                                                                   \
  } while (false)

#define CHECK_EQUAL(actual, expected)                                                        \
  do {                                                                                       \
    ::anyplace::conformance::step(__FILE__, __LINE__, #actual);                              \
    ::anyplace::conformance::check_equal((actual), (expected), __FILE__, __LINE__, #actual); \
  } while (false)

/// The expression must throw an Error of that code, which is returned.
#define CHECK_ERROR(code_name, ...)                                                                         \
  ::anyplace::conformance::expect_error(::anyplace::ErrorCode::code_name, __FILE__, __LINE__, #__VA_ARGS__, \
                                        [&] { static_cast<void>(__VA_ARGS__); })

#define CHECK_STAYS_FALSE(...) \
  ::anyplace::conformance::check_stays_false(__FILE__, __LINE__, #__VA_ARGS__, [&] { return bool(__VA_ARGS__); })

#define ANYPLACE_CONFORMANCE_NAME_2(prefix, line) prefix##line
#define ANYPLACE_CONFORMANCE_NAME(prefix, line) ANYPLACE_CONFORMANCE_NAME_2(prefix, line)

/// Defines a case: ANYPLACE_CASE(group, bullet, name, needs...) { body that sees `Run& run` }
#define ANYPLACE_CASE(group, bullet, ...)                                                                \
  static void ANYPLACE_CONFORMANCE_NAME(case_, __LINE__)(::anyplace::conformance::Run & run);            \
  static const ::anyplace::conformance::Registration ANYPLACE_CONFORMANCE_NAME(registration_, __LINE__)( \
      group, bullet, __FILE__, __LINE__, ANYPLACE_CONFORMANCE_NAME(case_, __LINE__), __VA_ARGS__);       \
  static void ANYPLACE_CONFORMANCE_NAME(case_, __LINE__)([[maybe_unused]] ::anyplace::conformance::Run & run)

/// Defines a case for each parameter: ANYPLACE_CASES(parameters, group, bullet, "name with {}", needs...) { body that
/// sees `run` and `parameter` }. `parameters` is a container of structs with a `std::string label`.
#define ANYPLACE_CASES(parameters, group, bullet, ...)                                                             \
  static void ANYPLACE_CONFORMANCE_NAME(case_, __LINE__)(                                                          \
      ::anyplace::conformance::Run & run, const std::remove_cvref_t<decltype(parameters)>::value_type& parameter); \
  static const ::anyplace::conformance::Registration ANYPLACE_CONFORMANCE_NAME(registration_, __LINE__)(           \
      group, bullet, __FILE__, __LINE__, parameters, ANYPLACE_CONFORMANCE_NAME(case_, __LINE__), __VA_ARGS__);     \
  static void ANYPLACE_CONFORMANCE_NAME(case_, __LINE__)(                                                          \
      [[maybe_unused]] ::anyplace::conformance::Run & run,                                                         \
      [[maybe_unused]] const std::remove_cvref_t<decltype(parameters)>::value_type& parameter)
