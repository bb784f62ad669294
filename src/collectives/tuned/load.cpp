// SPDX-License-Identifier: BSD-3-Clause
//
// Load: what happens before the program's main. No MPI function that needs MPI_Init is called. A
// program that is built for another MPI is ended with a message, because the functions defined here
// have other argument types there.

#include <dlfcn.h>
#include <mpi.h>
#include <unistd.h>

#include <string_view>

#include "base/launcher.hpp"
#include "collectives/execute/held_handles.hpp"
#include "collectives/execute/prepare.hpp"
#include "collectives/tuned/environment.hpp"
#include "collectives/tuned/intercept.hpp"
#include "collectives/tuned/next_mpi.hpp"

namespace lanewise::tuned {

constinit NextMpi next_mpi;

namespace {

constexpr int usage_error = 2;

// A launcher kills all processes once one has failed. The others therefore leave the first one the
// time to say why; its end is theirs.
void end(const std::string& sentence) {
    constexpr unsigned wait_max_s = 5;
    if (is_first_process()) {
        say(sentence);
    } else {
        sleep(wait_max_s);
    }
    _exit(usage_error);
}

/* The MPI that the program will meet; not the one this was linked with, if both are loaded. */
bool is_own_mpi() {
    // Not MPI_MAX_LIBRARY_VERSION_STRING: another MPI has another.
    char text[16384] = "";
    int length = 0;
    PMPI_Get_library_version(text, &length);
    const bool open_mpi = std::string_view(text).find("Open MPI") != std::string_view::npos;
    return open_mpi == (std::string_view(LANEWISE_MPI_FAMILY) == "openmpi");
}

template <typename Function>
void find(Function& function, const char *name) {
    if (void *symbol = dlsym(RTLD_NEXT, name)) function = reinterpret_cast<Function>(symbol);
}

/* Finds the functions of tools that were loaded after this library. */
void find_next() {
#define LANEWISE_FIND(name, lower, ...) \
    find(next_mpi.name, "MPI_" #name);  \
    find(next_mpi.I##lower, "MPI_I" #lower);
    LANEWISE_FUNCTIONS(LANEWISE_FIND)
#undef LANEWISE_FIND
#ifdef LANEWISE_HAS_LARGE_COUNTS
#define LANEWISE_FIND(name, lower, ...)         \
    find(next_mpi.name##_c, "MPI_" #name "_c"); \
    find(next_mpi.I##lower##_c, "MPI_I" #lower "_c");
    LANEWISE_COUNTED_FUNCTIONS(LANEWISE_FIND)
#undef LANEWISE_FIND
#endif
}

/* Without strictness the file is read at the first call. */
bool ends_program() {
    if (environment().strictness == Strictness::none) return false;
    const auto& read = rules();
    return environment().strictness == Strictness::file ? !read.usable : !read.complaint.empty();
}

__attribute__((constructor)) void load() {
    const bool ruled = !environment().tuning_path.empty();
    const bool same_bits = environment().same_bits != SameBits::unasked;
    const bool recorded =
        !environment().profile_path.empty() || !environment().results_folder.empty();
    const bool switched = environment().switched;
    const bool faulty = !environment().fault.empty();  // which the first call tells
    if (!ruled && !same_bits && !switched && !recorded && !faulty) return;
    if (!is_own_mpi()) {
        end("liblanewise_tuned.so for " LANEWISE_MPI_FAMILY
            " was loaded into a program of another MPI; lanewise run loads the right one");
    }
    find_next();
    const bool strict = environment().strictness != Strictness::none;
    if (!ruled && strict && faulty) end(environment().fault);
    if (!ruled && !same_bits && !switched && !faulty) return;
    if (ruled && ends_program()) end(rules().complaint);
    collectives::set_scratch_limit(environment().scratch_limit_bytes);
    reporting = !environment().report_path.empty();
    collectives::frees_are_intercepted = true;
    active = true;
}

}  // namespace
}  // namespace lanewise::tuned
