// SPDX-License-Identifier: Apache-2.0
//
// In what CUDA's driver and HIP differ where the runtime that their doubles share asks. Each of them defines what is
// declared here.
#pragma once

#include <cstdint>

#include "../settings.h"

namespace anyplace::doubles {

/// What the runtime answers, beside 0 for success and the codes of faults. CUDA's driver gave the numbers and HIP has
/// kept them; each double has a static_assert for its header's.
namespace code {
constexpr int invalid_value = 1;
constexpr int out_of_memory = 2;
constexpr int not_initialized = 3;
constexpr int deinitialized = 4;
constexpr int invalid_device = 101;
constexpr int invalid_image = 200;
constexpr int invalid_context = 201;
constexpr int invalid_handle = 400;
constexpr int illegal_state = 401;
constexpr int not_found = 500;
constexpr int not_ready = 600;
constexpr int illegal_address = 700;
constexpr int peer_access_already_enabled = 704;
constexpr int peer_access_not_enabled = 705;
constexpr int context_is_destroyed = 709;
constexpr int already_registered = 712;
constexpr int not_registered = 713;
constexpr int launch_failed = 719;
constexpr int not_supported = 801;
constexpr int capture_unsupported = 900;
constexpr int capture_invalidated = 901;
constexpr int capture_merge = 902;
constexpr int capture_unmatched = 903;
constexpr int capture_unjoined = 904;
constexpr int capture_isolation = 905;
constexpr int capture_implicit = 906;
constexpr int captured_event = 907;
constexpr int capture_wrong_thread = 908;
constexpr int graph_update_failure = 910;
}  // namespace code

constexpr int max_pitch = 2147483647;

/// What a stream argument may name that isn't a stream of the table.
enum class SpecialStream : uint8_t { none, legacy, per_thread };

enum class Kind : uint8_t {
  early,    // may be called before the double has begun, and from host functions
  plain,    //
  release,  // gives something back: does so even if it was told to fail, or the context has failed
};

struct Vendor {
  uint16_t handles = 0;  // a part of each handle
  int unknown_stream = code::invalid_handle;
  int least_priority = 0, greatest_priority = 0;
  /// Each device has one context from the beginning, which never ends; that of the first is current where none was set.
  bool device_is_context = false;
  /// Whoever has memory of a device that failed fails, too.
  bool memory_fails_with_device = false;
  int not_permitted = code::not_supported;  // the answer inside of host functions and kernels
  int (*begin)() = nullptr;                 // what the first call does, whichever it is; null: it must be cuInit
  int dynamic_shared = 0;                   // bytes that a kernel may ask for unless it is said otherwise
};
extern const Vendor vendor;

const Settings& settings();
SpecialStream special_stream(uint64_t handle) noexcept;
/// Whether the code is one that a context keeps.
bool is_sticky(int code) noexcept;
/// Why the entry may not begin with the thread's current context, or 0.
int check_current(Kind kind, const char* symbol);

}  // namespace anyplace::doubles
