// SPDX-License-Identifier: Apache-2.0
// Parameters of more bytes than every device takes.
#include <anyplace/device_code.h>

struct Table {
  unsigned values[1023];
};
extern "C" __global__ void too_many_bytes(unsigned* data, Table table) { *data = table.values[0]; }
ANYPLACE_EXPORT_KERNELS(too_many_bytes);
