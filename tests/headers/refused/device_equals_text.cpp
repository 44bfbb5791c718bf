// SPDX-License-Identifier: Apache-2.0
// A comparison that would load the plugin that the text names.
#include <anyplace/anyplace.h>

bool device_equals_text(const anyplace::Device& device) { return device == "cuda:0"; }
