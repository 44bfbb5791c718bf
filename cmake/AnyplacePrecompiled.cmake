# anyplace_precompile(target [header...]): what standard.h includes, and those headers, as <a> or a path, are compiled once for the
# target's C++. CMAKE_DISABLE_PRECOMPILE_HEADERS turns it off.
function(anyplace_precompile target)
  foreach(header IN ITEMS ${PROJECT_SOURCE_DIR}/cmake/precompiled/standard.h ${ARGN})
    string(REPLACE ">" "$<ANGLE-R>" header "${header}")
    list(APPEND headers "$<$<COMPILE_LANGUAGE:CXX>:${header}>")
  endforeach()
  target_precompile_headers(${target} PRIVATE ${headers})
  # GCC 12 warns of the insides of std::string + where no such thing can be (PR 105651), and tells it of precompiled headers
  # though they are the system's.
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-stringop-overflow>
                         $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-array-bounds>)
endfunction()
