// SPDX-License-Identifier: Apache-2.0
// The compiler "host": the C++ compiler of the machine makes a shared object for cpu_sim.
#include <string>

#include "host_object.h"
#include "plugin.h"

namespace anyplace::compilers {
namespace {

anyplace_status compile(void* /*self*/, const anyplace_compile_request* request, const anyplace_compile_sink* sink) {
  std::string object;
  if (const anyplace_status status = make_host_object(*request, *sink, object)) return status;
  sink->image(sink->context, object.data(), object.size());
  return ANYPLACE_STATUS_OK;
}

}  // namespace
}  // namespace anyplace::compilers

extern "C" anyplace_status anyplace_compiler_entry(const anyplace_compiler_host* host, anyplace_compiler_table* table) {
  using namespace anyplace::compilers;
  table->library = guarded<host_library>;
  table->supports = guarded<host_supports>;
  table->compile = guarded<compile>;
  return fill_table(host, *table, "host", "the C++ compiler of the machine, for cpu_sim",
                    1u << ANYPLACE_IMAGE_SHARED_OBJECT, 1);
}
