# What is built and what is left out: a line where it is found out, and a table when configuring ends.
#
# anyplace_left_out(WHAT REASON...)   WHAT is left out, and why. What somebody chose to leave out ("... is OFF") is told in the table alone
# anyplace_print_summary()            the table. Its lines don't begin with "-- ", by which scripts know those where it is found out

function(anyplace_left_out what)
  string(JOIN "" reason ${ARGN})
  if(NOT reason MATCHES " is OFF$")
    message(STATUS "${what}: left out, ${reason}")
  endif()
  set_property(GLOBAL PROPERTY "anyplace_left_out_${what}" "${reason}")
endfunction()

function(anyplace_print_summary)
  # Each: what it is called where it is left out, what is shown, the target that shows that it is built.
  set(parts
    "core|library|anyplace"
    "backends/cpu_sim|backend cpu_sim|anyplace_backend_cpu_sim"
    "backends/cuda|backend cuda|anyplace_backend_cuda"
    "backends/hip|backend hip|anyplace_backend_hip"
    "backends/levelzero|backend levelzero|anyplace_backend_levelzero"
    "compilers/host|compiler host|anyplace_compiler_host"
    "compilers/clang|compiler clang|anyplace_compiler_clang"
    "compilers/nvrtc|compiler nvrtc|anyplace_compiler_nvrtc"
    "compilers/hiprtc|compiler hiprtc|anyplace_compiler_hiprtc"
    "compilers/clang_loops|barriers as loops|anyplace_clang_loops"
    "layers/faults|layer faults|anyplace_layer_faults"
    "layers/trace|layer trace|anyplace_layer_trace"
    "layers/validate|layer validate|anyplace_layer_validate"
    "compilers/spirv_host|compiler spirv_host|anyplace_compiler_spirv_host"
    "conformance|conformance suite|anyplace_conformance"
    "anyplace command|anyplace command|anyplace_command"
    "examples|examples|hello"
    "examples/image_pipeline|example image_pipeline|image_pipeline"
    "tests|tests|anyplace_catch_main"
    "bench|benches|bench_kernels"
    "tests/fuzz|fuzz targets|fuzz_place")
  set(text "")
  foreach(part IN LISTS parts)
    string(REPLACE "|" ";" part "${part}")
    list(GET part 0 what)
    list(GET part 1 shown)
    list(GET part 2 target)
    get_property(reason GLOBAL PROPERTY "anyplace_left_out_${what}")
    if(reason)
      set(reason "left out: ${reason}")
    elseif(TARGET ${target})
      set(reason "built")
    else()
      set(reason "left out")
    endif()
    string(LENGTH "${shown}" length)
    math(EXPR blanks "24 - ${length}")
    string(REPEAT " " ${blanks} blanks)
    string(APPEND text "\n  ${shown}${blanks}${reason}")
  endforeach()
  # No target shows it, and AnyplaceKernels.cmake, which has said why, is the users', too.
  set(reason "left out: there is no Clang 14 to 19 with its llvm-spirv that works")
  if(ANYPLACE_KERNELS_LLVM_SPIRV)
    set(reason "built")
  endif()
  string(APPEND text "\n  kernels as SPIR-V       ${reason}")
  message("anyplace ${PROJECT_VERSION}${text}")
endfunction()
