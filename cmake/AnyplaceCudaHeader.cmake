# Finds cuda.h, the header of the CUDA driver API, and nothing else of CUDA: neither the backend nor its double links a vendor's
# library. Sets
#   ANYPLACE_CUDA_INCLUDE_DIR     the folder that holds cuda.h; a cache entry, so that -DANYPLACE_CUDA_INCLUDE_DIR=... overrides;
#                                 false where there is none
#   ANYPLACE_CUDA_HEADER_VERSION  its CUDA_VERSION, such as 13000
#   ANYPLACE_CUDA_HEADER_HINT     what to install, for the line that says what is left out
# Looked for in that order: CUDA_PATH and CUDA_HOME, the toolkit whose nvcc is in PATH, /usr/local/cuda, the system's
# (Debian's nvidia-cuda-dev), Python packages (nvidia-cuda-runtime of CUDA 13, nvidia-cuda-runtime-cu12 and -cu11).
include_guard(DIRECTORY)

set(ANYPLACE_CUDA_HEADER_OLDEST 11040)
set(ANYPLACE_CUDA_HEADER_HINT "no cuda.h of CUDA 11.4 or newer: install a CUDA toolkit, Debian's nvidia-cuda-dev (non-free) or \
the Python package nvidia-cuda-runtime, or set ANYPLACE_CUDA_INCLUDE_DIR")

# The folders of Python packages that may hold it, of the python3 in PATH.
function(_anyplace_python_cuda_folders result)
  set(${result} "" PARENT_SCOPE)
  find_program(ANYPLACE_PYTHON3 python3)
  mark_as_advanced(ANYPLACE_PYTHON3)
  if(NOT ANYPLACE_PYTHON3)
    return()
  endif()
  execute_process(
    COMMAND ${ANYPLACE_PYTHON3} -c "import glob,sys; print(';'.join(f[:-7] for p in sys.path if p for f in sorted(\
glob.glob(glob.escape(p)+'/nvidia/cu1[0-9]*/include/cuda.h')+glob.glob(glob.escape(p)+'/nvidia/cuda_runtime/include/cuda.h'), \
reverse=True)))"
    OUTPUT_VARIABLE folders OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
  if(NOT failed)
    set(${result} "${folders}" PARENT_SCOPE)
  endif()
endfunction()

if(NOT ANYPLACE_CUDA_INCLUDE_DIR)
  find_program(_anyplace_nvcc nvcc)
  set(_anyplace_cuda_folders)
  foreach(_anyplace_root IN ITEMS "$ENV{CUDA_PATH}" "$ENV{CUDA_HOME}")
    if(_anyplace_root)
      list(APPEND _anyplace_cuda_folders "${_anyplace_root}/include")
    endif()
  endforeach()
  if(_anyplace_nvcc)
    file(REAL_PATH "${_anyplace_nvcc}" _anyplace_nvcc_path)
    cmake_path(GET _anyplace_nvcc_path PARENT_PATH _anyplace_root)
    list(APPEND _anyplace_cuda_folders "${_anyplace_root}/../include" "${_anyplace_root}/../targets/x86_64-linux/include"
         "${_anyplace_root}/../targets/sbsa-linux/include")
  endif()
  list(APPEND _anyplace_cuda_folders /usr/local/cuda/include /usr/include /opt/cuda/include)
  unset(_anyplace_nvcc CACHE)
  find_path(ANYPLACE_CUDA_INCLUDE_DIR cuda.h PATHS ${_anyplace_cuda_folders} NO_DEFAULT_PATH
            DOC "The folder that holds cuda.h")
  if(NOT ANYPLACE_CUDA_INCLUDE_DIR)
    _anyplace_python_cuda_folders(_anyplace_cuda_folders)
    find_path(ANYPLACE_CUDA_INCLUDE_DIR cuda.h PATHS ${_anyplace_cuda_folders} NO_DEFAULT_PATH
              DOC "The folder that holds cuda.h")
  endif()
endif()

set(ANYPLACE_CUDA_HEADER_VERSION 0)
if(ANYPLACE_CUDA_INCLUDE_DIR AND EXISTS "${ANYPLACE_CUDA_INCLUDE_DIR}/cuda.h")
  file(STRINGS "${ANYPLACE_CUDA_INCLUDE_DIR}/cuda.h" _anyplace_cuda_version REGEX "^#define CUDA_VERSION [0-9]+")
  if(_anyplace_cuda_version MATCHES "CUDA_VERSION ([0-9]+)")
    set(ANYPLACE_CUDA_HEADER_VERSION ${CMAKE_MATCH_1})
  endif()
endif()
if(ANYPLACE_CUDA_HEADER_VERSION LESS ANYPLACE_CUDA_HEADER_OLDEST)
  if(ANYPLACE_CUDA_INCLUDE_DIR)
    message(STATUS "cuda.h in ${ANYPLACE_CUDA_INCLUDE_DIR} is of CUDA version ${ANYPLACE_CUDA_HEADER_VERSION}, "
                   "too old (${ANYPLACE_CUDA_HEADER_OLDEST} is the oldest) or missing")
  endif()
  set(ANYPLACE_CUDA_INCLUDE_DIR FALSE)
endif()
