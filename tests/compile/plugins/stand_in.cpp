// SPDX-License-Identifier: Apache-2.0
//
// A compiler for the vendors' doubles (tests/doubles), which run kernels that the host's compiler has made: it puts
// them into PTX, a code object or SPIR-V.
#include <optional>
#include <string>

#include "doubles/cuda/stand_in.h"
#include "doubles/hip/stand_in.h"
#include "doubles/levelzero/stand_in.h"
#include "host_object.h"
#include "plugin.h"

namespace anyplace::compilers {
namespace {

std::optional<std::string> image_of(const std::string& object, const anyplace_compile_request& request) {
  if (request.format == ANYPLACE_IMAGE_PTX) return doubles::cuda::make_ptx({}, object);
  if (request.format == ANYPLACE_IMAGE_HSACO) return doubles::hip::make_code_object(object, request.architecture);
  doubles::levelzero::StandIn stand_in;
  stand_in.image = object;
  return doubles::levelzero::make_stand_in(stand_in, false);
}

anyplace_status compile(void* /*self*/, const anyplace_compile_request* request, const anyplace_compile_sink* sink) {
  std::string object;
  if (const anyplace_status status = make_host_object(*request, *sink, object)) return status;
  const std::optional<std::string> image = image_of(object, *request);
  if (!image) return refuse(ANYPLACE_STATUS_UNSUPPORTED, "the double has no such architecture");
  sink->image(sink->context, image->data(), image->size());
  return ANYPLACE_STATUS_OK;
}

}  // namespace
}  // namespace anyplace::compilers

extern "C" anyplace_status anyplace_compiler_entry(const anyplace_compiler_host* host, anyplace_compiler_table* table) {
  using namespace anyplace::compilers;
  table->library = guarded<host_library>;
  table->compile = guarded<compile>;
  return fill_table(host, *table, "stand_in", "images for the vendors' doubles",
                    1u << ANYPLACE_IMAGE_PTX | 1u << ANYPLACE_IMAGE_HSACO | 1u << ANYPLACE_IMAGE_SPIRV, 0);
}
