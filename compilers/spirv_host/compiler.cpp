// SPDX-License-Identifier: Apache-2.0
//
// The compiler "spirv_host": makes a shared object for cpu_sim of an image in SPIR-V. llvm-spirv translates the image
// to bitcode; Clang writes that as text; host_ir.h makes the text one for the host; Clang compiles it and links it with
// OpenCL's functions, which were compiled when anyplace was built.
#include <signal.h>

#include <string>
#include <string_view>
#include <vector>

#include "builtins.h"
#include "host_ir.h"
#include "opencl_functions.h"
#include "plugin.h"
#include "spirv_programs.h"

namespace anyplace::compilers {
namespace {

constexpr int newest = 19;
/// Later ones write `ptr` for each, and read nothing else.
constexpr int newest_with_pointer_types = 15;

anyplace_status library(void* /*self*/, std::uint32_t /*format*/, anyplace_compiler_library* out) {
  return spirv_programs("SPIR-V becomes a shared object", newest, out);
}

/// Runs a step whose failure says something of the image. `what` goes to the log behind what the program says.
anyplace_status step(const char* what, const std::vector<std::string>& words, const anyplace_compile_request& request,
                     const anyplace_compile_sink& sink) {
  // llvm-spirv aborts at an instruction that it doesn't know, and at an end that it doesn't expect.
  constexpr int aborted = 128 + SIGABRT;
  const int status = run_program(words, request.folder, sink);
  if (status == 0) return ANYPLACE_STATUS_OK;
  if (status == 127) return refuse(ANYPLACE_STATUS_BACKEND_FAILED, "can't start " + words.front());
  if (status > 128 && status <= 128 + SIGRTMAX && status != aborted) {
    return refuse(ANYPLACE_STATUS_BACKEND_FAILED,
                  words.front() + " was ended by signal " + std::to_string(status - 128));
  }
  const std::string text = std::string("\n") + what + " (" + words.front() + ")\n";
  sink.log(sink.context, text.data(), text.size());
  return ANYPLACE_STATUS_COMPILE_FAILED;
}

anyplace_status compile(void* /*self*/, const anyplace_compile_request* request, const anyplace_compile_sink* sink) {
  const std::string folder = request->folder, clang = request->library;
  const std::string image = folder + "/image.spv", bitcode = folder + "/image.bc", text = folder + "/image.ll",
                    host_text = folder + "/host.ll", functions = folder + "/functions.a", made = folder + "/made.so";
  const std::string translator = spirv_translator_of(clang);
  if (translator.empty()) return refuse(ANYPLACE_STATUS_LIBRARY_MISSING, "llvm-spirv isn't there any more");
  const std::string_view functions_bytes(reinterpret_cast<const char*>(opencl_functions_archive.data()),
                                         opencl_functions_archive.size());
  if (!write_file(image, with_plain_builtins({request->source, request->source_bytes})) ||
      !write_file(functions, functions_bytes)) {
    return refuse(ANYPLACE_STATUS_BACKEND_FAILED, "can't write below " + folder);
  }
  if (const anyplace_status status =
          step("llvm-spirv can't read the image", {translator, "-r", "--spirv-ext=+all", "-o", bitcode, image},
               *request, *sink)) {
    return status;
  }
  std::vector<std::string> to_text{clang, "--target=spir64", "-Wno-override-module", "-x", "ir", "-S", "-emit-llvm"};
  const bool has_pointer_types = clang_major(clang) <= newest_with_pointer_types;
  std::vector<std::string> typed_pointers;
  if (has_pointer_types) typed_pointers = typed_pointer_words(clang);
  to_text.insert(to_text.end(), typed_pointers.begin(), typed_pointers.end());
  to_text.insert(to_text.end(), {"-Xclang", "-disable-llvm-passes", "-o", text, bitcode});
  if (const anyplace_status status = step("Clang can't read what llvm-spirv made", to_text, *request, *sink)) {
    return status;
  }
  std::string bytes;
  if (!read_file(text, bytes)) return refuse(ANYPLACE_STATUS_BACKEND_FAILED, "can't read " + text);
  if (!write_file(host_text, host_ir_of(bytes, has_pointer_types)))
    return refuse(ANYPLACE_STATUS_BACKEND_FAILED, "can't write " + host_text);
  std::vector<std::string> build{clang, "-Wno-override-module", "-O2", "-fPIC", "-shared", "-x", "ir"};
  build.insert(build.end(), typed_pointers.begin(), typed_pointers.end());
  build.insert(build.end(), {host_text, "-x", "none", functions, "-Wl,-z,defs", "-Wl,--gc-sections", "-o", made});
  if (const anyplace_status status =
          step("the host lacks what the image needs; an undefined reference is a function of OpenCL or SPIR-V that "
               "anyplace doesn't have",
               build, *request, *sink)) {
    return status;
  }
  return give_image(made, *sink);
}

}  // namespace
}  // namespace anyplace::compilers

extern "C" anyplace_status anyplace_compiler_entry(const anyplace_compiler_host* host, anyplace_compiler_table* table) {
  using namespace anyplace::compilers;
  table->library = guarded<library>;
  table->compile = guarded<compile>;
  table->from_spirv = 1u << ANYPLACE_IMAGE_SHARED_OBJECT;
  return fill_table(host, *table, "spirv_host", "Clang and llvm-spirv: images in SPIR-V, for cpu_sim", 0, 1);
}
