# The packages that cpack makes (scripts/package): for Debian one for each component that is installed, and an archive of all. Included after
# everything that is installed.

# What is compiled in, beside our own code: name|version|licence|where it is from.
find_package(CLI11 QUIET)
find_package(nlohmann_json 3 QUIET)
if(ANYPLACE_PROTOZERO_INCLUDE)
  file(STRINGS ${ANYPLACE_PROTOZERO_INCLUDE}/protozero/version.hpp protozero_version REGEX "define PROTOZERO_VERSION_STRING ")
  string(REGEX REPLACE ".*\"(.*)\".*" "\\1" protozero_version "${protozero_version}")
endif()
set(anyplace_compiled_in "fmt|${fmt_VERSION}|MIT|https://github.com/fmtlib/fmt")
if(TARGET anyplace_command)
  list(APPEND anyplace_compiled_in "CLI11|${CLI11_VERSION}|BSD-3-Clause|https://github.com/CLIUtils/CLI11")
endif()
if(nlohmann_json_FOUND)
  list(APPEND anyplace_compiled_in "nlohmann-json|${nlohmann_json_VERSION}|MIT|https://github.com/nlohmann/json")
endif()
if(TARGET anyplace_layer_trace)
  list(APPEND anyplace_compiled_in "protozero|${protozero_version}|BSD-2-Clause|https://github.com/mapbox/protozero")
endif()
set(anyplace_sbom_packages "")
set(anyplace_sbom_relationships "")
foreach(library IN LISTS anyplace_compiled_in)
  string(REPLACE "|" ";" library "${library}")
  list(GET library 0 name)
  list(GET library 1 version)
  list(GET library 2 licence)
  list(GET library 3 source)
  if(NOT version)
    set(version NOASSERTION)
  endif()
  string(APPEND anyplace_sbom_packages ",
    {
      \"SPDXID\": \"SPDXRef-${name}\",
      \"name\": \"${name}\",
      \"versionInfo\": \"${version}\",
      \"downloadLocation\": \"${source}\",
      \"filesAnalyzed\": false,
      \"licenseConcluded\": \"${licence}\",
      \"licenseDeclared\": \"${licence}\",
      \"copyrightText\": \"NOASSERTION\"
    }")
  string(APPEND anyplace_sbom_relationships ",
    {\"spdxElementId\": \"SPDXRef-anyplace\", \"relationshipType\": \"STATIC_LINK\", \"relatedSpdxElement\": \"SPDXRef-${name}\"}")
endforeach()
# SOURCE_DATE_EPOCH makes it the same in each build, as it makes the packages.
string(TIMESTAMP anyplace_sbom_created "%Y-%m-%dT%H:%M:%SZ" UTC)
string(SHA256 anyplace_sbom_digest "${PROJECT_VERSION} ${anyplace_sbom_created} ${anyplace_sbom_packages}")
configure_file(packaging/anyplace.spdx.json.in ${PROJECT_BINARY_DIR}/packaging/anyplace.spdx.json @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/packaging/anyplace.spdx.json DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/anyplace COMPONENT documentation)

set(CPACK_PACKAGE_NAME anyplace)
set(CPACK_PACKAGE_VENDOR "the anyplace authors")
set(CPACK_PACKAGE_CONTACT "The anyplace authors <maintainers@users.noreply.github.com>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_STRIP_FILES ON)
set(CPACK_GENERATOR DEB TGZ)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_ARCHIVE_COMPONENT_INSTALL OFF)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_COMPONENTS_ALL)

# The day is that of the build, or of SOURCE_DATE_EPOCH, in the format of Debian's policy.
set(changelog ${PROJECT_BINARY_DIR}/packaging/changelog)
string(TIMESTAMP changelog_date "%a, %d %b %Y %H:%M:%S +0000" UTC)
configure_file(packaging/changelog.in ${changelog} @ONLY)
find_program(ANYPLACE_GZIP gzip DOC "gzip, for the changelog of Debian's packages")
mark_as_advanced(ANYPLACE_GZIP)
if(ANYPLACE_GZIP)
  execute_process(COMMAND ${ANYPLACE_GZIP} -9 --no-name --force --keep ${changelog})
endif()

# anyplace_package(component name section description [depends]): the Debian package of a component. All have the project's summary.
function(anyplace_package component name section description)
  string(TOUPPER ${component} upper)
  list(APPEND CPACK_COMPONENTS_ALL ${component})
  set(CPACK_COMPONENTS_ALL ${CPACK_COMPONENTS_ALL} PARENT_SCOPE)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${name} PARENT_SCOPE)
  set(CPACK_DEBIAN_${upper}_PACKAGE_SECTION ${section} PARENT_SCOPE)
  set(CPACK_DEBIAN_${upper}_DESCRIPTION "${description}" PARENT_SCOPE)
  set(CPACK_COMPONENT_${upper}_DESCRIPTION "${description}" PARENT_SCOPE)
  set(CPACK_DEBIAN_${upper}_PACKAGE_DEPENDS "${ARGN}" PARENT_SCOPE)
  # Debian's policy wants both in each package. They are nothing for an installation of all components at once.
  set(folder ${CMAKE_INSTALL_DATADIR}/doc/${name})
  install(FILES packaging/copyright DESTINATION ${folder} COMPONENT ${component} EXCLUDE_FROM_ALL)
  if(EXISTS ${changelog}.gz)
    install(FILES ${changelog}.gz DESTINATION ${folder} COMPONENT ${component} RENAME changelog.gz EXCLUDE_FROM_ALL)
  endif()
endfunction()
# The licences of what is compiled in, for every installation.
install(FILES packaging/copyright DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT documentation)

set(runtime libanyplace${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
set(same_runtime "${runtime} (= ${PROJECT_VERSION})")
anyplace_package(runtime ${runtime} libs
"An application picks its device by a string, and each vendor is a plugin
that is loaded when its name is first used. This package has the library,
the simulator cpu_sim, the layers faults, trace and validate, the engines
of ranks, and what compiles kernels.")
# What compiles kernels out of strings for cpu_sim, and for SPIR-V.
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SUGGESTS "g++, clang, llvm-spirv-14 | llvm-spirv-19")
anyplace_package(development libanyplace-dev libdevel
"This package has the headers of anyplace, and what CMake and pkg-config
need to build applications and plugins with it." "${same_runtime}")
if(TARGET anyplace_command)
  anyplace_package(tools anyplace-tools utils
"This package has the command anyplace, which lists devices, explains what
is wrong with plugins, explores schedules, and checks whether a backend
keeps the contract." "${same_runtime}")
endif()
anyplace_package(documentation anyplace-doc doc
"This package has the documentation of anyplace.")
set(CPACK_DEBIAN_DOCUMENTATION_PACKAGE_ARCHITECTURE all)
# With the runtime's version in the name, so that those of two minor versions can be installed, as their libraries can.
foreach(backend IN ITEMS cuda hip levelzero)
  if(TARGET anyplace_backend_${backend})
    anyplace_package(${backend} ${runtime}-${backend} libs
"This package has the plugin of anyplace for ${backend}. The vendor's library
is loaded when a device of it is first named." "${same_runtime}")
  endif()
endforeach()
set(CPACK_DEBIAN_CUDA_PACKAGE_SUGGESTS libcuda1)
set(CPACK_DEBIAN_HIP_PACKAGE_SUGGESTS "libamdhip64-5 | libamdhip64-6")
set(CPACK_DEBIAN_LEVELZERO_PACKAGE_SUGGESTS libze1)
# `shlibs` says which package has the library, for those who package a program that is linked with it. CPack would write it, too, but it
# warns of each plugin, which has no soname because nothing is linked with it. `triggers` renews the linker's cache.
configure_file(packaging/shlibs.in ${PROJECT_BINARY_DIR}/packaging/shlibs @ONLY)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_EXTRA ${PROJECT_SOURCE_DIR}/packaging/triggers ${PROJECT_BINARY_DIR}/packaging/shlibs)
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/AnyplacePackagePages.cmake)
# Plugins export one symbol and are no libraries that others are linked with; what they need of the library is in its own folder.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR}/lib)
include(CPack)
