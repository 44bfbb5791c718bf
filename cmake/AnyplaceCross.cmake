# Whether programs that this build makes can run while it builds. Where it is for another machine they need CMAKE_CROSSCOMPILING_EMULATOR,
# which CMake puts before a command that begins with the name of a target, and not before $<TARGET_FILE:...>.
#
# ANYPLACE_RUNS_PROGRAMS       ON or OFF
# ANYPLACE_RUNS_NO_PROGRAMS    why not, for those that leave something out
set(ANYPLACE_RUNS_PROGRAMS ON)
set(ANYPLACE_RUNS_NO_PROGRAMS "")
if(CMAKE_CROSSCOMPILING AND NOT CMAKE_CROSSCOMPILING_EMULATOR)
  set(ANYPLACE_RUNS_PROGRAMS OFF)
  set(ANYPLACE_RUNS_NO_PROGRAMS "a program for ${CMAKE_SYSTEM_PROCESSOR} would make it, and there is no CMAKE_CROSSCOMPILING_EMULATOR to run that with")
endif()
