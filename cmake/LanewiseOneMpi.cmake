# SPDX-License-Identifier: BSD-3-Clause
#
# The first that `cmake --install` does: it stops where the libraries of another MPI are, since
# those of this one have the same names.

if(NOT BUILD_SHARED_LIBS)
  return()
endif()
install(CODE "set(lanewise_mpi ${LANEWISE_MPI_FAMILY})
set(lanewise_there ${CMAKE_INSTALL_LIBDIR}/pkgconfig/lanewise.pc)")
install(CODE [[
cmake_path(ABSOLUTE_PATH lanewise_there BASE_DIRECTORY "${CMAKE_INSTALL_PREFIX}")
if(EXISTS "$ENV{DESTDIR}${lanewise_there}")
  file(STRINGS "$ENV{DESTDIR}${lanewise_there}" lanewise_told REGEX "\\(built for [a-z]+\\)")
  string(REGEX REPLACE ".*\\(built for ([a-z]+)\\).*" "\\1" lanewise_other "${lanewise_told}")
  if(lanewise_told AND NOT lanewise_other STREQUAL lanewise_mpi)
    message(FATAL_ERROR "${CMAKE_INSTALL_PREFIX} has Lanewise for ${lanewise_other}, whose "
      "libraries have the same names as those for ${lanewise_mpi}; choose another prefix")
  endif()
endif()
]])
