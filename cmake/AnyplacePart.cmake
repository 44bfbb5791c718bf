# What differs where another project has this tree as a part of it (add_subdirectory, FetchContent): what that project didn't ask for is
# neither built nor installed, and nothing is written outside this tree's own part of the build folder.
#
# anyplace_install(...)   install(...), with ANYPLACE_INSTALL
option(ANYPLACE_INSTALL "Let `cmake --install` install anyplace" ${PROJECT_IS_TOP_LEVEL})

macro(anyplace_install)
  if(ANYPLACE_INSTALL)
    install(${ARGV})
  endif()
endmacro()

# Programs and libraries are beside each other, where the library finds its plugins.
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
