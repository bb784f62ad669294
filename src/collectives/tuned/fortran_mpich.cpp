// SPDX-License-Identifier: BSD-3-Clause
//
// Under MPICH what Fortran calls goes through the functions of C, with these exceptions among those
// that are intercepted: of `use mpi_f08`, the barriers, and the functions that initialize MPI and
// sessions, start requests, wait, make communicators, and free operators and datatypes. All others
// are defined here only to know where the program called them from: mpif.h and `use mpi` call
// mpi_scatter_ (or another spelling, by compiler), `use mpi_f08` calls mpi_scatter_f08ts_. They
// pass every argument by reference, the error code last.

#include <dlfcn.h>
#include <mpi.h>

#include <cstdlib>

#include "collectives/tuned/call_log.hpp"
#include "collectives/tuned/environment.hpp"
#include "collectives/tuned/fortran_completion.hpp"
#include "collectives/tuned/fortran_handles.hpp"
#include "collectives/tuned/fortran_sessions.hpp"
#include "collectives/tuned/functions.hpp"
#include "collectives/tuned/profile.hpp"
#include "collectives/tuned/roll_call.hpp"

namespace lanewise::tuned {
namespace {

/* While it lives, calls of this thread come from `site`. */
class CalledFrom {
  public:
    explicit CalledFrom(const void *site) { outer_site = site; }
    ~CalledFrom() { outer_site = nullptr; }
    CalledFrom(const CalledFrom&) = delete;
    CalledFrom& operator=(const CalledFrom&) = delete;
};

/* The next definition of `name`. A program that calls it has it, so nothing works without it. */
void *next_fortran(const char *name) {
    if (void *symbol = dlsym(RTLD_NEXT, name)) return symbol;
    void *handle = dlopen("libmpichfort.so.12", RTLD_NOLOAD | RTLD_LAZY);
    void *symbol = handle ? dlsym(handle, name) : nullptr;
    if (handle) dlclose(handle);
    if (symbol) return symbol;
    say(std::string(name) + " of MPICH was not found; run the program without lanewise");
    std::abort();
}

}  // namespace
}  // namespace lanewise::tuned

extern "C" LANEWISE_EXPORT void mpi_barrier_f08_(const MPI_Fint *comm, MPI_Fint *error) {
    const lanewise::tuned::CalledFrom here(__builtin_return_address(0));
    const int code = MPI_Barrier(PMPI_Comm_f2c(*comm));
    if (error) *error = code;
}

extern "C" LANEWISE_EXPORT void mpi_ibarrier_f08_(const MPI_Fint *comm, MPI_Fint *request,
                                                  MPI_Fint *error) {
    const lanewise::tuned::CalledFrom here(__builtin_return_address(0));
    MPI_Request made = MPI_REQUEST_NULL;
    const int code = MPI_Ibarrier(PMPI_Comm_f2c(*comm), &made);
    *request = PMPI_Request_c2f(made);
    if (error) *error = code;
}

#ifdef LANEWISE_HAS_PERSISTENT
extern "C" LANEWISE_EXPORT void mpi_barrier_init_f08_(const MPI_Fint *comm, const MPI_Fint *info,
                                                      MPI_Fint *request, MPI_Fint *error) {
    MPI_Request made = MPI_REQUEST_NULL;
    const int code = MPI_Barrier_init(PMPI_Comm_f2c(*comm), PMPI_Info_f2c(*info), &made);
    *request = PMPI_Request_c2f(made);
    if (error) *error = code;
}
#endif

#define LANEWISE_PARAMETER(name) void *name  // NOLINT(bugprone-macro-parentheses)
#define LANEWISE_ADDRESS(name) void *
#define LANEWISE_ARGUMENT(name) name

#define LANEWISE_DEFINE(symbol, ...)                                                         \
    extern "C" LANEWISE_EXPORT void symbol(LANEWISE_EACH(LANEWISE_PARAMETER, __VA_ARGS__),   \
                                           MPI_Fint *error) {                                \
        using namespace lanewise::tuned;                                                     \
        using Function = void (*)(LANEWISE_EACH(LANEWISE_ADDRESS, __VA_ARGS__), MPI_Fint *); \
        static const auto own = reinterpret_cast<Function>(next_fortran(#symbol));           \
        const CalledFrom here(__builtin_return_address(0));                                  \
        own(LANEWISE_EACH(LANEWISE_ARGUMENT, __VA_ARGS__), error);                           \
    }

#define LANEWISE_DEFINE_NONBLOCKING(symbol, ...)                                            \
    extern "C" LANEWISE_EXPORT void symbol(LANEWISE_EACH(LANEWISE_PARAMETER, __VA_ARGS__),  \
                                           MPI_Fint *request, MPI_Fint *error) {            \
        using namespace lanewise::tuned;                                                    \
        using Function =                                                                    \
            void (*)(LANEWISE_EACH(LANEWISE_ADDRESS, __VA_ARGS__), MPI_Fint *, MPI_Fint *); \
        static const auto own = reinterpret_cast<Function>(next_fortran(#symbol));          \
        const CalledFrom here(__builtin_return_address(0));                                 \
        own(LANEWISE_EACH(LANEWISE_ARGUMENT, __VA_ARGS__), request, error);                 \
    }

#define LANEWISE_SPELLINGS(name, lower, upper, followed, ...)  \
    LANEWISE_DEFINE(mpi_##lower, __VA_ARGS__)                  \
    LANEWISE_DEFINE(mpi_##lower##_, __VA_ARGS__)               \
    LANEWISE_DEFINE(mpi_##lower##__, __VA_ARGS__)              \
    LANEWISE_DEFINE(MPI_##upper, __VA_ARGS__)                  \
    LANEWISE_DEFINE_NONBLOCKING(mpi_i##lower, __VA_ARGS__)     \
    LANEWISE_DEFINE_NONBLOCKING(mpi_i##lower##_, __VA_ARGS__)  \
    LANEWISE_DEFINE_NONBLOCKING(mpi_i##lower##__, __VA_ARGS__) \
    LANEWISE_DEFINE_NONBLOCKING(MPI_I##upper, __VA_ARGS__)

#define LANEWISE_MODERN(name, lower, upper, followed, ...) \
    LANEWISE_DEFINE(mpi_##lower##_f08ts_, __VA_ARGS__)     \
    LANEWISE_DEFINE_NONBLOCKING(mpi_i##lower##_f08ts_, __VA_ARGS__)

LANEWISE_FUNCTIONS(LANEWISE_SPELLINGS)
LANEWISE_COUNTED_FUNCTIONS(LANEWISE_MODERN)

// Those of `use mpi_f08` that wait or test do not go through the functions of C.
#define LANEWISE_MODERN_COMPLETION(lower, upper, ...) \
    LANEWISE_DEFINE_COMPLETION(mpi_##lower##_f08_, lower##_completes, __VA_ARGS__)

LANEWISE_COMPLETIONS(LANEWISE_MODERN_COMPLETION)

#define LANEWISE_MODERN_REQUESTS(lower, upper) LANEWISE_DEFINE_##lower(mpi_##lower##_f08_)

LANEWISE_REQUESTS(LANEWISE_MODERN_REQUESTS)

#define LANEWISE_MODERN_STATUSES(lower, upper, ...) \
    LANEWISE_DEFINE_STATUSES(mpi_##lower##_f08_, __VA_ARGS__)

LANEWISE_STATUSES(LANEWISE_MODERN_STATUSES)

#define LANEWISE_MODERN_MAKING(lower, upper, ...) \
    LANEWISE_DEFINE_MAKING(mpi_##lower##_f08_, __VA_ARGS__)

LANEWISE_MAKING(LANEWISE_MODERN_MAKING)

#define LANEWISE_MODERN_DUPLICATING(lower, upper, ...) \
    LANEWISE_DEFINE_DUPLICATING(mpi_##lower##_f08_, __VA_ARGS__)

LANEWISE_DUPLICATING(LANEWISE_MODERN_DUPLICATING)

#define LANEWISE_MODERN_FREEING(lower, upper, ...) \
    LANEWISE_DEFINE_FREEING(mpi_##lower##_f08_, __VA_ARGS__)

LANEWISE_FREEING(LANEWISE_MODERN_FREEING)

extern "C" LANEWISE_EXPORT void mpi_init_f08_(MPI_Fint *error) {
    using namespace lanewise::tuned;
    using Function = void (*)(MPI_Fint *);
    static const auto own = reinterpret_cast<Function>(next_fortran("mpi_init_f08_"));
    MPI_Fint code = MPI_SUCCESS;
    report_presence();
    own(&code);
    if (code == MPI_SUCCESS) begin_with_world();
    if (error) *error = code;
}

extern "C" LANEWISE_EXPORT void mpi_init_thread_f08_(MPI_Fint *required, MPI_Fint *provided,
                                                     MPI_Fint *error) {
    using namespace lanewise::tuned;
    using Function = void (*)(MPI_Fint *, MPI_Fint *, MPI_Fint *);
    static const auto own = reinterpret_cast<Function>(next_fortran("mpi_init_thread_f08_"));
    MPI_Fint code = MPI_SUCCESS;
    report_presence();
    own(required, provided, &code);
    if (code == MPI_SUCCESS) begin_with_world();
    if (error) *error = code;
}

#ifdef LANEWISE_HAS_SESSIONS
LANEWISE_DEFINE_SESSION_INIT(mpi_session_init_f08_)
LANEWISE_DEFINE_MAKING_FROM_GROUP(mpi_comm_create_from_group_f08_)
#endif
