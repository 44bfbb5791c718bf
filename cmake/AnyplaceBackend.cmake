# anyplace_add_backend(name SOURCES file... [LIBRARIES lib...])
# anyplace_add_engine(name SOURCES file... [LIBRARIES lib...])
# anyplace_add_compiler(name SOURCES file... [LIBRARIES lib...])
# anyplace_add_layer(name SOURCES file... [LIBRARIES lib...])
# Adds target anyplace_<kind>_<name>: the plugin lib<target>.so of a backend, of an engine of communicators, of a compiler of kernels, or of a layer,
# which sees anyplace's headers, links nothing of anyplace's, and exports its one symbol. Works the same in this tree and against an
# installed anyplace.

function(_anyplace_add_plugin kind name)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "SOURCES;LIBRARIES")
  if(NOT name MATCHES "^[a-z][a-z0-9_]*$")
    message(FATAL_ERROR "anyplace_add_${kind}: '${name}' is no ${kind} name; one is [a-z][a-z0-9_]*")
  endif()
  if(NOT arg_SOURCES)
    message(FATAL_ERROR "anyplace_add_${kind}(${name}): SOURCES is empty")
  endif()
  set(target anyplace_${kind}_${name})
  set(exports ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/backend.map)
  add_library(${target} MODULE ${arg_SOURCES})
  set_target_properties(${target} PROPERTIES
    PREFIX lib OUTPUT_NAME ${target} SUFFIX .so
    C_VISIBILITY_PRESET hidden CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
    LINK_DEPENDS ${exports})
  target_compile_features(${target} PRIVATE c_std_11 cxx_std_20)
  target_link_libraries(${target} PRIVATE anyplace::headers ${arg_LIBRARIES})
  target_link_options(${target} PRIVATE LINKER:--version-script=${exports})
endfunction()

function(anyplace_add_backend name)
  _anyplace_add_plugin(backend ${name} ${ARGN})
endfunction()

function(anyplace_add_engine name)
  _anyplace_add_plugin(engine ${name} ${ARGN})
endfunction()

function(anyplace_add_compiler name)
  _anyplace_add_plugin(compiler ${name} ${ARGN})
endfunction()

function(anyplace_add_layer name)
  _anyplace_add_plugin(layer ${name} ${ARGN})
endfunction()
