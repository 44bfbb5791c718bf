# Makes a C++ file of the templates, so that the program brings them along wherever it is moved to.
#
#   cmake -DROOT=FOLDER -DLICENSE=FILE -DOUTPUT=FILE -P embed.cmake
#
# FOLDER/KIND/PATH becomes {"KIND", "PATH", executable?, "text"}; LICENSE becomes common/LICENSE and compiler/LICENSE.
set(embedded)

macro(embed kind path file executable)
  file(READ ${file} text)
  string(APPEND embedded "    {\"${kind}\", \"${path}\", ${executable}, R\"template(${text})template\"},\n")
endmacro()

foreach(kind IN ITEMS common cpp c compiler)
  file(GLOB_RECURSE paths LIST_DIRECTORIES false RELATIVE ${ROOT}/${kind} ${ROOT}/${kind}/*)
  list(SORT paths)
  foreach(path IN LISTS paths)
    set(executable false)
    if(path MATCHES "\\.sh$")
      set(executable true)
    endif()
    # A .gitignore of that name would hold for the templates themselves.
    string(REGEX REPLACE "^gitignore$" ".gitignore" target ${path})
    embed(${kind} ${target} ${ROOT}/${kind}/${path} ${executable})
  endforeach()
endforeach()
embed(common LICENSE ${LICENSE} false)
embed(compiler LICENSE ${LICENSE} false)

file(WRITE ${OUTPUT} "// Made by tools/templates/embed.cmake of the files beside it.
#include \"new_backend_templates.h\"

namespace anyplace::tool {
namespace {

constexpr TemplateFile files[] = {
${embedded}};

}  // namespace

std::span<const TemplateFile> new_backend_templates() noexcept { return files; }

}  // namespace anyplace::tool
")
