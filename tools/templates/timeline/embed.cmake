# Makes a C++ file of the page of `anyplace timeline`, so that the program brings it along wherever it is moved to.
#
#   cmake -DFOLDER=FOLDER -DOUTPUT=FILE -P embed.cmake
#
# The style and the scripts take the places of @STYLE@ and @SCRIPT@ in page.html; @DATA@ stays.
file(READ ${FOLDER}/page.html page)
file(READ ${FOLDER}/style.css style)
set(scripts)
foreach(name IN ITEMS data draw panel input)
  file(READ ${FOLDER}/${name}.js script)
  string(APPEND scripts "${script}\n")
endforeach()
string(REPLACE "@STYLE@" "${style}" page "${page}")
string(REPLACE "@SCRIPT@" "${scripts}" page "${page}")
file(WRITE ${OUTPUT} "// Made by tools/templates/timeline/embed.cmake of the files beside it.
#include \"timeline_page.h\"

namespace anyplace::tool {

std::string_view timeline_page() noexcept {
  return R\"template(${page})template\";
}

}  // namespace anyplace::tool
")
