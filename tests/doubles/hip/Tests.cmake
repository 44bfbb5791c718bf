# The double's own tests. They use it as any program uses HIP: linked with libamdhip64.so.6.
anyplace_add_double_test(double_hip
  SOURCES test_support.cpp stand_in.cpp ../engine/elf_mark.cpp strict_test.cpp
  LIBRARIES anyplace_hip_double
  INCLUDES ${ANYPLACE_HIP_INCLUDE_DIR})
