# SPDX-License-Identifier: BSD-3-Clause
#
# Finds the MPI named by LANEWISE_MPI and sets LANEWISE_MPI_FAMILY,
# LANEWISE_MPI_VERSION and the target lanewise::mpi, whose LANEWISE_HAS_... say
# which parts of MPI 4 this MPI has.

if(NOT LANEWISE_MPI MATCHES "^(auto|openmpi|mpich|smpi)$")
  message(FATAL_ERROR "LANEWISE_MPI is '${LANEWISE_MPI}'; name auto, openmpi, mpich or smpi")
endif()

# Tells find_program whether a compiler wrapper belongs to the family that LANEWISE_MPI names.
function(lw_wrapper_is_of_the_family result wrapper)
  execute_process(COMMAND ${wrapper} -E ${lw_family_source} RESULT_VARIABLE status
    OUTPUT_VARIABLE text ERROR_QUIET)
  if(NOT status EQUAL 0 OR NOT text MATCHES "FAMILY ${LANEWISE_MPI}")
    set(${result} FALSE PARENT_SCOPE)
  endif()
endfunction()

if(LANEWISE_MPI STREQUAL "smpi")
  if(CMAKE_CXX_COMPILER MATCHES smpicxx)
    message(FATAL_ERROR "${CMAKE_CXX_COMPILER} is not the compiler for this tree any more; "
      "remove ${PROJECT_BINARY_DIR} and configure it again")
  endif()
  # What the wrappers smpicc and smpicxx add, for the targets that use MPI; the rest is compiled as
  # for any MPI. Their smpi_helpers.h is left out, since its macros (exit, free, sleep) break other
  # headers and code that knows nothing of MPI. Simulated time comes from MPI_Wtime.
  find_path(LANEWISE_SMPI_INCLUDE smpi/mpi.h REQUIRED)
  find_library(LANEWISE_SIMGRID simgrid REQUIRED)
  add_library(lanewise_mpi INTERFACE)
  target_include_directories(lanewise_mpi INTERFACE ${LANEWISE_SMPI_INCLUDE}/smpi)
  target_compile_definitions(lanewise_mpi INTERFACE LANEWISE_SIMULATED=1)
  # smpirun loads each program as a library.
  target_compile_options(lanewise_mpi INTERFACE -fPIC)
  target_link_options(lanewise_mpi INTERFACE -shared -Wl,-z,defs)
  target_link_libraries(lanewise_mpi INTERFACE ${LANEWISE_SIMGRID} m)
  find_program(LANEWISE_SMPIRUN smpirun REQUIRED)
  set(LANEWISE_MPI_FAMILY smpi)
  set(LANEWISE_MPI_VERSION "SimGrid SMPI")
else()
  # Preprocessed, it tells the family of an MPI and its version, and what mpi.h declares.
  set(lw_family_source ${PROJECT_BINARY_DIR}/mpi_family.c)
  file(WRITE ${lw_family_source} "#include <mpi.h>
#if defined(OPEN_MPI)
FAMILY openmpi
RELEASE Open MPI OMPI_MAJOR_VERSION . OMPI_MINOR_VERSION . OMPI_RELEASE_VERSION
#elif defined(MPICH_VERSION) || defined(MPICH)
FAMILY mpich
RELEASE \"MPICH\" MPICH_VERSION
#else
FAMILY other
#endif
")
  if(LANEWISE_MPI MATCHES "^(openmpi|mpich)$")
    # Of two installations the one that is first on PATH is meant. Debian's have the name of the
    # family in those of their programs; a module's or conda's are called as if there were no other.
    find_program(LANEWISE_MPICC NAMES mpicc.${LANEWISE_MPI} mpicc NAMES_PER_DIR
      VALIDATOR lw_wrapper_is_of_the_family)
    # Where there is none, one of another family is refused below by its name.
    find_program(LANEWISE_MPICC NAMES mpicc.${LANEWISE_MPI} mpicc)
    set(MPI_C_COMPILER ${LANEWISE_MPICC} CACHE FILEPATH "")
    cmake_path(GET MPI_C_COMPILER PARENT_PATH wrappers)
    find_program(LANEWISE_MPICXX NAMES mpicxx.${LANEWISE_MPI} mpicxx NAMES_PER_DIR
      HINTS ${wrappers})
    find_program(LANEWISE_MPIEXEC NAMES mpiexec.${LANEWISE_MPI} mpiexec NAMES_PER_DIR
      HINTS ${wrappers})
    set(MPI_CXX_COMPILER ${LANEWISE_MPICXX} CACHE FILEPATH "")
    set(MPIEXEC_EXECUTABLE ${LANEWISE_MPIEXEC} CACHE FILEPATH "")
  endif()
  set(MPI_CXX_SKIP_MPICXX ON)
  find_package(MPI 3.1 REQUIRED COMPONENTS C)
  # Ubuntu's MPICH hands on how its own package was built: with optimisation at link time, for which
  # each program is compiled twice.
  get_target_property(options MPI::MPI_C INTERFACE_COMPILE_OPTIONS)
  if(options)
    list(FILTER options EXCLUDE REGEX "^-f(lto|fat-lto-objects)")
    set_target_properties(MPI::MPI_C PROPERTIES INTERFACE_COMPILE_OPTIONS "${options}")
  endif()
  add_library(lanewise_mpi INTERFACE)
  target_link_libraries(lanewise_mpi INTERFACE MPI::MPI_C)
  # The C++ bindings in Open MPI 4's mpi.h make a program in C++ need their library. A program of a
  # user that is linked with it keeps them.
  set(has_bindings $<IN_LIST:MPI::MPI_CXX,$<TARGET_PROPERTY:LINK_LIBRARIES>>)
  target_compile_definitions(lanewise_mpi INTERFACE
    "$<$<NOT:${has_bindings}>:OMPI_SKIP_MPICXX;MPICH_SKIP_MPICXX>")

  separate_arguments(flags NATIVE_COMMAND "${CMAKE_C_FLAGS}")
  if(CMAKE_SYSROOT)
    list(APPEND flags --sysroot=${CMAKE_SYSROOT})
  endif()
  if(CMAKE_C_COMPILER_TARGET AND CMAKE_C_COMPILER_ID STREQUAL "Clang")
    list(APPEND flags --target=${CMAKE_C_COMPILER_TARGET})
  endif()
  foreach(directory IN LISTS MPI_C_INCLUDE_DIRS)
    list(APPEND flags "-I${directory}")
  endforeach()
  # Clang prints what is left of a source whose header is missing.
  execute_process(COMMAND ${CMAKE_C_COMPILER} ${flags} -E ${lw_family_source}
    RESULT_VARIABLE family_status OUTPUT_VARIABLE family_text ERROR_VARIABLE family_error)
  string(REGEX MATCH "FAMILY ([a-z]+)" family_line "${family_text}")
  set(LANEWISE_MPI_FAMILY "${CMAKE_MATCH_1}")
  if(NOT family_status EQUAL 0 OR NOT LANEWISE_MPI_FAMILY)
    message(FATAL_ERROR "${CMAKE_C_COMPILER} -E cannot read the mpi.h of this MPI; name its "
      "wrapper with MPI_C_COMPILER, or its folder in CMAKE_C_FLAGS. The compiler says:\n"
      "${family_error}")
  endif()
  string(REGEX MATCH "RELEASE ([^\n]+)" release_line "${family_text}")
  string(REPLACE "\"" "" LANEWISE_MPI_VERSION "${CMAKE_MATCH_1}")
  string(REPLACE " . " "." LANEWISE_MPI_VERSION "${LANEWISE_MPI_VERSION}")
  if(NOT LANEWISE_MPI_VERSION)
    set(LANEWISE_MPI_VERSION "${LANEWISE_MPI_FAMILY}, MPI ${MPI_C_VERSION}")
  endif()
  # The version of the standard does not tell: Open MPI 5 calls itself an MPI 3.1 and has all of
  # these but the large counts.
  set(parts PERSISTENT LARGE_COUNTS PARTITIONED SESSIONS STATUS_OF_MANY
    IDUP_WITH_INFO)
  set(functions MPI_Bcast_init MPI_Bcast_c MPI_Psend_init MPI_Session_init
    MPI_Request_get_status_all MPI_Comm_idup_with_info)
  foreach(part function IN ZIP_LISTS parts functions)
    if(family_text MATCHES "[ \n]${function} *\\(")
      target_compile_definitions(lanewise_mpi INTERFACE $<BUILD_INTERFACE:LANEWISE_HAS_${part}>)
    endif()
  endforeach()
  if(LANEWISE_MPI MATCHES "^(openmpi|mpich)$" AND NOT LANEWISE_MPI_FAMILY STREQUAL LANEWISE_MPI)
    message(FATAL_ERROR "LANEWISE_MPI is ${LANEWISE_MPI} but ${MPI_C_COMPILER} belongs to "
      "${LANEWISE_MPI_FAMILY}; set MPI_C_COMPILER to the wrapper of ${LANEWISE_MPI}")
  endif()
endif()

# The mpiexec of MPICH 4.2.0 in Ubuntu 24.04 and its library do not speak the same PMI: every
# process is the only rank of a job of its own. What needs several ranks is then neither built for
# `make test` nor run. It is asked again when the MPI is another.
file(TIMESTAMP "${MPIEXEC_EXECUTABLE}" ranks_time)
set(ranks_mpi "${LANEWISE_MPI_VERSION}, ${MPIEXEC_EXECUTABLE} of ${ranks_time}")
if(LANEWISE_TESTS AND LANEWISE_MPI_FAMILY STREQUAL "mpich" AND
   NOT LANEWISE_RANKS_APART_IN STREQUAL ranks_mpi)
  set(ranks_folder ${PROJECT_BINARY_DIR}/ranks)
  file(WRITE ${ranks_folder}/ranks.c "#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv) {
    int ranks = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    printf(\"of %d\\n\", ranks);
    return MPI_Finalize();
}
")
  try_compile(ranks_compiled ${ranks_folder} ${ranks_folder}/ranks.c
    LINK_LIBRARIES MPI::MPI_C COPY_FILE ${ranks_folder}/ranks)
  execute_process(COMMAND ${MPIEXEC_EXECUTABLE} -n 2 ${ranks_folder}/ranks TIMEOUT 60
    OUTPUT_VARIABLE ranks_text ERROR_QUIET)
  set(ranks_apart OFF)
  if(ranks_text MATCHES "of 1\n")
    set(ranks_apart ON)
  endif()
  set(LANEWISE_RANKS_APART ${ranks_apart} CACHE BOOL
    "The ranks that mpiexec starts do not find each other" FORCE)
  set(LANEWISE_RANKS_APART_IN "${ranks_mpi}" CACHE INTERNAL "The MPI that was asked")
endif()
add_library(lanewise::mpi ALIAS lanewise_mpi)
message(STATUS "Lanewise for ${LANEWISE_MPI_VERSION}")
