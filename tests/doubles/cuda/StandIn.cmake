# Stand-ins of host images for the CUDA double (README.md). Needs nothing of CUDA, and may be included from anywhere.
include_guard(DIRECTORY)

# The tool, made once, by whoever includes this first.
if(NOT TARGET anyplace_make_stand_in)
  add_executable(anyplace_make_stand_in ${CMAKE_CURRENT_LIST_DIR}/make_stand_in.cpp ${CMAKE_CURRENT_LIST_DIR}/stand_in.cpp
                 ${CMAKE_CURRENT_LIST_DIR}/../hip/stand_in.cpp ${CMAKE_CURRENT_LIST_DIR}/../engine/elf_mark.cpp)
  set_target_properties(anyplace_make_stand_in PROPERTIES OUTPUT_NAME make_stand_in
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests/doubles/cuda)
endif()

# anyplace_add_cuda_stand_in(name HOST target [PTX out.ptx] [APPEND real.ptx] [CUBIN out.cubin SM number]
#                            [FATBIN out.fatbin ENTRIES SM|ptx...])
# Target <name> makes the files asked for of the shared object that `target` builds, whenever that changes.
function(anyplace_add_cuda_stand_in name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "HOST;PTX;APPEND;CUBIN;SM;FATBIN" "ENTRIES")
  set(tool anyplace_make_stand_in)
  set(host $<TARGET_FILE:${arg_HOST}>)
  set(append)
  if(arg_APPEND)
    set(append --append ${arg_APPEND})
  endif()
  set(made)
  if(arg_PTX)
    add_custom_command(OUTPUT ${arg_PTX} COMMAND ${tool} --ptx ${append} ${host} ${arg_PTX}
                       DEPENDS anyplace_make_stand_in ${arg_HOST} ${arg_APPEND} VERBATIM)
    list(APPEND made ${arg_PTX})
  endif()
  if(arg_CUBIN)
    add_custom_command(OUTPUT ${arg_CUBIN} COMMAND ${tool} --cubin ${arg_SM} ${host} ${arg_CUBIN}
                       DEPENDS anyplace_make_stand_in ${arg_HOST} VERBATIM)
    list(APPEND made ${arg_CUBIN})
  endif()
  if(arg_FATBIN)
    add_custom_command(OUTPUT ${arg_FATBIN} COMMAND ${tool} --fatbin ${host} ${arg_FATBIN} ${arg_ENTRIES}
                       DEPENDS anyplace_make_stand_in ${arg_HOST} VERBATIM)
    list(APPEND made ${arg_FATBIN})
  endif()
  add_custom_target(${name} ALL DEPENDS ${made})
endfunction()
