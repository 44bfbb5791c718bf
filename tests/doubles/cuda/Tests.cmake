# The double's own tests. They use it as any program uses its driver: linked with libcuda.so.1.
anyplace_add_cuda_stand_in(anyplace_cuda_double_test_files HOST anyplace_double_test_kernels
  PTX ${CMAKE_CURRENT_BINARY_DIR}/test_files/test_kernels.ptx
  CUBIN ${CMAKE_CURRENT_BINARY_DIR}/test_files/test_kernels.cubin SM 90
  FATBIN ${CMAKE_CURRENT_BINARY_DIR}/test_files/test_kernels.fatbin ENTRIES 90 ptx)
file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/test_files)

anyplace_add_double_test(double_cuda
  SOURCES test_support.cpp capture_test.cpp graph_test.cpp strict_test.cpp memory_test.cpp virtual_memory_test.cpp module_test.cpp
          control_test.cpp environment_test.cpp
  LIBRARIES anyplace_cuda_double
  DEFINITIONS CUDA_DOUBLE_TEST_FILES="${CMAKE_CURRENT_BINARY_DIR}/test_files"
              CUDA_DOUBLE_OLD_LIBRARY="$<TARGET_FILE:anyplace_cuda_double_old>"
  INCLUDES ${ANYPLACE_CUDA_INCLUDE_DIR})
add_dependencies(test_double_cuda anyplace_cuda_double_test_files anyplace_cuda_double_old)
