# The conformance suite under each layer, and under several: to the suite, what is over a backend is the backend. And with threads that are
# late now and then (support/jolts.c). A turn has a layer, turn 1 the jolts, too, and a round one bed (support/in_turn). Under a sanitizer
# there are the layers on cpu_sim, in each of their turns.
if(NOT TARGET anyplace_conformance)
  return()
endif()

set(doubles ${CMAKE_BINARY_DIR}/tests/doubles)
set(arguments_of_cuda MODULE ${CMAKE_BINARY_DIR}/tests/cuda/kernels.ptx)
set(libraries_of_cuda LD_LIBRARY_PATH=${doubles}/cuda:${doubles}/nccl/nccl)
set(arguments_of_hip MODULE ${doubles}/hip/kernels.hsaco)
set(libraries_of_hip LD_LIBRARY_PATH=${doubles}/hip:${doubles}/nccl/rccl HIP_DOUBLE_ARCH=gfx000)
set(arguments_of_levelzero MODULE ${doubles}/levelzero/kernels.spv)
set(libraries_of_levelzero LD_LIBRARY_PATH=${doubles}/levelzero/direct LEVELZERO_DOUBLE_SPIRV=255.0)

# add_suites_under(name TURN k [ARGUMENTS arg...] ENVIRONMENT NAME=VALUE...): tests conformance.cpu_sim_<name>,
# conformance.cuda_on_double_<name> and so on.
function(add_suites_under name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TURN" "ARGUMENTS;ENVIRONMENT")
  set(arguments ${once_more} ${arg_ARGUMENTS})
  if(ANYPLACE_SANITIZE)
    anyplace_add_suite(cpu_sim_${name} BACKEND cpu_sim TURN ${arg_TURN} ARGUMENTS ${arguments} ENVIRONMENT ${arg_ENVIRONMENT})
    return()
  endif()
  anyplace_add_suite(cpu_sim_${name} BACKEND cpu_sim TURN ${arg_TURN}.0 ARGUMENTS ${arguments} ENVIRONMENT ${arg_ENVIRONMENT})
  set(round 0)
  foreach(bed IN ITEMS cuda hip levelzero)
    math(EXPR round "${round} + 1")
    if(TARGET anyplace_backend_${bed} AND TARGET anyplace_${bed}_double)
      anyplace_add_suite(${bed}_on_double_${name} BACKEND ${bed} TURN ${arg_TURN}.${round} ${arguments_of_${bed}} ARGUMENTS ${arguments}
                         ENVIRONMENT ${arg_ENVIRONMENT} ${libraries_of_${bed}})
    endif()
  endforeach()
endfunction()

if(TARGET anyplace_layer_faults)
  add_suites_under(faults TURN 0 ENVIRONMENT ANYPLACE_LAYERS=faults)
endif()
if(TARGET anyplace_layer_trace)
  add_suites_under(trace TURN 1 ENVIRONMENT ANYPLACE_LAYERS=trace ANYPLACE_TRACE=/dev/null)
  set(folders ${CMAKE_BINARY_DIR}/tests/plugins/layers)
  add_suites_under(layers TURN 2 ENVIRONMENT ANYPLACE_LAYERS=outer,validate,trace,inner ANYPLACE_TRACE=/dev/null
                   "ANYPLACE_BACKEND_PATH=${folders}/outer:${folders}/inner")
endif()
add_suites_under(validate TURN 3 ENVIRONMENT ANYPLACE_LAYERS=validate)
if(NOT ANYPLACE_SANITIZE)  # whose library has to be the first
  add_library(anyplace_jolts MODULE ${PROJECT_SOURCE_DIR}/tests/support/jolts.c)
  target_link_libraries(anyplace_jolts PRIVATE ${CMAKE_DL_LIBS})
  add_suites_under(jolts TURN 1 ARGUMENTS --jobs 4 ENVIRONMENT LD_PRELOAD=$<TARGET_FILE:anyplace_jolts>)
endif()
