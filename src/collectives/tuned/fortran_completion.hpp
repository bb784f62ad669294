// SPDX-License-Identifier: BSD-3-Clause
//
// The functions of Fortran that wait for requests or test them: a table of which argument is what,
// and what was found complete. All of them pass every argument by reference, the error code last.
// Their indices begin at 1.

#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <span>

#include "collectives/tuned/functions.hpp"
#include "collectives/tuned/pending_calls.hpp"

namespace lanewise::tuned {

/* Places of arguments, the first being 0; -1: there is none. Without a count there is one request.
   Without a flag all are complete, unless there is an index, or a count of indices. */
struct FortranCompletion {
    int count;
    int requests;
    int flag;
    int index;
    int done_count; /* the indices follow it */
};

using FortranArguments = std::span<void *const>;

inline const MPI_Fint *numbers(FortranArguments arguments, int place) {
    return static_cast<const MPI_Fint *>(arguments[static_cast<std::size_t>(place)]);
}

inline void note_completion(Asking& about, const FortranCompletion& how,
                            FortranArguments arguments) {
    if (how.flag >= 0 && *numbers(arguments, how.flag) == 0) return;
    if (how.done_count >= 0) {
        about.some_done(*numbers(arguments, how.done_count), numbers(arguments, how.done_count + 1),
                        1);
    } else if (how.index >= 0) {
        about.done(*numbers(arguments, how.index) - 1);
    } else {
        about.all_done();
    }
}

/* `go` makes the call and returns its error code. */
template <typename Go>
int noted_completion(const FortranCompletion& how, FortranArguments arguments, const Go& go) {
    const int count = how.count < 0 ? 1 : *numbers(arguments, how.count);
    const auto *requests = numbers(arguments, how.requests);
    Asking about(count, [&](int i) { return PMPI_Request_f2c(requests[i]); });
    const int code = go();
    if (code == MPI_SUCCESS) note_completion(about, how, arguments);
    return code;
}

inline constexpr FortranCompletion wait_completes{-1, 0, -1, -1, -1};
inline constexpr FortranCompletion test_completes{-1, 0, 1, -1, -1};
inline constexpr FortranCompletion waitall_completes{0, 1, -1, -1, -1};
inline constexpr FortranCompletion testall_completes{0, 1, 2, -1, -1};
inline constexpr FortranCompletion waitany_completes{0, 1, -1, 2, -1};
inline constexpr FortranCompletion testany_completes{0, 1, 3, 2, -1};
inline constexpr FortranCompletion waitsome_completes{0, 1, -1, -1, 2};
inline constexpr FortranCompletion testsome_completes{0, 1, -1, -1, 2};

}  // namespace lanewise::tuned

/* The name in small and in capital letters, and the arguments before the error code. */
#define LANEWISE_COMPLETIONS(X)                                           \
    X(wait, WAIT, request, status)                                        \
    X(test, TEST, request, flag, status)                                  \
    X(waitall, WAITALL, count, requests, statuses)                        \
    X(testall, TESTALL, count, requests, flag, statuses)                  \
    X(waitany, WAITANY, count, requests, index, status)                   \
    X(testany, TESTANY, count, requests, index, flag, status)             \
    X(waitsome, WAITSOME, count, requests, done_count, indices, statuses) \
    X(testsome, TESTSOME, count, requests, done_count, indices, statuses)

/* Defines `symbol`. The including file says where the next definition is, by `next_fortran`, and
   has the macros for parameters of any type. */
#define LANEWISE_DEFINE_COMPLETION(symbol, how, ...)                                           \
    extern "C" LANEWISE_EXPORT void symbol(LANEWISE_EACH(LANEWISE_PARAMETER, __VA_ARGS__),     \
                                           MPI_Fint *error) {                                  \
        using namespace lanewise::tuned;                                                       \
        using Function = void (*)(LANEWISE_EACH(LANEWISE_ADDRESS, __VA_ARGS__), MPI_Fint *);   \
        static const auto own = reinterpret_cast<Function>(next_fortran(#symbol));             \
        if (!recording || known_requests.load(std::memory_order_relaxed) == 0) {               \
            return own(LANEWISE_EACH(LANEWISE_ARGUMENT, __VA_ARGS__), error);                  \
        }                                                                                      \
        MPI_Fint code = MPI_SUCCESS;                                                           \
        noted_completion(how, std::array{LANEWISE_EACH(LANEWISE_ARGUMENT, __VA_ARGS__)}, [&] { \
            own(LANEWISE_EACH(LANEWISE_ARGUMENT, __VA_ARGS__), &code);                         \
            return int{code};                                                                  \
        });                                                                                    \
        if (error) *error = code;                                                              \
    }
