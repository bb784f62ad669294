// SPDX-License-Identifier: BSD-3-Clause
//
// The functions of Fortran that start requests, wait for them, test them and free them: a table of
// which argument is what, and what was found complete. All of them pass every argument by
// reference, the error code last. Their indices begin at 1.

#pragma once

#include <mpi.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <span>
#include <vector>

#include "collectives/tuned/functions.hpp"
#include "collectives/tuned/intercept.hpp"
#include "collectives/tuned/pending_calls.hpp"
#include "collectives/tuned/persistent.hpp"

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

inline void note_completion(CompletionCall& call, const FortranCompletion& how,
                            FortranArguments arguments) {
    if (how.flag >= 0 && *numbers(arguments, how.flag) == 0) return;
    if (how.done_count >= 0) {
        call.some_done(*numbers(arguments, how.done_count), numbers(arguments, how.done_count + 1),
                       1);
    } else if (how.index >= 0) {
        call.done(*numbers(arguments, how.index) - 1);
    } else {
        call.all_done();
    }
}

/* Whether what a program waits for or tests may be a recorded call, or a start of ours. */
inline bool watches_requests() {
    return started_requests.load(std::memory_order_relaxed) > 0 ||
           (recording && known_requests.load(std::memory_order_relaxed) > 0);
}

/* `go` makes the call and returns its error code. */
template <typename Go>
int noted_completion(const FortranCompletion& how, FortranArguments arguments, const Go& go) {
    const int count = how.count < 0 ? 1 : *numbers(arguments, how.count);
    auto *requests = static_cast<MPI_Fint *>(arguments[static_cast<std::size_t>(how.requests)]);
    CompletionCall call(count, [&](int i) { return PMPI_Request_f2c(requests[i]); });
    int code = MPI_SUCCESS;
    {
        const ScopedSubstitution<RequestsOfFortran> here(count, requests);
        code = go();
    }
    if (code == MPI_SUCCESS) note_completion(call, how, arguments);
    return code;
}

/* `go(count, first)` starts requests and returns its error code. */
template <typename Go>
int started(int count, MPI_Fint *requests, const void *site, const Go& go) {
    const auto entry_ns = monotonic_ns();
    const int code = start_requests<RequestsOfFortran>(count, requests, go);
    if (code != MPI_SUCCESS || !recording) return code;
    std::vector<MPI_Request> handles;
    for (int i = 0; i < count; ++i) handles.push_back(PMPI_Request_f2c(requests[i]));
    begin_persistent(handles, site, entry_ns, monotonic_ns());
    return code;
}

/* `ask(requests)` asks about them and leaves them as they are, so nothing is written to the
   program's. */
template <typename Ask>
void ask_about(const void *count, void *requests, const Ask& ask) {
    go_on_when_asked();
    const int all = *static_cast<const MPI_Fint *>(count);
    const auto *first = static_cast<const MPI_Fint *>(requests);
    if (started_requests.load(std::memory_order_relaxed) == 0 || all <= 0) return ask(requests);
    std::vector<MPI_Fint> copy(first, first + all);
    const ScopedSubstitution<RequestsOfFortran> here(all, copy.data());
    ask(copy.data());
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
        if (!watches_requests()) {                                                             \
            return own(LANEWISE_EACH(LANEWISE_ARGUMENT, __VA_ARGS__), error);                  \
        }                                                                                      \
        MPI_Fint code = MPI_SUCCESS;                                                           \
        noted_completion(how, std::array{LANEWISE_EACH(LANEWISE_ARGUMENT, __VA_ARGS__)}, [&] { \
            own(LANEWISE_EACH(LANEWISE_ARGUMENT, __VA_ARGS__), &code);                         \
            return int{code};                                                                  \
        });                                                                                    \
        if (error) *error = code;                                                              \
    }

/* The name in small and in capital letters, of the other functions for requests. */
#define LANEWISE_REQUESTS(X)      \
    X(start, START)               \
    X(startall, STARTALL)         \
    X(cancel, CANCEL)             \
    X(request_free, REQUEST_FREE) \
    X(request_get_status, REQUEST_GET_STATUS)

#define LANEWISE_DEFINE_start(symbol)                                              \
    extern "C" LANEWISE_EXPORT void symbol(MPI_Fint *request, MPI_Fint *error) {   \
        using namespace lanewise::tuned;                                           \
        using Function = void (*)(MPI_Fint *, MPI_Fint *);                         \
        static const auto own = reinterpret_cast<Function>(next_fortran(#symbol)); \
        const auto go = [](int, MPI_Fint *one) {                                   \
            MPI_Fint code = MPI_SUCCESS;                                           \
            own(one, &code);                                                       \
            return int{code};                                                      \
        };                                                                         \
        const int code = started(1, request, __builtin_return_address(0), go);     \
        if (error) *error = code;                                                  \
    }

#define LANEWISE_DEFINE_startall(symbol)                                                           \
    extern "C" LANEWISE_EXPORT void symbol(MPI_Fint *count, MPI_Fint *requests, MPI_Fint *error) { \
        using namespace lanewise::tuned;                                                           \
        using Function = void (*)(MPI_Fint *, MPI_Fint *, MPI_Fint *);                             \
        static const auto own = reinterpret_cast<Function>(next_fortran(#symbol));                 \
        const auto go = [](MPI_Fint some, MPI_Fint *first) {                                       \
            MPI_Fint code = MPI_SUCCESS;                                                           \
            own(&some, first, &code);                                                              \
            return int{code};                                                                      \
        };                                                                                         \
        const int code = started(*count, requests, __builtin_return_address(0), go);               \
        if (error) *error = code;                                                                  \
    }

#define LANEWISE_DEFINE_cancel(symbol)                                             \
    extern "C" LANEWISE_EXPORT void symbol(MPI_Fint *request, MPI_Fint *error) {   \
        using namespace lanewise::tuned;                                           \
        using Function = void (*)(MPI_Fint *, MPI_Fint *);                         \
        static const auto own = reinterpret_cast<Function>(next_fortran(#symbol)); \
        const ScopedSubstitution<RequestsOfFortran> here(1, request);              \
        own(request, error);                                                       \
    }

#define LANEWISE_DEFINE_request_free(symbol)                                       \
    extern "C" LANEWISE_EXPORT void symbol(MPI_Fint *request, MPI_Fint *error) {   \
        using namespace lanewise::tuned;                                           \
        using Function = void (*)(MPI_Fint *, MPI_Fint *);                         \
        static const auto own = reinterpret_cast<Function>(next_fortran(#symbol)); \
        const auto freed = PMPI_Request_f2c(*request);                             \
        if (recording) forget_request(freed);                                      \
        if (!free_here(freed)) return own(request, error);                         \
        *request = PMPI_Request_c2f(MPI_REQUEST_NULL);                             \
        if (error) *error = MPI_SUCCESS;                                           \
    }

#define LANEWISE_DEFINE_request_get_status(symbol)                                      \
    extern "C" LANEWISE_EXPORT void symbol(MPI_Fint *request, void *flag, void *status, \
                                           MPI_Fint *error) {                           \
        using namespace lanewise::tuned;                                                \
        using Function = void (*)(MPI_Fint *, void *, void *, MPI_Fint *);              \
        static const auto own = reinterpret_cast<Function>(next_fortran(#symbol));      \
        go_on_when_asked();                                                             \
        MPI_Fint asked_about = *request;                                                \
        const ScopedSubstitution<RequestsOfFortran> here(1, &asked_about);              \
        own(&asked_about, flag, status, error);                                         \
    }

/* The name in small and in capital letters, of the functions that ask about several requests, and
   the arguments between these and the error code. */
#define LANEWISE_STATUSES(X)                                               \
    X(request_get_status_all, REQUEST_GET_STATUS_ALL, flag, statuses)      \
    X(request_get_status_any, REQUEST_GET_STATUS_ANY, index, flag, status) \
    X(request_get_status_some, REQUEST_GET_STATUS_SOME, done_count, indices, statuses)

#define LANEWISE_DEFINE_STATUSES(symbol, ...)                                                   \
    extern "C" LANEWISE_EXPORT void symbol(void *count, void *requests,                         \
                                           LANEWISE_EACH(LANEWISE_PARAMETER, __VA_ARGS__),      \
                                           MPI_Fint *error) {                                   \
        using namespace lanewise::tuned;                                                        \
        using Function =                                                                        \
            void (*)(void *, void *, LANEWISE_EACH(LANEWISE_ADDRESS, __VA_ARGS__), MPI_Fint *); \
        static const auto own = reinterpret_cast<Function>(next_fortran(#symbol));              \
        ask_about(count, requests, [&](void *first) {                                           \
            own(count, first, LANEWISE_EACH(LANEWISE_ARGUMENT, __VA_ARGS__), error);            \
        });                                                                                     \
    }
