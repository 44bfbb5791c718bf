# Finds hip/hip_runtime_api.h, the header of AMD's HIP runtime, and nothing else of ROCm: neither the backend nor its double
# links a vendor's library. Sets
#   ANYPLACE_HIP_INCLUDE_DIR  the folder that holds hip/hip_runtime_api.h; a cache entry, so that -DANYPLACE_HIP_INCLUDE_DIR=...
#                             overrides; false where there is none
#   ANYPLACE_HIP_HEADER_HINT  what to install, for the line that says what is left out
# Looked for in that order: ROCM_PATH and HIP_PATH, /opt/rocm, the system's (Debian's libamdhip64-dev).
include_guard(DIRECTORY)

set(ANYPLACE_HIP_HEADER_HINT "no hip/hip_runtime_api.h of ROCm 5.2 or newer: install Debian's libamdhip64-dev or AMD's \
hip-runtime-amd-dev, or set ANYPLACE_HIP_INCLUDE_DIR")

set(_anyplace_hip_folders)
foreach(_anyplace_root IN ITEMS "$ENV{ROCM_PATH}" "$ENV{HIP_PATH}")
  if(_anyplace_root)
    list(APPEND _anyplace_hip_folders "${_anyplace_root}/include")
  endif()
endforeach()
find_path(ANYPLACE_HIP_INCLUDE_DIR hip/hip_runtime_api.h PATHS ${_anyplace_hip_folders} /opt/rocm/include /usr/include
          NO_DEFAULT_PATH DOC "The folder that holds hip/hip_runtime_api.h")
