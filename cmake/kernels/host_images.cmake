# The images of anyplace_add_kernels for cpu_sim: one for every processor, and one for each of CPU_SIM_LEVELS. As those of images.cmake,
# the functions append format@architecture@file to images in their caller.
include_guard(GLOBAL)

# Sets `result` to the object that Clang makes of the source, with loops for barriers; to nothing where kernels keep their stacks.
# `level_options` are those of _anyplace_kernels_host_image. `module` has the definitions and the folders of headers that the project's compiler would be given.
function(_anyplace_kernels_host_loops module level_options result)
  set(${result} "" PARENT_SCOPE)
  string(TOUPPER "${CMAKE_BUILD_TYPE}" configuration)
  set(project_flags "${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${configuration}}")
  get_directory_property(options COMPILE_OPTIONS)
  _anyplace_kernels_wants(loops wants_loops)
  if(NOT wants_loops OR NOT ANYPLACE_BARRIER_LOOPS OR NOT ANYPLACE_KERNELS_LOOPS_PLUGIN OR "${project_flags} ${options}" MATCHES "-fsanitize")
    return()
  endif()
  # Without a barrier there is nothing to win, and the project's compiler may be the better one for a plain loop.
  set(waits FALSE)
  foreach(source IN LISTS arg_SOURCES)
    cmake_path(ABSOLUTE_PATH source NORMALIZE)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${source}")
    file(STRINGS "${source}" barriers REGEX "__syncthreads" LIMIT_COUNT 1)
    if(barriers)
      set(waits TRUE)
    endif()
  endforeach()
  if(NOT waits)
    return()
  endif()
  set(plugin ${ANYPLACE_KERNELS_LOOPS_PLUGIN})
  if(TARGET ${plugin})
    set(plugin $<TARGET_FILE:${plugin}>)
  endif()
  # Of the project's own flags, Clang is given what it defines (NDEBUG) and for what processor it compiles.
  string(REGEX MATCHALL "-[DU][^ ]+|-m(arch|tune|cpu|avx|fma|bmi|sse|f16c|popcnt)[^ ]*" project_flags "${project_flags}")
  set(definitions $<TARGET_PROPERTY:${module},COMPILE_DEFINITIONS>)
  set(folders $<FILTER:$<TARGET_PROPERTY:${module},INCLUDE_DIRECTORIES>,EXCLUDE,^$>)
  set(object ${folder}/${module}.host.o)
  add_custom_command(OUTPUT ${object}
    COMMAND ${ANYPLACE_KERNELS_LOOPS_CLANG} -std=c++20 -O3 $<$<CONFIG:RelWithDebInfo>:-g> ${project_flags} ${clang_plain} ${level_options} ${quote_folders}
            -fPIC -fvisibility=hidden -fvisibility-inlines-hidden -fno-math-errno -Wunused-function
            -DANYPLACE_BARRIER_LOOPS=1 -fpass-plugin=${plugin} -Rpass-missed=anyplace-loops
            "$<$<BOOL:${folders}>:-I$<JOIN:${folders},;-I>>" "$<$<BOOL:${definitions}>:-D$<JOIN:${definitions},;-D>>"
            -MD -MT ${object} -MF ${object}.d -c -o ${object} ${folder}/${name}.cpp
    DEPENDS ${folder}/${name}.cpp ${ANYPLACE_KERNELS_LOOPS_PLUGIN} DEPFILE ${object}.d VERBATIM COMMAND_EXPAND_LISTS)
  set_source_files_properties(${object} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
  set(${result} ${object} PARENT_SCOPE)
endfunction()

# Sets `result` to why no image can be made for the level of x86-64; to nothing if one can. The linker marks it with the level, so that
# cpu_sim refuses it where the processor has less.
function(_anyplace_kernels_check_level level result)
  set(${result} "" PARENT_SCOPE)
  if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
    set(${result} "this machine is ${CMAKE_SYSTEM_PROCESSOR}" PARENT_SCOPE)
    return()
  endif()
  string(MAKE_C_IDENTIFIER ${level} what)
  _anyplace_kernels_output(LEVEL_${what} output)
  _anyplace_kernels_try(LEVEL_${what} works said ${CMAKE_CXX_COMPILER} -x c++ -shared -fPIC -march=${level} -Wl,-z,${level}
                        -Wl,--fatal-warnings -o ${output} /dev/null)
  if(NOT works)
    set(${result} "${CMAKE_CXX_COMPILER} or its linker can't: ${said}" PARENT_SCOPE)
  endif()
endfunction()

function(_anyplace_kernels_host)
  foreach(level IN LISTS arg_CPU_SIM_LEVELS)
    _anyplace_kernels_check_level(${level} why)
    if(why)
      message(STATUS "kernels ${name}: no image for ${level}: ${why}")
      continue()
    endif()
    string(MAKE_C_IDENTIFIER ${level} suffix)
    # FMA, which the level has, would change the last bits of results if it were used unasked.
    _anyplace_kernels_host_image(anyplace_kernels_${name}_${suffix} ${name}.${level} "-march=${level};-ffp-contract=off")
    target_link_options(anyplace_kernels_${name}_${suffix} PRIVATE LINKER:-z,${level})
    list(APPEND images "shared_object@${level}@$<TARGET_FILE:anyplace_kernels_${name}_${suffix}>")
    list(APPEND modules anyplace_kernels_${name}_${suffix})
  endforeach()
  _anyplace_kernels_host_image(anyplace_kernels_${name} ${name} "")
  list(APPEND modules anyplace_kernels_${name})
  set(images ${images} "shared_object@@$<TARGET_FILE:anyplace_kernels_${name}>" PARENT_SCOPE)
  set(modules ${modules} PARENT_SCOPE)
endfunction()

# Adds the target `module`, whose file is `output`, with options for a level of the processor.
function(_anyplace_kernels_host_image module output level_options)
  _anyplace_kernels_host_loops(${module} "${level_options}" kernels)
  if(NOT kernels)
    set(kernels ${folder}/${name}.cpp)
  endif()
  add_library(${module} MODULE ${kernels} ${ANYPLACE_KERNELS_DIR}/host_threads.cpp)
  set_target_properties(${module} PROPERTIES PREFIX "" OUTPUT_NAME ${output} SUFFIX .so
    LIBRARY_OUTPUT_DIRECTORY ${folder} CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
    POSITION_INDEPENDENT_CODE ON EXCLUDE_FROM_ALL ON)
  target_compile_features(${module} PRIVATE cxx_std_20)
  target_include_directories(${module} PRIVATE ${arg_INCLUDE_DIRECTORIES})
  target_compile_definitions(${module} PRIVATE ${arg_DEFINITIONS})
  target_link_libraries(${module} PRIVATE anyplace::headers)
  # What says that a kernel was forgotten where they are exported, whether the project asks for warnings or not.
  target_compile_options(${module} PRIVATE -Wunused-function)
  if(arg_PLAIN_FLOAT)
    # errno and traps, which nobody asks for, would keep the compiler from making vectors.
    target_compile_options(${module} PRIVATE -ffp-contract=off -fno-math-errno -fno-trapping-math)
  endif()
  target_compile_options(${module} PRIVATE ${level_options} ${quote_folders})
  # A unique symbol would keep the module loaded for good.
  target_compile_options(${module} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fno-gnu-unique>)
  target_link_options(${module} PRIVATE $<$<NOT:$<CONFIG:Debug>>:LINKER:--strip-debug>)
endfunction()
