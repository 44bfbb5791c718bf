# The links of the documentation, once it is installed. Its pages link to files of the source tree: a header is where headers are installed,
# and a link to a file that isn't installed becomes its text with the file's name, so that no link of an installed page is broken.
#
# Run by `cmake --install` (AnyplaceInstall.cmake), with
#   folder      where the documentation is now
#   to_headers  from there to the folder of the installed headers, a relative path
cmake_minimum_required(VERSION 3.25)
string(ASCII 1 link_begins)

# Sets `result` to what `text` has instead of [shown](target) where there is no such file: `file` is the target from the tree's root.
function(name_file result shown file)
  string(REPLACE "`" "" plain "${shown}")
  if(file STREQUAL plain OR file STREQUAL "${plain}/README.md")
    set(${result} "${shown}" PARENT_SCOPE)
  else()
    set(${result} "${shown} (`${file}` in the source)" PARENT_SCOPE)
  endif()
endfunction()

# Replaces in `page`, of the documentation's folder, the links to what isn't there.
function(mend_links page)
  file(READ ${folder}/${page} text)
  get_filename_component(at ${folder}/${page} DIRECTORY)
  # Without brackets, which CMake's lists have a use for.
  string(REPLACE "](" "${link_begins}" marked "${text}")
  string(REGEX MATCHALL "${link_begins}[^() \n#:${link_begins}]+[#)]" targets "${marked}")
  list(REMOVE_DUPLICATES targets)
  foreach(target IN LISTS targets)
    string(REGEX REPLACE "^.(.*).$" "\\1" target "${target}")
    get_filename_component(there ${at}/${target} ABSOLUTE)
    if(EXISTS ${there})
      continue()
    endif()
    file(RELATIVE_PATH file ${folder} ${there})
    if(file MATCHES "^include/(.*\\.h)$")
      file(RELATIVE_PATH header ${at} ${folder}/${to_headers}/${CMAKE_MATCH_1})
      string(REPLACE "](${target})" "](${header})" text "${text}")
      continue()
    endif()
    string(REGEX REPLACE "([.+*?])" "\\\\\\1" pattern "${target}")
    while(text MATCHES "\\[([^][]*)\\]\\(${pattern}(#[^)]*)?\\)")
      set(link "${CMAKE_MATCH_0}")
      name_file(named "${CMAKE_MATCH_1}" "${file}")
      string(REPLACE "${link}" "${named}" text "${text}")
    endwhile()
  endforeach()
  file(WRITE ${folder}/${page} "${text}")
endfunction()

file(GLOB_RECURSE pages RELATIVE ${folder} ${folder}/*.md)
foreach(page IN LISTS pages)
  mend_links(${page})
endforeach()
