# dlpack/dlpack.h of version 1, for what tests anyplace/dlpack.h: ANYPLACE_DLPACK_INCLUDE_DIR, and ANYPLACE_HAS_DLPACK if it is there
# and new enough. Nothing that is installed needs it.
if(ANYPLACE_DLPACK_INCLUDE_DIR AND NOT EXISTS ${ANYPLACE_DLPACK_INCLUDE_DIR}/dlpack/dlpack.h)
  unset(ANYPLACE_DLPACK_INCLUDE_DIR CACHE)  # The folder that an earlier configuration found is gone, so it is looked for again.
endif()
find_path(ANYPLACE_DLPACK_INCLUDE_DIR dlpack/dlpack.h
          HINTS ENV DLPACK_PATH PATH_SUFFIXES include
          DOC "The folder that has dlpack/dlpack.h, of version 1 or newer, for tests of anyplace/dlpack.h")
mark_as_advanced(ANYPLACE_DLPACK_INCLUDE_DIR)
set(ANYPLACE_HAS_DLPACK FALSE)
if(NOT ANYPLACE_DLPACK_INCLUDE_DIR)
  message(STATUS "DLPack: its tests are left out, there is no dlpack/dlpack.h (the Python package apache-tvm-ffi has it; "
                 "set DLPACK_PATH or ANYPLACE_DLPACK_INCLUDE_DIR)")
  return()
endif()
file(STRINGS ${ANYPLACE_DLPACK_INCLUDE_DIR}/dlpack/dlpack.h major REGEX "^#define DLPACK_MAJOR_VERSION +[0-9]+")
if(major MATCHES " ([1-9][0-9]*)$")
  set(ANYPLACE_HAS_DLPACK TRUE)
else()
  message(STATUS "DLPack: its tests are left out, ${ANYPLACE_DLPACK_INCLUDE_DIR}/dlpack/dlpack.h is older than version 1")
endif()
