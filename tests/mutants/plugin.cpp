// SPDX-License-Identifier: Apache-2.0
//
// The backend `mutant`: cpu_sim's table, wrong in the way that ANYPLACE_TEST_MUTANT names, or right if that isn't set.
#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <string>

#include "mutation.h"

namespace {

using namespace anyplace::mutants;

Status refuse(const anyplace_host* host, Status status, const std::string& why) {
  host->leave_message(host->context, 0, nullptr, why.c_str());
  return status;
}

}  // namespace

extern "C" ANYPLACE_PLUGIN_EXPORT anyplace_status anyplace_backend_entry(const anyplace_host* host,
                                                                         anyplace_backend_table* table) {
  void* const library = dlopen(ANYPLACE_CPU_SIM_PLUGIN, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return refuse(host, ANYPLACE_STATUS_LIBRARY_MISSING, dlerror());
  void* const symbol = dlsym(library, ANYPLACE_ENTRY_SYMBOL);
  if (symbol == nullptr) return refuse(host, ANYPLACE_STATUS_LIBRARY_MISSING, dlerror());
  core_host = host;
  cpu_sim_host = *host;
  const Status status = reinterpret_cast<anyplace_backend_entry_function>(symbol)(&cpu_sim_host, table);
  if (status != ok) return status;
  std::memset(table->name, 0, sizeof(table->name));
  std::strcpy(table->name, "mutant");
  real = *table;

  const char* const name = std::getenv("ANYPLACE_TEST_MUTANT");
  if (name == nullptr) return ok;
  for (const Mutation& mutation : all_mutations()) {
    if (std::strcmp(mutation.name, name) != 0) continue;
    mutation.apply(*table);
    return ok;
  }
  return refuse(host, ANYPLACE_STATUS_INVALID_ARGUMENT, std::string("there is no mutation ") + name);
}
