# The double's own tests. They use it as any program uses its driver: linked with libcuda.so.1.
add_library(anyplace_cuda_double_test_kernels MODULE test_kernels.c)
target_link_libraries(anyplace_cuda_double_test_kernels PRIVATE anyplace::headers)
set_target_properties(anyplace_cuda_double_test_kernels PROPERTIES
  PREFIX "" OUTPUT_NAME test_kernels SUFFIX .so LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/test_files)
anyplace_add_cuda_stand_in(anyplace_cuda_double_test_files HOST anyplace_cuda_double_test_kernels
  PTX ${CMAKE_CURRENT_BINARY_DIR}/test_files/test_kernels.ptx
  CUBIN ${CMAKE_CURRENT_BINARY_DIR}/test_files/test_kernels.cubin SM 90
  FATBIN ${CMAKE_CURRENT_BINARY_DIR}/test_files/test_kernels.fatbin ENTRIES 90 ptx)

# As anyplace_add_test, without anyplace: the double is tested for itself.
function(anyplace_add_double_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LIBRARIES;DEFINITIONS")
  add_executable(test_${name} ${arg_SOURCES})
  target_link_libraries(test_${name} PRIVATE anyplace_catch_main Threads::Threads ${CMAKE_DL_LIBS} ${arg_LIBRARIES})
  target_include_directories(test_${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_include_directories(test_${name} SYSTEM PRIVATE ${ANYPLACE_CUDA_INCLUDE_DIR})
  target_compile_definitions(test_${name} PRIVATE ${arg_DEFINITIONS})
  catch_discover_tests(test_${name} TEST_PREFIX "${name}." PROPERTIES TIMEOUT 120)
endfunction()

anyplace_add_double_test(double_cuda
  SOURCES test_support.cpp streams_test.cpp null_stream_test.cpp strict_test.cpp memory_test.cpp pool_test.cpp
          virtual_memory_test.cpp module_test.cpp control_test.cpp environment_test.cpp
  LIBRARIES anyplace_cuda_double
  DEFINITIONS CUDA_DOUBLE_TEST_FILES="${CMAKE_CURRENT_BINARY_DIR}/test_files")
add_dependencies(test_double_cuda anyplace_cuda_double_test_files)

anyplace_add_double_test(double_cuda_old
  SOURCES old_driver_test.cpp
  DEFINITIONS CUDA_DOUBLE_OLD_LIBRARY="$<TARGET_FILE:anyplace_cuda_double_old>")
add_dependencies(test_double_cuda_old anyplace_cuda_double_old)
