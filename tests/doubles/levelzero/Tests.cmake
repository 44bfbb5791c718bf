# The double's own tests. They use it as any program uses Level Zero: linked with libze_loader.so.1, which once is the double in
# the loader's place, and once the real loader with the double behind it.
anyplace_add_double_test(double_levelzero
  SOURCES test_support.cpp order_test.cpp event_test.cpp strict_test.cpp memory_test.cpp virtual_memory_test.cpp module_test.cpp
          control_test.cpp environment_test.cpp ipc_test.cpp queue_test.cpp
  LIBRARIES anyplace_levelzero_double_direct
  DEFINITIONS LEVELZERO_DOUBLE_LIBRARY="$<TARGET_FILE:anyplace_levelzero_double_direct>"
  INCLUDES ${ANYPLACE_LEVELZERO_INCLUDE_DIR})

find_library(ANYPLACE_LEVELZERO_LOADER NAMES libze_loader.so.1 DOC "The Level Zero loader, for tests of the backend")
mark_as_advanced(ANYPLACE_LEVELZERO_LOADER)
if(ANYPLACE_LEVELZERO_LOADER)
  anyplace_add_double_test(double_levelzero_loaded
    SOURCES test_support.cpp loaded_test.cpp
    LIBRARIES ${ANYPLACE_LEVELZERO_LOADER}
    DEFINITIONS LEVELZERO_DOUBLE_LIBRARY="$<TARGET_FILE:anyplace_levelzero_double>"
    INCLUDES ${ANYPLACE_LEVELZERO_INCLUDE_DIR}
    ENVIRONMENT ZE_ENABLE_ALT_DRIVERS=$<TARGET_FILE:anyplace_levelzero_double>)
  add_dependencies(test_double_levelzero_loaded anyplace_levelzero_double)
endif()
