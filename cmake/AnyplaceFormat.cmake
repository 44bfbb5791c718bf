# anyplace_format: what formats texts, linked statically, so that nothing of fmt is needed at run time.
find_package(fmt QUIET)
if(NOT fmt_FOUND)
  message(FATAL_ERROR "fmt is missing (Debian: apt-get install libfmt-dev)")
endif()

if(fmt_VERSION VERSION_GREATER_EQUAL 9 AND fmt_VERSION VERSION_LESS 10)
  add_library(anyplace_format STATIC EXCLUDE_FROM_ALL ${CMAKE_CURRENT_LIST_DIR}/format/fmt.cpp)
  target_include_directories(anyplace_format SYSTEM PUBLIC $<TARGET_PROPERTY:fmt::fmt,INTERFACE_INCLUDE_DIRECTORIES>)
  target_compile_features(anyplace_format PUBLIC cxx_std_20)
  set_target_properties(anyplace_format PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden)
else()
  # The templates that have to be instantiated are another version's: its headers do without.
  add_library(anyplace_format INTERFACE)
  target_link_libraries(anyplace_format INTERFACE fmt::fmt-header-only)
endif()
