# How everything of ours is compiled: C++20, hidden symbols, all warnings.
# A project that this one is a part of, or whoever builds it, may have chosen a newer one.
if(NOT CMAKE_CXX_STANDARD)
  set(CMAKE_CXX_STANDARD 20)
elseif(CMAKE_CXX_STANDARD LESS 20 OR CMAKE_CXX_STANDARD EQUAL 98)
  message(FATAL_ERROR "anyplace needs C++20, and CMAKE_CXX_STANDARD is ${CMAKE_CXX_STANDARD}: set it to 20 or newer, or leave it unset")
endif()
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ${PROJECT_IS_TOP_LEVEL})
if(NOT CMAKE_BUILD_TYPE AND PROJECT_IS_TOP_LEVEL)
  set(CMAKE_BUILD_TYPE Release)
endif()

find_package(Threads REQUIRED)

# Programs that use the library must have it where the library has it (include/anyplace/export.h).
include(CheckCXXSymbolExists)
check_cxx_symbol_exists(_GLIBCXX_DEBUG version ANYPLACE_HAS_GLIBCXX_DEBUG)

add_compile_options(-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion
                    $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor> $<$<COMPILE_LANGUAGE:CXX>:-Woverloaded-virtual>)
# GCC 12 warns of overlapping copies inside std::string's own operator+ (its bug 105651).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>)
endif()
# A file joined to others may shadow their names, and share types with them that are no other file's. The preset clang, which joins
# nothing, looks for what is shadowed in a file itself.
if(CMAKE_UNITY_BUILD)
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wno-shadow> $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage>)
endif()
if(ANYPLACE_WERROR)
  add_compile_options(-Werror)
endif()
if(ANYPLACE_SANITIZE)
  add_compile_options(-fsanitize=${ANYPLACE_SANITIZE} -fno-omit-frame-pointer -g1)
  add_link_options(-fsanitize=${ANYPLACE_SANITIZE})
  # Programs have fixed addresses: the tables of UndefinedBehaviorSanitizer are so large that a program would be at its relocations
  # for 60 ms of each of thousands of starts, and its children would copy them.
  add_link_options($<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:-no-pie>)
  if(ANYPLACE_SANITIZE MATCHES "undefined")
    add_compile_options(-fno-sanitize-recover=undefined)
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    if(ANYPLACE_SANITIZE MATCHES "address")
      add_compile_definitions(__SANITIZE_ADDRESS__)  # as GCC does
    elseif(ANYPLACE_SANITIZE MATCHES "thread")
      add_compile_definitions(__SANITIZE_THREAD__)
    endif()
    if(ANYPLACE_SANITIZE MATCHES "undefined")
      # It asks a pipe whether it may look at an object, so no test could leave a process without descriptors.
      add_compile_options(-fno-sanitize=vptr)
    endif()
  endif()
endif()

# anyplace_keep_variable_sizes(target): of a module for a device, whose variables are as large as its symbols say. Clang's
# AddressSanitizer makes them larger.
function(anyplace_keep_variable_sizes target)
  if(ANYPLACE_SANITIZE MATCHES "address" AND CMAKE_C_COMPILER_ID STREQUAL "Clang")
    target_compile_options(${target} PRIVATE -fno-sanitize=address)
  endif()
endfunction()
