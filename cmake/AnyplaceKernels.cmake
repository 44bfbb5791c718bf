# anyplace_add_kernels(target SOURCES file...
#                      [NAME name]
#                      [FORMATS ptx hsaco spirv loops...] [IMAGES format[@architecture]:file...]
#                      [CUDA_ARCHITECTURES 80 90...] [PORTABLE_PTX]
#                      [HIP_ARCHITECTURES gfx90a...] [CPU_SIM_LEVELS x86-64-v3...] [PLAIN_FLOAT] [WITHOUT_DOUBLES]
#                      [INCLUDE_DIRECTORIES folder...] [DEFINITIONS name[=value]...])
#
# Compiles kernels written once (anyplace/device_code.h, docs/kernels.md) for every kind of device that there is a compiler
# for, and puts the images into `target`, which can then include "<name>.h" and load `<name>` with anyplace::Module. <name>
# is <target>_kernels unless given.
#
# All SOURCES are compiled as one. What comes out:
#   shared_object   for cpu_sim, by the project's C++ compiler; always. By Clang, with barriers as loops (docs/barriers.md), if the
#                   sources have barriers and the plugin is at hand, unless ANYPLACE_BARRIER_LOOPS is OFF, the build is Debug, or has a sanitizer
#                   One more for each of CPU_SIM_LEVELS, levels of x86-64: cpu_sim takes the highest that its processor has
#   ptx             by nvcc, else by Clang; for the lowest of CUDA_ARCHITECTURES, else the lowest that the compiler has.
#                   PORTABLE_PTX adds Clang's to nvcc's, for drivers that are too old for nvcc's
#   cubin           one for each of CUDA_ARCHITECTURES, by nvcc
#   hsaco           one for all HIP_ARCHITECTURES, by hipcc, else by Clang
#   spirv           by Clang and llvm-spirv, unless IMAGES names one
# WITHOUT_DOUBLES: there is a second image in SPIR-V, compiled with ANYPLACE_NO_DOUBLES defined, for devices that compute no
# doubles. They refuse a whole image in which any kernel does.
# PLAIN_FLOAT: no compiler fuses a multiplication and an addition, so that results have the same bits everywhere.
# IMAGES adds files that were made otherwise, in any format of DeviceProperties::image_formats.
#
# FORMATS says what is made beside the shared object, and configuring fails, with one message, where there is no compiler for one of them, or for one
# of the architectures: a release then has the same images wherever it is built. It may have cubin, ptx, hsaco, spirv, and loops for the
# barriers of the shared object. Without FORMATS all is made that there is a compiler for.
# What compilers there are is found out once and said in a line each. ANYPLACE_NVCC, ANYPLACE_KERNEL_CLANG, ANYPLACE_HIPCC and
# ANYPLACE_LLVM_SPIRV name others, or are OFF. Works the same in anyplace's own tree and against an installed anyplace.
include_guard(GLOBAL)
cmake_policy(VERSION 3.25) # of the functions, whatever the project's own

set(ANYPLACE_KERNELS_DIR ${CMAKE_CURRENT_LIST_DIR}/kernels CACHE INTERNAL "")
if(EXISTS ${CMAKE_CURRENT_LIST_DIR}/../include/anyplace/device_code.h)
  cmake_path(SET _anyplace_kernels_include NORMALIZE "${CMAKE_CURRENT_LIST_DIR}/../include")
  set(_anyplace_kernels_plugins "")
else()
  get_target_property(_anyplace_kernels_include anyplace::headers INTERFACE_INCLUDE_DIRECTORIES)
  cmake_path(SET _anyplace_kernels_plugins NORMALIZE "${CMAKE_CURRENT_LIST_DIR}/../../${anyplace_PLUGIN_FOLDER}")
endif()
set(ANYPLACE_KERNELS_INCLUDE ${_anyplace_kernels_include} CACHE INTERNAL "")
# The folder where an installed anyplace has the plugin that makes loops of barriers; the tree itself builds it.
set(ANYPLACE_KERNELS_PLUGINS "${_anyplace_kernels_plugins}" CACHE INTERNAL "")
option(ANYPLACE_BARRIER_LOOPS "Let Clang make loops of kernels with barriers, for cpu_sim" ON)

include(${CMAKE_CURRENT_LIST_DIR}/kernels/compilers.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/kernels/extern_shared.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/kernels/formats.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/kernels/host_images.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/kernels/images.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/kernels/stand_ins.cmake OPTIONAL)  # of this tree's tests, not installed

function(_anyplace_kernels_check_arguments)
  if(NOT TARGET ${target})
    message(FATAL_ERROR "anyplace_add_kernels(${target}): there is no such target; add it first")
  endif()
  get_target_property(target_folder ${target} BINARY_DIR)
  if(NOT target_folder STREQUAL CMAKE_CURRENT_BINARY_DIR)
    message(FATAL_ERROR "anyplace_add_kernels(${target}): call it in the folder of its target, or the images aren't made")
  endif()
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "anyplace_add_kernels(${target}): what is '${arg_UNPARSED_ARGUMENTS}'?")
  endif()
  if(NOT arg_SOURCES)
    message(FATAL_ERROR "anyplace_add_kernels(${target}): SOURCES is empty")
  endif()
  if(NOT name MATCHES "^[A-Za-z_][A-Za-z0-9_]*$")
    message(FATAL_ERROR "anyplace_add_kernels(${target}): '${name}' can't be the name of a variable; give another with NAME")
  endif()
  if(TARGET anyplace_kernels_${name})
    message(FATAL_ERROR "anyplace_add_kernels(${target}): there are kernels of the name '${name}' already; give another with NAME")
  endif()
  foreach(source IN LISTS arg_SOURCES)
    cmake_path(ABSOLUTE_PATH source NORMALIZE)
    if(NOT EXISTS "${source}")
      message(FATAL_ERROR "anyplace_add_kernels(${target}): there is no ${source}")
    endif()
  endforeach()
  foreach(architecture IN LISTS arg_CUDA_ARCHITECTURES)
    if(NOT architecture MATCHES "^[0-9]+[af]?$")
      message(FATAL_ERROR "anyplace_add_kernels(${target}): '${architecture}' is no CUDA architecture; one is 80 or 90a")
    endif()
  endforeach()
  foreach(level IN LISTS arg_CPU_SIM_LEVELS)
    if(NOT level MATCHES "^x86-64-v[234]$")
      message(FATAL_ERROR "anyplace_add_kernels(${target}): '${level}' is no level of x86-64; one is x86-64-v3")
    endif()
  endforeach()
  foreach(architecture IN LISTS arg_HIP_ARCHITECTURES)
    if(NOT architecture MATCHES "^gfx[0-9a-z-]+(:[a-z]+[+-])*$")
      message(FATAL_ERROR "anyplace_add_kernels(${target}): '${architecture}' is no HIP architecture; one is gfx90a")
    endif()
  endforeach()
endfunction()

function(anyplace_add_kernels target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "PORTABLE_PTX;PLAIN_FLOAT;WITHOUT_DOUBLES" "NAME"
    "SOURCES;FORMATS;IMAGES;CPU_SIM_LEVELS;CUDA_ARCHITECTURES;HIP_ARCHITECTURES;INCLUDE_DIRECTORIES;DEFINITIONS")
  set(name "${arg_NAME}")
  if(NOT name)
    set(name ${target}_kernels)
  endif()
  _anyplace_kernels_check_arguments()
  _anyplace_kernels_given()
  _anyplace_kernels_find_compilers()
  _anyplace_kernels_check_formats()

  # Everything is compiled from one file, which the host knows as C++. The host and SPIR-V have no `extern __shared__`.
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/${name}.dir)
  set(sources)
  set(include_folders)
  set(flags -I${ANYPLACE_KERNELS_INCLUDE})
  foreach(source IN LISTS arg_SOURCES)
    cmake_path(ABSOLUTE_PATH source NORMALIZE)
    list(APPEND sources ${source})
  endforeach()
  foreach(include IN LISTS arg_INCLUDE_DIRECTORIES)
    cmake_path(ABSOLUTE_PATH include NORMALIZE)
    list(APPEND include_folders ${include})
    list(APPEND flags -I${include})
  endforeach()
  set(given_includes)
  set(includes)
  set(quote_folders)  # where `#include "..."` of a copy finds what the source itself finds beside it
  _anyplace_kernels_without_extern_shared("${sources}" "${include_folders}" ${folder} copies)
  foreach(source copy IN ZIP_LISTS sources copies)
    string(APPEND given_includes "#include \"${source}\"\n")
    string(APPEND includes "#include \"${copy}\"\n")
    if(NOT copy STREQUAL source)
      cmake_path(GET source PARENT_PATH beside)
      list(APPEND quote_folders -iquote${beside})
    endif()
  endforeach()
  foreach(file IN ITEMS ${name}.cpp ${name}.spirv.cu)
    configure_file(${ANYPLACE_KERNELS_DIR}/source.in ${folder}/${file} @ONLY)
  endforeach()
  set(includes "${given_includes}")
  configure_file(${ANYPLACE_KERNELS_DIR}/source.in ${folder}/${name}.cu @ONLY)
  configure_file(${ANYPLACE_KERNELS_DIR}/images.h.in ${folder}/include/${name}.h @ONLY)
  set(source ${folder}/${name}.cu)
  list(TRANSFORM arg_DEFINITIONS PREPEND -D OUTPUT_VARIABLE definitions)
  list(APPEND flags ${definitions})
  set(clang_plain)  # and hipcc's
  if(arg_PLAIN_FLOAT)
    set(clang_plain -ffp-contract=off)
  endif()

  list(SORT arg_CPU_SIM_LEVELS COMPARE NATURAL ORDER DESCENDING)
  set(images)
  set(modules)  # the targets of cpu_sim's images
  _anyplace_kernels_host()
  _anyplace_kernels_cuda()
  _anyplace_kernels_hip()
  _anyplace_kernels_spirv()
  set(embedded ${folder}/${name}.images.cpp)
  _anyplace_kernels_embed("${images};${given}" ${embedded})
  if(ANYPLACE_KERNELS_STAND_IN_TOOL)
    set_property(TARGET ${target} APPEND PROPERTY ANYPLACE_TRUE_IMAGES ${embedded})  # what may be installed
    set(embedded ${folder}/${name}.with_stand_ins.images.cpp)
    _anyplace_kernels_add_stand_ins()
    _anyplace_kernels_embed("${images}" ${embedded})
  endif()
  message(STATUS "kernels ${name}: ${summary}")
  target_sources(${target} PRIVATE ${embedded})
  # For the target's users as well, in this build: a library's kernels may be theirs to load.
  target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${folder}/include>)
endfunction()

# Makes `embedded`, the source that has the images in itself, best first.
function(_anyplace_kernels_embed images embedded)
  set(sorted)
  set(files)
  set(summary)
  foreach(format IN LISTS ANYPLACE_KERNELS_FORMATS)
    foreach(image IN LISTS images)
      if(image MATCHES "^${format}@([^@]*)@(.*)$")
        list(APPEND sorted "${image}")
        list(APPEND files "${CMAKE_MATCH_2}")
        string(STRIP "${format} ${CMAKE_MATCH_1}" line)
        list(APPEND summary "${line}")
      endif()
    endforeach()
  endforeach()
  list(JOIN summary ", " summary)
  set(summary "${summary}" PARENT_SCOPE)
  add_custom_command(OUTPUT ${embedded}
    COMMAND ${CMAKE_COMMAND} -DNAME=${name} -DOUT=${embedded} -DBYTE_ORDER=${CMAKE_CXX_BYTE_ORDER} "-DIMAGES=${sorted}"
            -P ${ANYPLACE_KERNELS_DIR}/embed.cmake
    DEPENDS ${modules} ${files} ${ANYPLACE_KERNELS_DIR}/embed.cmake VERBATIM)
  # Two sets of images in one target have the same names inside.
  set_source_files_properties(${embedded} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()
