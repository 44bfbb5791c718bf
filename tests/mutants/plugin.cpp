// SPDX-License-Identifier: Apache-2.0
//
// The backend `mutant`: cpu_sim's table, wrong in the way that ANYPLACE_TEST_MUTANT names, or right if that isn't set.
#include <cstdlib>
#include <cstring>
#include <string>

#include "mutation.h"
#include "support/layer.h"

using namespace anyplace::mutants;

extern "C" ANYPLACE_PLUGIN_EXPORT anyplace_status anyplace_backend_entry(const anyplace_host* host,
                                                                         anyplace_backend_table* table) {
  core_host = host;
  cpu_sim_host = *host;
  const Status status = test::fill_as("mutant", ANYPLACE_CPU_SIM_PLUGIN, &cpu_sim_host, *table);
  if (status != ok) return status;
  real = *table;

  const char* const name = std::getenv("ANYPLACE_TEST_MUTANT");
  if (name == nullptr) return ok;
  for (const Mutation& mutation : all_mutations()) {
    if (std::strcmp(mutation.name, name) != 0) continue;
    mutation.apply(*table);
    return ok;
  }
  host->leave_message(host->context, 0, nullptr, (std::string("there is no mutation ") + name).c_str());
  return ANYPLACE_STATUS_INVALID_ARGUMENT;
}
