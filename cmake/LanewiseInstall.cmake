# SPDX-License-Identifier: BSD-3-Clause
#
# What `cmake --install` lays down: headers, library, find_package and pkg-config
# files, man pages, native programs, and a note that tells the command line where they are.

include(CMakePackageConfigHelpers)

install(DIRECTORY include/lanewise DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(TARGETS lanewise lanewise_mpi EXPORT lanewise LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(BUILD_SHARED_LIBS)
  install(EXPORT lanewise NAMESPACE lanewise:: FILE lanewise-targets.cmake
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/lanewise)
  configure_package_config_file(cmake/lanewise-config.cmake.in
    ${PROJECT_BINARY_DIR}/lanewise-config.cmake
    INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/lanewise)
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/lanewise-config-version.cmake
    COMPATIBILITY SameMinorVersion)
  install(FILES ${PROJECT_BINARY_DIR}/lanewise-config.cmake
    ${PROJECT_BINARY_DIR}/lanewise-config-version.cmake
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/lanewise)
  # Relative, so that an installed tree may be moved.
  cmake_path(RELATIVE_PATH CMAKE_INSTALL_PREFIX BASE_DIRECTORY
    ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig OUTPUT_VARIABLE LANEWISE_PC_TO_PREFIX)
  foreach(folder LIBDIR INCLUDEDIR)
    set(LANEWISE_PC_${folder} ${CMAKE_INSTALL_${folder}})
    if(NOT IS_ABSOLUTE "${CMAKE_INSTALL_${folder}}")
      set(LANEWISE_PC_${folder} "\${prefix}/${CMAKE_INSTALL_${folder}}")
    endif()
  endforeach()
  configure_file(cmake/lanewise.pc.in ${PROJECT_BINARY_DIR}/lanewise.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/lanewise.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
  if(TARGET lanewise_paths)
    install(EXPORT lanewise-paths NAMESPACE lanewise:: FILE lanewise-paths-targets.cmake
      DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/lanewise)
    configure_file(cmake/lanewise-paths.pc.in ${PROJECT_BINARY_DIR}/lanewise-paths.pc @ONLY)
    install(FILES ${PROJECT_BINARY_DIR}/lanewise-paths.pc
      DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
  endif()
endif()

if(NOT TARGET lanewise-native)
  return()
endif()
install(DIRECTORY docs/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
file(WRITE ${PROJECT_BINARY_DIR}/lanewise-build.json
"{\"mpi\": \"${LANEWISE_MPI_FAMILY}\", \"mpi_version\": \"${LANEWISE_MPI_VERSION}\", \
\"build_type\": \"${CMAKE_BUILD_TYPE}\", \"sanitize\": \"${LANEWISE_SANITIZE}\", \
\"version\": \"${PROJECT_VERSION}\", \"bin\": \"bin\", \"lib\": \"lib\"}\n")
install(FILES ${PROJECT_BINARY_DIR}/lanewise-build.json
  DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/lanewise/${LANEWISE_MPI_FAMILY})
