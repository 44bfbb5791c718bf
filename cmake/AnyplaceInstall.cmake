# What `cmake --install` puts where, and how others find it: the CMake package anyplace with the components core, kernels,
# headers and backend, and the pkg-config files anyplace and anyplace-backend. Everything finds its neighbours by relative paths, so the
# installed tree may be moved.
include(CMakePackageConfigHelpers)

set(anyplace_cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/anyplace)

set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME development)
install(DIRECTORY include/anyplace TYPE INCLUDE FILES_MATCHING PATTERN "*.h")
install(TARGETS anyplace_headers EXPORT anyplaceHeadersTargets)
install(TARGETS ${ANYPLACE_SHIPPED} EXPORT anyplaceCoreTargets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime NAMELINK_COMPONENT development)
install(TARGETS anyplace_backend_cpu_sim LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/${anyplace_PLUGIN_FOLDER} COMPONENT runtime)
if(TARGET anyplace_clang_loops)
  install(TARGETS anyplace_clang_loops LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/${anyplace_PLUGIN_FOLDER} COMPONENT runtime)
endif()
if(TARGET anyplace_command)
  file(RELATIVE_PATH library_from_program ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
  set_target_properties(anyplace_command PROPERTIES INSTALL_RPATH "$ORIGIN/${library_from_program}")
  install(TARGETS anyplace_command RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT tools)
  if(TARGET anyplace_pages)
    install(FILES ${ANYPLACE_PAGES}/anyplace.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT tools)
    install(FILES ${ANYPLACE_PAGES}/anyplace.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME anyplace COMPONENT tools)
  endif()
endif()

# -- Documentation, in the folders of the source, so that links from one page to another hold; the others are mended.
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME documentation)
install(FILES LICENSE README.md CHANGELOG.md SECURITY.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR})
foreach(page IN ITEMS conformance compilers python adapters/paddle adapters/torch adapters/ur)
  install(FILES ${page}/README.md DESTINATION ${CMAKE_INSTALL_DOCDIR}/${page})
endforeach()
file(RELATIVE_PATH headers_from_documentation ${CMAKE_INSTALL_FULL_DOCDIR} ${CMAKE_INSTALL_FULL_INCLUDEDIR})
install(CODE "
  get_filename_component(folder \"${CMAKE_INSTALL_DOCDIR}\" ABSOLUTE BASE_DIR \"\${CMAKE_INSTALL_PREFIX}\")
  set(folder \"\$ENV{DESTDIR}\${folder}\")
  set(to_headers \"${headers_from_documentation}\")
  include(\"${PROJECT_SOURCE_DIR}/cmake/AnyplaceDocumentationLinks.cmake\")" COMPONENT documentation)

set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME development)
# -- CMake
install(EXPORT anyplaceHeadersTargets NAMESPACE anyplace:: DESTINATION ${anyplace_cmake_dir})
install(EXPORT anyplaceCoreTargets NAMESPACE anyplace:: DESTINATION ${anyplace_cmake_dir})
configure_package_config_file(cmake/anyplaceConfig.cmake.in ${PROJECT_BINARY_DIR}/anyplaceConfig.cmake
  INSTALL_DESTINATION ${anyplace_cmake_dir} PATH_VARS CMAKE_INSTALL_BINDIR)
# Before 1.0 a minor version may break what an application compiles against.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/anyplaceConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/anyplaceConfig.cmake ${PROJECT_BINARY_DIR}/anyplaceConfigVersion.cmake
              cmake/AnyplaceBackend.cmake cmake/backend.map cmake/AnyplaceKernels.cmake
        DESTINATION ${anyplace_cmake_dir})
install(DIRECTORY cmake/kernels DESTINATION ${anyplace_cmake_dir} PATTERN stand_ins.cmake EXCLUDE)

# -- pkg-config
file(RELATIVE_PATH anyplace_prefix_from_pc ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
# With the library's folder, so that the program starts: the linker's usual ones need not have it. Those of /usr always do, and what is
# packaged for a distribution mustn't name them.
set(anyplace_pc_rpath "-Wl,-rpath,\${libdir} ")
if(CMAKE_INSTALL_PREFIX STREQUAL "/usr")
  set(anyplace_pc_rpath "")
endif()
foreach(package IN ITEMS anyplace anyplace-backend)
  configure_file(cmake/${package}.pc.in ${PROJECT_BINARY_DIR}/${package}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${package}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()
