# SPDX-License-Identifier: BSD-3-Clause
#
# The functions that declare targets: warnings, sanitizers and tests in one place.

# GCC 12 clears what is larger than 64 bytes by `rep stos`, which takes 5 ns for 104 bytes
# where stores in a row take 2; calls and work requests are such.
include(CheckCXXCompilerFlag)
set(lw_clear_by_stores -mmemset-strategy=vector_loop:256:noalign,libcall:-1:noalign)
check_cxx_compiler_flag("${lw_clear_by_stores}" LANEWISE_CLEARS_BY_STORES)

# Under the sanitizers a test program is 30 MB large, and GNU's linker takes three times as long as
# mold. What is installed is linked by the system's own linker.
if(LANEWISE_SANITIZE AND LANEWISE_TESTS)
  include(CheckLinkerFlag)
  check_linker_flag(CXX -fuse-ld=mold LANEWISE_LINKS_BY_MOLD)
  if(LANEWISE_LINKS_BY_MOLD)
    add_link_options(-fuse-ld=mold)
  endif()
endif()

# With -ffast-math among CXXFLAGS, compilers link what flushes subnormals to zero in every process
# that loads the library.
add_link_options(-fno-fast-math)

# Clang puts its AddressSanitizer into each program, where libraries that leave nothing undefined do
# not find it when they are linked. GCC has it in a library of its own, and so does Clang if asked.
set(lw_sanitizer_library "")
if(LANEWISE_SANITIZE MATCHES "address" AND NOT LANEWISE_SANITIZE MATCHES "fuzzer" AND
   CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  set(lw_sanitizer libclang_rt.asan-${CMAKE_SYSTEM_PROCESSOR}.so)
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=${lw_sanitizer}
    OUTPUT_VARIABLE lw_sanitizer OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  cmake_path(GET lw_sanitizer PARENT_PATH lw_sanitizer)
  set(lw_sanitizer_library -shared-libasan -Wl,-rpath,${lw_sanitizer})
endif()

# The launcher of SMPI looks up main by its name.
function(lw_show_main program)
  if(LANEWISE_MPI_FAMILY STREQUAL "smpi")
    set_target_properties(${program} PROPERTIES CXX_VISIBILITY_PRESET default)
  endif()
endfunction()

function(lw_options target)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow
    $<$<COMPILE_LANGUAGE:CXX>:-Wconversion -Wsign-conversion -Wno-cast-function-type>)
  if(LANEWISE_CLEARS_BY_STORES)
    target_compile_options(${target} PRIVATE
      $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CONFIG:Release>>:${lw_clear_by_stores}>)
  endif()
  if(LANEWISE_UNITY)
    # The sources of the target are all known, with what makes them apart, where its folder ends.
    cmake_language(EVAL CODE "cmake_language(DEFER CALL lw_compile_together ${target})")
  endif()
  if(LANEWISE_WARNINGS_AS_ERRORS)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
  if(LANEWISE_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=${LANEWISE_SANITIZE}
      -fno-omit-frame-pointer -fno-sanitize-recover=all)
    target_link_options(${target} PUBLIC -fsanitize=${LANEWISE_SANITIZE} ${lw_sanitizer_library})
    if(LANEWISE_SANITIZE MATCHES "address")
      target_compile_definitions(${target} PRIVATE LANEWISE_SANITIZES_ADDRESSES)
    endif()
  endif()
endfunction()

# How what is not worth optimising is compiled: in half of the time. What BUSY parts gain in loops
# over arrays, or save of the tests' time under the sanitizers, is more than it takes to compile.
set(lw_unhurried $<$<CONFIG:Release>:-O1>)
set(lw_usual $<$<CONFIG:Release>:-O2>)
set(lw_busy $<$<CONFIG:Release>:-O3>)
if(LANEWISE_SANITIZE)
  set(lw_unhurried -O0)
  set(lw_usual "")
  # GCC sees values used uninitialised where its own instrumentation has moved them.
  set(lw_busy -O1 $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-maybe-uninitialized>)
  if(LANEWISE_SANITIZE MATCHES "fuzzer")
    set(lw_busy -O2)
  endif()
endif()

# The files of a target are compiled together in trees with LANEWISE_UNITY, in less than two thirds
# of the time; for work on a part there is the preset `debug`. CMake's own unity files name sources
# by absolute paths, so that the compiler's cache would not know them in another copy of the tree.
function(lw_compile_together target)
  get_target_property(sources ${target} SOURCES)
  set(together "")
  set(others "")
  foreach(source IN LISTS sources)
    cmake_path(ABSOLUTE_PATH source NORMALIZE OUTPUT_VARIABLE path)
    get_source_file_property(apart ${path} LANEWISE_APART)
    get_source_file_property(options ${path} COMPILE_OPTIONS)
    if(source MATCHES "\\.cpp$" AND NOT apart AND NOT options)
      list(APPEND together ${path})
    else()
      list(APPEND others ${source})
    endif()
  endforeach()
  list(LENGTH together count)
  if(count LESS 2)
    return()
  endif()
  set(includes "")
  foreach(path IN LISTS together)
    cmake_path(RELATIVE_PATH path BASE_DIRECTORY ${PROJECT_SOURCE_DIR})
    string(APPEND includes "#include \"${path}\"\n")
  endforeach()
  set(unity ${CMAKE_CURRENT_BINARY_DIR}/${target}_unity.cpp)
  file(CONFIGURE OUTPUT ${unity} CONTENT "${includes}" @ONLY)
  set_property(TARGET ${target} PROPERTY SOURCES ${others} ${unity})
  # GCC takes a source that another includes for a header, and Clang sees a local name hide one of
  # another file.
  target_compile_options(${target} PRIVATE -iquote ${PROJECT_SOURCE_DIR}
    $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage>
    $<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Wno-shadow>)
endfunction()

# Files that name functions or macros alike, such as algorithms, are compiled apart.
function(lw_compile_apart)
  set_source_files_properties(${ARGN} PROPERTIES LANEWISE_APART ON)
endfunction()

# A folder's objects, linked into liblanewise and into the tests. What only reads arguments,
# decides and reports is UNHURRIED; what does the work of long runs is BUSY. A part that nothing in
# the tree links, such as one for tests, is not built.
function(lw_add_part name)
  cmake_parse_arguments(ARG "UNHURRIED;BUSY" "" "SOURCES;LINK" ${ARGN})
  add_library(${name} STATIC EXCLUDE_FROM_ALL ${ARG_SOURCES})
  lw_options(${name})
  if(ARG_UNHURRIED)
    target_compile_options(${name} PRIVATE ${lw_unhurried})
  elseif(ARG_BUSY)
    target_compile_options(${name} PRIVATE ${lw_busy})
  else()
    target_compile_options(${name} PRIVATE ${lw_usual})
  endif()
  target_include_directories(${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>)
  target_link_libraries(${name} PUBLIC ${ARG_LINK})
endfunction()

# The version in the names of a library for those who link it: the name with the version is a file,
# the others are links to it.
function(lw_version name)
  if(LANEWISE_INSTALL_LINKS)
    set_target_properties(${name} PROPERTIES VERSION ${PROJECT_VERSION}
      SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
  endif()
endfunction()

# A native program. The work is done in the parts; OPTIMISED is for the programs that do some
# themselves.
function(lw_add_program name)
  cmake_parse_arguments(ARG "OPTIMISED" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  lw_options(${name})
  lw_show_main(${name})
  if(NOT ARG_OPTIMISED)
    target_compile_options(${name} PRIVATE ${lw_unhurried})
  endif()
  target_link_libraries(${name} PRIVATE ${ARG_LINK})
  set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ${LANEWISE_TESTS_ALONE})
endfunction()

# What a test tests is optimised, it itself need not be.
set(lw_test_optimisation $<IF:$<CONFIG:Release>,-O1,-O0>)

# What nearly every test begins with takes longer to read than the rest to compile.
function(lw_precompile name)
  if(LANEWISE_MPI_FAMILY STREQUAL "smpi")
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "HEADERS;LINK" ${ARGN})
  # A program as its users are: how code is addressed must agree.
  add_executable(${name} ${PROJECT_SOURCE_DIR}/src/testing/precompiled.cpp)
  lw_options(${name})
  target_compile_options(${name} PRIVATE ${lw_test_optimisation})
  target_link_libraries(${name} PRIVATE ${ARG_LINK})
  target_precompile_headers(${name} PRIVATE ${ARG_HEADERS})
  if(LANEWISE_RANKS_APART)
    set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON)
  endif()
endfunction()

# A test has one of the labels `daily`, `thorough` and `slow`: `make test` runs what is daily, and
# `make test-all` everything. A program of which no test is daily is built by test_programs only;
# daily_programs has the others, for trees where nobody runs the programs of the product.
if(LANEWISE_TESTS)
  add_custom_target(test_programs)
  add_custom_target(daily_programs)
  add_dependencies(test_programs daily_programs)
endif()

function(lw_test_options name)
  add_dependencies(test_programs ${name})
  lw_options(${name})
  target_compile_options(${name} PRIVATE ${lw_test_optimisation})
  if(TARGET lw_test_headers)
    target_precompile_headers(${name} REUSE_FROM lw_test_headers)
  endif()
endfunction()

# A busy machine makes the sanitizers slower still.
set(lw_test_limit_s 120)
if(LANEWISE_SANITIZE)
  set(lw_test_limit_s 300)
endif()

# A test without MPI. All are daily; one of MANY_CASES takes a few of them every day, which
# LANEWISE_FEW_CASES asks for, and runs whole for make test-all.
function(lw_declare_test name)
  cmake_parse_arguments(ARG "MANY_CASES" "" "COMMAND" ${ARGN})
  add_test(NAME ${name} COMMAND ${ARG_COMMAND})
  set_tests_properties(${name} PROPERTIES LABELS "unit;daily" TIMEOUT ${lw_test_limit_s}
    SKIP_RETURN_CODE 77)
  if(ARG_MANY_CASES)
    set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT LANEWISE_FEW_CASES=1)
    # Even a few take longer than any other test, so they begin first.
    set_property(TEST ${name} PROPERTY COST 3)
    add_test(NAME ${name}_whole COMMAND ${ARG_COMMAND})
    set_tests_properties(${name}_whole PROPERTIES LABELS "unit;thorough" TIMEOUT 1800
      SKIP_RETURN_CODE 77)
  endif()
endfunction()

# A test without MPI, for trees with LANEWISE_UNIT_TESTS: it would find the same in all. One that is
# EXHAUSTIVE has MANY_CASES, and runs in the optimised tree too. Exit status 77 is a skip; the
# reason is printed by the test.
function(lw_add_test name)
  cmake_parse_arguments(ARG "EXHAUSTIVE;MANY_CASES" "" "SOURCES;LINK" ${ARGN})
  if(NOT LANEWISE_TESTS)
    return()
  endif()
  if(NOT LANEWISE_UNIT_TESTS AND NOT (ARG_EXHAUSTIVE AND LANEWISE_MPI_FREE))
    return()
  endif()
  if(NOT ARG_SOURCES)
    set(ARG_SOURCES ${name}.cpp)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  add_dependencies(daily_programs ${name})
  lw_test_options(${name})
  set(cases "")
  if(ARG_EXHAUSTIVE OR ARG_MANY_CASES)
    set(cases MANY_CASES)
  endif()
  if(cases AND LANEWISE_SANITIZE)
    target_compile_options(${name} PRIVATE ${lw_busy})
    # What was precompiled without optimisation serves only what is compiled so.
    set_target_properties(${name} PROPERTIES DISABLE_PRECOMPILE_HEADERS ON)
  endif()
  target_link_libraries(${name} PRIVATE ${ARG_LINK} GTest::gtest GTest::gmock GTest::gtest_main)
  lw_declare_test(${name} ${cases} COMMAND ${name})
endfunction()

# Tests without MPI, each as by lw_add_test. Where the files of a part are compiled together, so are
# these, as one program: what they read and what they instantiate is mostly the same.
function(lw_add_tests program)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK;MANY_CASES" ${ARGN})
  if(NOT LANEWISE_TESTS OR NOT LANEWISE_UNIT_TESTS)
    return()
  endif()
  if(LANEWISE_UNITY)
    add_executable(${program} ${ARG_SOURCES} ${PROJECT_SOURCE_DIR}/src/testing/main.cpp)
    add_dependencies(daily_programs ${program})
    lw_test_options(${program})
    # What a name hides is a name of another file.
    target_compile_options(${program} PRIVATE -Wno-shadow)
    target_link_libraries(${program} PRIVATE ${ARG_LINK} GTest::gtest GTest::gmock)
  endif()
  foreach(source IN LISTS ARG_SOURCES)
    get_filename_component(name ${source} NAME_WE)
    if(LANEWISE_UNITY)
      get_filename_component(file ${source} NAME)
      set(cases "")
      if(name IN_LIST ARG_MANY_CASES)
        set(cases MANY_CASES)
      endif()
      lw_declare_test(${name} ${cases} COMMAND ${program} ${file})
    else()
      lw_add_test(${name} SOURCES ${source} LINK ${ARG_LINK})
    endif()
  endforeach()
endfunction()

# A program of Google Benchmark, for `make bench`.
function(lw_add_bench name)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  if(NOT LANEWISE_BENCHMARKS)
    return()
  endif()
  add_executable(${name} ${name}.cpp)
  lw_options(${name})
  target_link_libraries(${name} PRIVATE ${ARG_LINK} benchmark::benchmark_main)
endfunction()

# On how many ranks a test that declares `ranks` and `options` runs every day in this tree. Three
# have what more have: an odd number, a rank with two neighbours, a rank that is neither first nor
# last. Schedules for more are proved without an MPI. Under Open MPI it also runs on the fewest;
# under the sanitizers, only where our own code keeps what others point to (SANITIZED); in
# simulation, only where time is what is tested (SIMULATED), since processes prove the rest better.
function(lw_daily_ranks result ranks options)
  set(daily "")
  set(three 3)
  if(NOT 3 IN_LIST ranks)
    list(GET ranks -1 three)
  endif()
  if(LANEWISE_SANITIZE)
    if("SANITIZED" IN_LIST options)
      set(daily ${three})
    endif()
  elseif(LANEWISE_MPI_FAMILY STREQUAL "smpi")
    if("SIMULATED" IN_LIST options)
      set(daily ${ranks})
    endif()
  elseif(LANEWISE_MPI_FAMILY STREQUAL "openmpi")
    list(GET ranks 0 fewest)
    set(daily ${fewest} ${three})
  else()
    set(daily ${three})
  endif()
  set(${result} ${daily} PARENT_SCOPE)
endfunction()

# A test that runs on each of RANKS ranks, ascending, of the MPI of this build tree. One that is
# SLOW takes minutes or much memory.
function(lw_add_mpi_test name)
  cmake_parse_arguments(ARG "SANITIZED;SIMULATED;SLOW" "" "SOURCES;LINK;RANKS" ${ARGN})
  if(NOT LANEWISE_TESTS)
    return()
  endif()
  if(NOT ARG_SOURCES)
    set(ARG_SOURCES ${name}.cpp)
  endif()
  add_executable(${name} ${ARG_SOURCES} ${PROJECT_SOURCE_DIR}/src/testing/mpi_main.cpp)
  lw_test_options(${name})
  lw_show_main(${name})
  target_link_libraries(${name} PRIVATE ${ARG_LINK} GTest::gtest GTest::gmock lanewise::mpi lw_base)
  set(daily "")
  if(NOT ARG_SLOW)
    lw_daily_ranks(daily "${ARG_RANKS}" "${ARGN}")
  endif()
  if(daily AND NOT LANEWISE_RANKS_APART)
    add_dependencies(daily_programs ${name})
  else()
    set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON)
  endif()
  foreach(ranks IN LISTS ARG_RANKS)
    set(often thorough)
    if(ARG_SLOW)
      set(often slow)
    elseif(ranks IN_LIST daily)
      set(often daily)
    endif()
    lw_add_mpi_run(${name}_${ranks} ${often} ${ranks} $<TARGET_FILE:${name}>)
  endforeach()
endfunction()

# A run of a command on `ranks` ranks as a test, which is `often` daily, thorough or slow.
function(lw_add_mpi_run name often ranks)
  if(NOT LANEWISE_TESTS)
    return()
  endif()
  if(LANEWISE_MPI_FAMILY STREQUAL "smpi")
    set(launch ${LANEWISE_SMPIRUN} -np ${ranks}
      -platform ${PROJECT_SOURCE_DIR}/src/testing/switched.xml
      -hostfile ${PROJECT_SOURCE_DIR}/src/testing/switched.hosts
      --cfg=smpi/simulate-computation:no --log=root.thresh:critical)
  elseif(LANEWISE_MPI_FAMILY STREQUAL "openmpi")
    set(launch ${MPIEXEC_EXECUTABLE} --oversubscribe --bind-to none -n ${ranks})
  else()
    set(launch ${MPIEXEC_EXECUTABLE} -n ${ranks})
  endif()
  # Ranks that wait give way, since other tests and other programs want the processors too.
  # Leaks of the MPI are told by the library that allocates. To unwind the stack in full at each
  # allocation would find more of the callers, and make these tests three times as slow.
  # LeakSanitizer of LLVM 14 takes what lies before the thread-local memory of a library that is
  # loaded late, such as a component of the MPI, for a description of it, and may crash there.
  set(environment OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    OMPI_MCA_mpi_yield_when_idle=1
    LSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/src/testing/leaks.supp:print_suppressions=0
    ASAN_OPTIONS=detect_odr_violation=0:intercept_tls_get_addr=0)
  if(LANEWISE_MPI_FAMILY STREQUAL "mpich" AND NOT LANEWISE_SANITIZE)
    list(APPEND environment LD_PRELOAD=$<TARGET_FILE:lw_give_way>)
  endif()
  # All cases run every day without the sanitizers, in the tree of the same MPI.
  if(LANEWISE_SANITIZE AND often STREQUAL "daily")
    list(APPEND environment LANEWISE_FEW_CASES=1)
  endif()
  # An MPI whose ranks do not find each other has none of its own that could be tested.
  if(LANEWISE_RANKS_APART)
    add_test(NAME ${name} COMMAND ${CMAKE_COMMAND} -E echo
      "[  SKIPPED ] MPI has 1 rank where ${MPIEXEC_EXECUTABLE} promises ${ranks}: "
      "it starts processes that do not find each other")
  else()
    add_test(NAME ${name} COMMAND ${launch} ${ARGN})
  endif()
  set(limit_s ${lw_test_limit_s})
  if(often STREQUAL "slow")
    set(limit_s 600)
  endif()
  # What takes longest begins first, in a tree that has no times yet: most tests without ranks are
  # shorter.
  set_tests_properties(${name} PROPERTIES LABELS "mpi;${often}" TIMEOUT ${limit_s} PROCESSORS 2
    COST 2 SKIP_RETURN_CODE 77 SKIP_REGULAR_EXPRESSION "MPI has 1 rank where [^ ]+ promises"
    ENVIRONMENT "${environment}")
endfunction()
