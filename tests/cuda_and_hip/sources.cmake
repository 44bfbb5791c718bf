# The sources that test_cuda and test_hip share.
set(cuda_and_hip_sources context graph graph_failure image launch loss memory peer selector sharing stream table virtual_memory)
list(TRANSFORM cuda_and_hip_sources PREPEND ${CMAKE_CURRENT_LIST_DIR}/)
list(TRANSFORM cuda_and_hip_sources APPEND _test.cpp)
