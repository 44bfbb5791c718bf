# The double's own tests. They use it as any program uses Level Zero: linked with libze_loader.so.1, which here is the double in the
# loader's place.
anyplace_add_double_test(double_levelzero
  SOURCES test_support.cpp control_test.cpp environment_test.cpp event_test.cpp list_test.cpp memory_test.cpp module_test.cpp
          strict_test.cpp virtual_memory_test.cpp
  LIBRARIES anyplace_levelzero_double_direct
  DEFINITIONS LEVELZERO_DOUBLE_LIBRARY="$<TARGET_FILE:anyplace_levelzero_double_direct>"
  INCLUDES ${ANYPLACE_LEVELZERO_INCLUDE_DIR})
