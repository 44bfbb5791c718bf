# Compares the headers in FOLDER with what they were when they were frozen. They never change: a new version of the
# boundary gets a folder of its own, and lines of its own here.
set(frozen
  anyplace/backend/status.h c47e3f90a1ee47d897364775be08bfe7505d7b25ff61e877a101d6858553a10d
  anyplace/backend/abi.h 45efa5130e273fe5d2ca9ac4dc79fbd1eee2e2a1ff08a07d7b0b93e316f92ba7
  anyplace/backend/device_backend.h 46cbc50c17eda8a8c523d6f5ac0a7fa208c187afd58d49515d46b500c91a9706)
while(frozen)
  list(POP_FRONT frozen header expected)
  file(SHA256 ${FOLDER}/${header} found)
  if(NOT found STREQUAL expected)
    message(FATAL_ERROR "${FOLDER}/${header} has changed: its SHA-256 is ${found}, and was ${expected}")
  endif()
endwhile()
