// SPDX-License-Identifier: Apache-2.0
//
// assert of a kernel. Of a string it is found as <assert.h>, which may be included again and again, after a definition
// of NDEBUG or without. On the host a failure is said, and is the fault kernel_failed of the launch's stream; in PTX
// and AMD's code objects the device traps; SPIR-V has nothing of the kind, so there nothing is checked. NVRTC has its
// own.
#if !defined(__CUDACC_RTC__)
#undef assert
#if defined(NDEBUG) || defined(__SPIRV__)
#define assert(...) (static_cast<void>(0))
#elif defined(ANYPLACE_BARE_DEVICE) || defined(__HIPCC_RTC__)
#define assert(...) ((__VA_ARGS__) ? static_cast<void>(0) : __builtin_trap())
#else
#define assert(...) \
  ((__VA_ARGS__) ? static_cast<void>(0) : ::anyplace::device_code::assertion_failed(#__VA_ARGS__, __FILE__, __LINE__))
#endif
#endif
