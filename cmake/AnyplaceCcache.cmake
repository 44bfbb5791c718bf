# Compiling through ccache where it is installed: what was compiled before, here or in another clone, comes from its cache, which is in its
# own folder (CCACHE_DIR, else ~/.cache/ccache). Without ccache nothing changes.
option(ANYPLACE_CCACHE "Compile through ccache, where it is installed" ON)
find_program(ANYPLACE_CCACHE_PROGRAM ccache DOC "ccache, which keeps what was compiled")
mark_as_advanced(ANYPLACE_CCACHE_PROGRAM)
# A launcher that is ccache itself takes the place of this one, with the same settings: without them ccache compiles anew whatever uses a
# precompiled header, which is nearly everything. Another launcher stays as it is.
if(CMAKE_CXX_COMPILER_LAUNCHER MATCHES "(^|/)ccache$")
  set(ANYPLACE_CCACHE_PROGRAM ${CMAKE_CXX_COMPILER_LAUNCHER})
elseif(CMAKE_CXX_COMPILER_LAUNCHER)
  return()
endif()
if(NOT ANYPLACE_CCACHE OR NOT ANYPLACE_CCACHE_PROGRAM)
  return()
endif()
# Paths are taken relative to the clone, so that another clone finds them. A precompiled header's macros and time don't count, because its
# content does.
set(launcher ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1
    CCACHE_SLOPPINESS=pch_defines,time_macros ${ANYPLACE_CCACHE_PROGRAM})
set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fpch-preprocess> $<$<COMPILE_LANG_AND_ID:C,GNU>:-fpch-preprocess>
                    "$<$<COMPILE_LANG_AND_ID:CXX,Clang>:SHELL:-Xclang -fno-pch-timestamp>"
                    "$<$<COMPILE_LANG_AND_ID:C,Clang>:SHELL:-Xclang -fno-pch-timestamp>")
