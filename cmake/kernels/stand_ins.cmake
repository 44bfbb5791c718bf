# Stand-ins: the host's image of kernels in the form of each vendor's, for tests over the doubles of their libraries. Nothing but this tree's
# own tests sets the tool, ANYPLACE_KERNELS_STAND_IN_TOOL, and nothing that is installed has a stand-in: see anyplace_shipped in core/.
include_guard(GLOBAL)

# Adds stand-ins to images in its caller: to PTX behind the most portable text as a comment, so that the double may say of which version its
# driver is; for HIP for gfx000, which no device is; and as SPIR-V of a version that no driver takes, behind what is for true devices.
function(_anyplace_kernels_add_stand_ins)
  set(file)
  set(place "")
  set(architecture)
  foreach(image IN LISTS images)
    if(image MATCHES "^ptx@([^@]*)@(.*)$")
      set(place "${image}")
      set(architecture "${CMAKE_MATCH_1}")
      set(file ${CMAKE_MATCH_2})
    endif()
  endforeach()
  if(place)
    list(REMOVE_ITEM images "${place}")
  endif()
  set(append)
  if(file)
    set(append --append ${file})
  endif()
  _anyplace_kernels_stand_in(ptx "${file}" --ptx ${append})
  list(APPEND images "ptx@${architecture}@${made}")
  _anyplace_kernels_stand_in(hsaco "" --hsaco gfx000)
  list(APPEND images "hsaco@gfx000@${made}")
  list(APPEND images ${given})
  _anyplace_kernels_stand_in(spv "" --spirv 255.0)
  list(APPEND images "spirv@@${made}")
  set(images ${images} PARENT_SCOPE)
endfunction()

# Sets made to the stand-in that the tool makes of the host's image with the arguments; it is made anew when `of`, a file or "", changes.
function(_anyplace_kernels_stand_in suffix of)
  set(made ${folder}/${name}.stand_in.${suffix})
  set(tool ${ANYPLACE_KERNELS_STAND_IN_TOOL})
  add_custom_command(OUTPUT ${made} COMMAND ${tool} ${ARGN} $<TARGET_FILE:anyplace_kernels_${name}> ${made}
                     DEPENDS ${tool} anyplace_kernels_${name} ${of} VERBATIM)
  set(made ${made} PARENT_SCOPE)
endfunction()
