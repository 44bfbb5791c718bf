// SPDX-License-Identifier: Apache-2.0
//
// What the sweeps run again and again: a program that uses all of the public API that submits something, on two devices
// of one backend and on cpu_sim beside them, and destroys everything at its end, however it ends.
#pragma once

#include <anyplace/anyplace.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace sweep {

inline constexpr std::uint32_t count = 4096;
using Numbers = std::vector<std::uint32_t>;

/// A result is not what was computed: worse than any Error.
struct Wrong : std::runtime_error {
  using std::runtime_error::runtime_error;
};
void expect(bool condition, const char* what);
void expect_all(const Numbers& found, std::uint32_t expected, const char* what);

/// Host memory that copies use, `count` numbers. It stays: an error may leave copies behind that are still under way.
Numbers& host_numbers(std::uint32_t value = 0);

/// An error handler: "reported CODE VENDOR_CODE" on standard output, the text on standard error.
void tell(const anyplace::Error& error);

/// What else is done with a kernel that fills `numbers`, which are `count`, on that stream.
using KernelStep = void (*)(const anyplace::Stream& stream, anyplace::KernelView fill, const anyplace::Buffer& numbers);
/// `image` is a file with the conformance suite's test kernels. Throws Wrong, and what anyplace throws.
void run_pipeline(const std::string& place, const std::string& other_place, const std::string& image,
                  KernelStep more = nullptr);
/// Its parts.
void run_submissions(const std::string& place, const std::string& image, KernelStep more = nullptr);
void run_two_places(const std::string& place, const std::string& other_place);
void run_memory(const std::string& place);

// -- vendor_steps.cpp: for pipeline.cpp alone.
/// A graph is built, launched, updated, launched again and destroyed. As few calls as that takes: each is made to fail.
void run_graph(const anyplace::Stream& stream, anyplace::KernelView fill, const anyplace::Buffer& numbers);
/// What another process would open, which is refused in this one.
void run_sharing(const std::string& place);

}  // namespace sweep
