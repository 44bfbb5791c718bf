// SPDX-License-Identifier: Apache-2.0
//
// A plugin whose entry asks anyplace for its own backend, which can't be there yet: it must be told so, not wait for
// it.
#include <string>

#include "anyplace/anyplace.h"
#include "anyplace/backend/abi.h"

extern "C" ANYPLACE_PLUGIN_EXPORT anyplace_status anyplace_backend_entry(const anyplace_host* host,
                                                                         anyplace_backend_table*) {
  std::string told = "nothing";
  try {
    const anyplace::Device device("caller:0");
  } catch (const anyplace::Error& error) {
    told = anyplace::to_string(error.code());
  }
  host->leave_message(host->context, 0, nullptr, ("the entry was told " + told).c_str());
  return ANYPLACE_STATUS_BACKEND_FAILED;
}
