// SPDX-License-Identifier: Apache-2.0
// What device_code.h refuses of kernels, with what Clang must say of each, in its line, and with our own words. tests/refusals
// checks that with -verify: a mistake that is taken is a failure, and so is an error that isn't expected. warned/forgotten.cu is
// apart: Clang doesn't warn of what is unused where there are errors.
#include <anyplace/device_code.h>

// What follows from a kernel that Export refuses: it has no parameters.
// expected-error@*:* 0+ {{in 'anyplace::device_code::Export<}}

// A kernel whose parameter isn't passed by value.
extern "C" __global__ void by_reference(unsigned* data, const unsigned& value) { *data = value; }
ANYPLACE_EXPORT_KERNELS(by_reference);  // expected-note {{requested here}}
// expected-error@anyplace/device_code/host_block.h:* {{parameters are passed by value}}
// expected-error@anyplace/device_code/host_block.h:* 0-1 {{parameters are copied as bytes}}

// A kernel that returns something.
extern "C" __global__ int not_void(unsigned* data) { return static_cast<int>(*data); }
ANYPLACE_EXPORT_KERNELS(not_void);  // expected-note {{requested here}}
// expected-error@anyplace/device_code/host_block.h:* {{a function that returns void}}

// A parameter that is laid out differently on a device.
extern "C" __global__ void takes_long_double(float* data, long double value) { *data = static_cast<float>(value); }
ANYPLACE_EXPORT_KERNELS(takes_long_double);  // expected-note {{requested here}}
// expected-error@anyplace/device_code/host_block.h:* {{long double is laid out differently on a device}}

// Parameters of more bytes than every device takes.
struct Table {
  unsigned values[1023];
};
extern "C" __global__ void too_many_bytes(unsigned* data, Table table) { *data = table.values[0]; }
ANYPLACE_EXPORT_KERNELS(too_many_bytes);  // expected-note {{requested here}}
// expected-error@anyplace/device_code/host_block.h:* {{4096 bytes at most}}

// Dynamic shared memory the way that only a device's compiler knows.
extern "C" __global__ void extern_shared(unsigned* data) {
  extern __shared__ unsigned own[];  // expected-error {{previous 'extern'}}
  *data = own[0];
}
ANYPLACE_EXPORT_KERNELS(extern_shared);

// A kernel whose name a device's compiler mangles: the device would have no "no_c_linkage", but "_Z12no_c_linkagePj".
__global__ void no_c_linkage(unsigned* data) { *data = 1; }  // expected-note {{requested here}}
ANYPLACE_EXPORT_KERNELS(no_c_linkage);
// expected-error@anyplace/device_code/export.h:* {{a kernel begins with extern}}

// The same behind a kernel as it should be, and in a namespace.
extern "C" __global__ void first(unsigned* data) { *data = 1; }
namespace part {
__global__ void second(unsigned* data) { *data = 2; }  // expected-note {{requested here}}
ANYPLACE_EXPORT_KERNELS(second);
// expected-error@anyplace/device_code/export.h:* {{a kernel begins with extern}}
}  // namespace part
ANYPLACE_EXPORT_KERNELS(first);

// A device takes it; whether a kernel in braces has its linkage from them can't be told on the host.
extern "C" {
__global__ void in_braces(unsigned* data) { *data = 1; }  // expected-note {{requested here}}
}
ANYPLACE_EXPORT_KERNELS(in_braces);
// expected-error@anyplace/device_code/export.h:* {{a kernel begins with extern}}
