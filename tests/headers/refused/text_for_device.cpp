// SPDX-License-Identifier: Apache-2.0
// A text where a device is wanted: what loads a plugin says Device.
#include <anyplace/anyplace.h>

anyplace::Stream text_for_device() { return anyplace::Stream("cpu_sim:0"); }
