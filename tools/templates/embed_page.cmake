# Makes a C++ file of the page of `anyplace timeline`, so that the program brings it along wherever it is moved to.
#
#   cmake -DPAGE=FILE -DOUTPUT=FILE -P embed_page.cmake
file(READ ${PAGE} text)
file(WRITE ${OUTPUT} "// Made by tools/templates/embed_page.cmake of timeline.html.
#include \"timeline_page.h\"

namespace anyplace::tool {

std::string_view timeline_page() noexcept {
  return R\"template(${text})template\";
}

}  // namespace anyplace::tool
")
