// SPDX-License-Identifier: BSD-3-Clause
//
// The functions that a Fortran program calls. Under Open MPI they do not go
// through those of C, so they are intercepted as well: mpif.h and `use mpi` call
// mpi_scatter_ (or another spelling, by compiler), `use mpi_f08` calls
// mpi_scatter_f08_. All of them pass every argument by reference in the order of C, and the error
// code last. A call that is forwarded goes untouched to the MPI's own function of the same name;
// only a call that may be executed is translated.

#include <dlfcn.h>
#include <mpi.h>

#include <cstdlib>
#include <type_traits>

#include "collectives/tuned/call_log.hpp"
#include "collectives/tuned/environment.hpp"
#include "collectives/tuned/fortran_completion.hpp"
#include "collectives/tuned/fortran_handles.hpp"
#include "collectives/tuned/fortran_sessions.hpp"
#include "collectives/tuned/functions.hpp"
#include "collectives/tuned/intercept.hpp"
#include "collectives/tuned/pending_calls.hpp"
#include "collectives/tuned/profile.hpp"
#include "collectives/tuned/roll_call.hpp"

namespace lanewise::tuned {
namespace {

/* A symbol of the MPI's Fortran libraries, wherever they were loaded; null: nowhere. */
void *fortran_symbol(void *scope, const char *name) {
    if (void *symbol = dlsym(scope, name)) return symbol;
    for (const char *library : {"libmpi_mpifh.so.40", "libmpi_usempif08.so.40"}) {
        void *handle = dlopen(library, RTLD_NOLOAD | RTLD_LAZY);
        void *symbol = handle ? dlsym(handle, name) : nullptr;
        if (handle) dlclose(handle);
        if (symbol) return symbol;
    }
    return nullptr;
}

/* The next definition of `name`. A program that calls it has it, so nothing works without it. */
void *next_fortran(const char *name) {
    if (void *symbol = fortran_symbol(RTLD_NEXT, name)) return symbol;
    say(std::string(name) + " of Open MPI was not found; run the program without lanewise");
    std::abort();
}

/* Constants that Fortran passes by their own addresses. */
struct Sentinels {
    const void *in_place = fortran_symbol(RTLD_DEFAULT, "mpi_fortran_in_place_");
    const void *bottom = fortran_symbol(RTLD_DEFAULT, "mpi_fortran_bottom_");

    bool known() const { return in_place && bottom; }
};

const Sentinels& sentinels() {
    static const Sentinels instance;
    return instance;
}

void *buffer(void *address) {
    if (address == sentinels().in_place) return MPI_IN_PLACE;
    return address == sentinels().bottom ? MPI_BOTTOM : address;
}

MPI_Fint number(const void *address) {
    return *static_cast<const MPI_Fint *>(address);
}

/* Sets a field of a call from an argument, as its type demands. */
void set(const void *& field, void *argument) {
    field = buffer(argument);
}
void set(void *& field, void *argument) {
    field = buffer(argument);
}
void set(MPI_Count& field, void *argument) {
    field = number(argument);
}
void set(int& field, void *argument) {
    field = number(argument);
}
void set(collectives::Numbers& field, void *argument) {
    field = static_cast<const int *>(argument);
}
void set(collectives::Types& field, void *argument) {
    field = collectives::Types::of_fortran(static_cast<const MPI_Fint *>(argument));
}
void set(MPI_Datatype& field, void *argument) {
    field = PMPI_Type_f2c(number(argument));
}
void set(MPI_Op& field, void *argument) {
    field = PMPI_Op_f2c(number(argument));
}
void set(MPI_Comm& field, void *argument) {
    field = PMPI_Comm_f2c(number(argument));
}

/* One collective has the places of its blocks as integers of MPI_ADDRESS_KIND. */
void take_far_places(Call& call) {
    if (call.collective != Collective::neighbor_alltoallw) return;
    call.displacements = call.displacements.widened();
    call.send_displacements = call.send_displacements.widened();
}

bool is_forwarded(Operation operation, const void *comm) {
    return !active || forwards_all(operation, PMPI_Comm_f2c(number(comm))) || !sentinels().known();
}

static_assert(std::is_same_v<MPI_Fint, int>, "counts are handed on as they are");

}  // namespace
}  // namespace lanewise::tuned

#define LANEWISE_PARAMETER(name) void *name  // NOLINT(bugprone-macro-parentheses)
#define LANEWISE_ADDRESS(name) void *
#define LANEWISE_ARGUMENT(name) name
#define LANEWISE_TO_CALL(name) set(call.name, name)
#define LANEWISE_FILL(call, ...)                  \
    LANEWISE_EACH(LANEWISE_TO_CALL, __VA_ARGS__); \
    take_far_places(call)

// Each function has five spellings. What may be executed is translated in one place for all of
// them.

#define LANEWISE_TRANSLATE(lower, followed, ...)                                            \
    namespace lanewise::tuned {                                                             \
    using Own_##lower = void (*)(LANEWISE_EACH(LANEWISE_ADDRESS, __VA_ARGS__), MPI_Fint *); \
    [[gnu::noinline]] static void translate_##lower(Own_##lower own, const void *site,      \
                                                    LANEWISE_EACH(LANEWISE_PARAMETER,       \
                                                                  __VA_ARGS__),             \
                                                    MPI_Fint *error) {                      \
        Call call;                                                                          \
        call.collective = Collective::followed;                                             \
        LANEWISE_FILL(call, __VA_ARGS__);                                                   \
        const auto forward = [&] {                                                          \
            MPI_Fint forwarded_code = MPI_SUCCESS;                                          \
            own(LANEWISE_EACH(LANEWISE_ARGUMENT, __VA_ARGS__), &forwarded_code);            \
            return int{forwarded_code};                                                     \
        };                                                                                  \
        const auto go = [&] {                                                               \
            return is_forwarded(Collective::followed, comm) ? forward()                     \
                                                            : intercept(call, forward);     \
        };                                                                                  \
        const int code = recording ? recorded(call, site, go) : go();                       \
        if (error) *error = code;                                                           \
    }                                                                                       \
    }

#define LANEWISE_DEFINE(symbol, lower, followed, ...)                                      \
    extern "C" LANEWISE_EXPORT void symbol(LANEWISE_EACH(LANEWISE_PARAMETER, __VA_ARGS__), \
                                           MPI_Fint *error) {                              \
        using namespace lanewise::tuned;                                                   \
        static const auto own = reinterpret_cast<Own_##lower>(next_fortran(#symbol));      \
        const bool is_recorded = recording && sentinels().known();                         \
        if (!is_recorded && is_forwarded(Collective::followed, comm)) {                    \
            return own(LANEWISE_EACH(LANEWISE_ARGUMENT, __VA_ARGS__), error);              \
        }                                                                                  \
        translate_##lower(own, __builtin_return_address(0),                                \
                          LANEWISE_EACH(LANEWISE_ARGUMENT, __VA_ARGS__), error);           \
    }

#define LANEWISE_TRANSLATE_NONBLOCKING(lower, followed, ...)                                \
    namespace lanewise::tuned {                                                             \
    using OwnI_##lower = void (*)(LANEWISE_EACH(LANEWISE_ADDRESS, __VA_ARGS__), MPI_Fint *, \
                                  MPI_Fint *);                                              \
    [[gnu::noinline]] static void translate_i##lower(OwnI_##lower own, const void *site,    \
                                                     LANEWISE_EACH(LANEWISE_PARAMETER,      \
                                                                   __VA_ARGS__),            \
                                                     MPI_Fint *request, MPI_Fint *error) {  \
        Call call;                                                                          \
        call.collective = Collective::followed;                                             \
        LANEWISE_FILL(call, __VA_ARGS__);                                                   \
        const auto forward = [&] {                                                          \
            MPI_Fint forwarded_code = MPI_SUCCESS;                                          \
            own(LANEWISE_EACH(LANEWISE_ARGUMENT, __VA_ARGS__), request, &forwarded_code);   \
            return int{forwarded_code};                                                     \
        };                                                                                  \
        const auto go = [&] {                                                               \
            const Operation operation(Collective::followed, Calling::nonblocking);          \
            if (is_forwarded(operation, comm)) return forward();                            \
            MPI_Request made = MPI_REQUEST_NULL;                                            \
            const int started = intercept(call, &made, forward);                            \
            if (made != MPI_REQUEST_NULL) *request = PMPI_Request_c2f(made);                \
            return started;                                                                 \
        };                                                                                  \
        const auto made = [&] { return PMPI_Request_f2c(*request); };                       \
        const int code = recording ? recorded_start(call, site, go, made) : go();           \
        if (error) *error = code;                                                           \
    }                                                                                       \
    }

#define LANEWISE_DEFINE_NONBLOCKING(symbol, lower, followed, ...)                          \
    extern "C" LANEWISE_EXPORT void symbol(LANEWISE_EACH(LANEWISE_PARAMETER, __VA_ARGS__), \
                                           MPI_Fint *request, MPI_Fint *error) {           \
        using namespace lanewise::tuned;                                                   \
        static const auto own = reinterpret_cast<OwnI_##lower>(next_fortran(#symbol));     \
        const Operation operation(Collective::followed, Calling::nonblocking);             \
        const bool is_recorded = recording && sentinels().known();                         \
        if (!is_recorded && is_forwarded(operation, comm)) {                               \
            return own(LANEWISE_EACH(LANEWISE_ARGUMENT, __VA_ARGS__), request, error);     \
        }                                                                                  \
        translate_i##lower(own, __builtin_return_address(0),                               \
                           LANEWISE_EACH(LANEWISE_ARGUMENT, __VA_ARGS__), request, error); \
    }

#define LANEWISE_TRANSLATE_PREPARING(lower, followed, ...)                                      \
    namespace lanewise::tuned {                                                                 \
    using OwnInit_##lower = void (*)(LANEWISE_EACH(LANEWISE_ADDRESS, __VA_ARGS__), void *,      \
                                     MPI_Fint *, MPI_Fint *);                                   \
    [[gnu::noinline]] static void translate_##lower##_init(                                     \
        OwnInit_##lower own, LANEWISE_EACH(LANEWISE_PARAMETER, __VA_ARGS__), void *info,        \
        MPI_Fint *request, MPI_Fint *error) {                                                   \
        Call call;                                                                              \
        call.collective = Collective::followed;                                                 \
        LANEWISE_FILL(call, __VA_ARGS__);                                                       \
        MPI_Request made = MPI_REQUEST_NULL;                                                    \
        const auto forward = [&] {                                                              \
            MPI_Fint forwarded_code = MPI_SUCCESS;                                              \
            own(LANEWISE_EACH(LANEWISE_ARGUMENT, __VA_ARGS__), info, request, &forwarded_code); \
            if (forwarded_code == MPI_SUCCESS) made = PMPI_Request_f2c(*request);               \
            return int{forwarded_code};                                                         \
        };                                                                                      \
        const int code = prepare(call, made, forward);                                          \
        if (code == MPI_SUCCESS) *request = PMPI_Request_c2f(made);                             \
        if (error) *error = code;                                                               \
    }                                                                                           \
    }

#define LANEWISE_DEFINE_PREPARING(symbol, lower, followed, ...)                              \
    extern "C" LANEWISE_EXPORT void symbol(LANEWISE_EACH(LANEWISE_PARAMETER, __VA_ARGS__),   \
                                           void *info, MPI_Fint *request, MPI_Fint *error) { \
        using namespace lanewise::tuned;                                                     \
        static const auto own = reinterpret_cast<OwnInit_##lower>(next_fortran(#symbol));    \
        if ((!recording && !active) || !sentinels().known()) {                               \
            return own(LANEWISE_EACH(LANEWISE_ARGUMENT, __VA_ARGS__), info, request, error); \
        }                                                                                    \
        translate_##lower##_init(own, LANEWISE_EACH(LANEWISE_ARGUMENT, __VA_ARGS__), info,   \
                                 request, error);                                            \
    }

// An extension of Open MPI 4, whose names begin otherwise.
#ifdef LANEWISE_HAS_PERSISTENT
#define LANEWISE_PREPARING_SPELLINGS(name, lower, upper, followed, ...)           \
    LANEWISE_TRANSLATE_PREPARING(lower, followed, __VA_ARGS__)                    \
    LANEWISE_DEFINE_PREPARING(mpi_##lower##_init, lower, followed, __VA_ARGS__)   \
    LANEWISE_DEFINE_PREPARING(mpi_##lower##_init_, lower, followed, __VA_ARGS__)  \
    LANEWISE_DEFINE_PREPARING(mpi_##lower##_init__, lower, followed, __VA_ARGS__) \
    LANEWISE_DEFINE_PREPARING(MPI_##upper##_INIT, lower, followed, __VA_ARGS__)   \
    LANEWISE_DEFINE_PREPARING(mpi_##lower##_init_f08_, lower, followed, __VA_ARGS__)
#else
#define LANEWISE_PREPARING_SPELLINGS(name, lower, upper, followed, ...)            \
    LANEWISE_TRANSLATE_PREPARING(lower, followed, __VA_ARGS__)                     \
    LANEWISE_DEFINE_PREPARING(mpix_##lower##_init, lower, followed, __VA_ARGS__)   \
    LANEWISE_DEFINE_PREPARING(mpix_##lower##_init_, lower, followed, __VA_ARGS__)  \
    LANEWISE_DEFINE_PREPARING(mpix_##lower##_init__, lower, followed, __VA_ARGS__) \
    LANEWISE_DEFINE_PREPARING(MPIX_##upper##_INIT, lower, followed, __VA_ARGS__)   \
    LANEWISE_DEFINE_PREPARING(mpix_##lower##_init_f08_, lower, followed, __VA_ARGS__)
#endif

LANEWISE_FUNCTIONS(LANEWISE_PREPARING_SPELLINGS)

#define LANEWISE_SPELLINGS(name, lower, upper, followed, ...)                   \
    LANEWISE_TRANSLATE(lower, followed, __VA_ARGS__)                            \
    LANEWISE_TRANSLATE_NONBLOCKING(lower, followed, __VA_ARGS__)                \
    LANEWISE_DEFINE(mpi_##lower, lower, followed, __VA_ARGS__)                  \
    LANEWISE_DEFINE(mpi_##lower##_, lower, followed, __VA_ARGS__)               \
    LANEWISE_DEFINE(mpi_##lower##__, lower, followed, __VA_ARGS__)              \
    LANEWISE_DEFINE(MPI_##upper, lower, followed, __VA_ARGS__)                  \
    LANEWISE_DEFINE(mpi_##lower##_f08_, lower, followed, __VA_ARGS__)           \
    LANEWISE_DEFINE_NONBLOCKING(mpi_i##lower, lower, followed, __VA_ARGS__)     \
    LANEWISE_DEFINE_NONBLOCKING(mpi_i##lower##_, lower, followed, __VA_ARGS__)  \
    LANEWISE_DEFINE_NONBLOCKING(mpi_i##lower##__, lower, followed, __VA_ARGS__) \
    LANEWISE_DEFINE_NONBLOCKING(MPI_I##upper, lower, followed, __VA_ARGS__)     \
    LANEWISE_DEFINE_NONBLOCKING(mpi_i##lower##_f08_, lower, followed, __VA_ARGS__)

LANEWISE_FUNCTIONS(LANEWISE_SPELLINGS)

#define LANEWISE_COMPLETION_SPELLINGS(lower, upper, ...)                        \
    LANEWISE_DEFINE_COMPLETION(mpi_##lower, lower##_completes, __VA_ARGS__)     \
    LANEWISE_DEFINE_COMPLETION(mpi_##lower##_, lower##_completes, __VA_ARGS__)  \
    LANEWISE_DEFINE_COMPLETION(mpi_##lower##__, lower##_completes, __VA_ARGS__) \
    LANEWISE_DEFINE_COMPLETION(MPI_##upper, lower##_completes, __VA_ARGS__)     \
    LANEWISE_DEFINE_COMPLETION(mpi_##lower##_f08_, lower##_completes, __VA_ARGS__)

LANEWISE_COMPLETIONS(LANEWISE_COMPLETION_SPELLINGS)

#define LANEWISE_REQUESTS_SPELLINGS(lower, upper)                                     \
    LANEWISE_DEFINE_##lower(mpi_##lower) LANEWISE_DEFINE_##lower(mpi_##lower##_)      \
        LANEWISE_DEFINE_##lower(mpi_##lower##__) LANEWISE_DEFINE_##lower(MPI_##upper) \
            LANEWISE_DEFINE_##lower(mpi_##lower##_f08_)

LANEWISE_REQUESTS(LANEWISE_REQUESTS_SPELLINGS)

#define LANEWISE_STATUSES_SPELLINGS(lower, upper, ...)     \
    LANEWISE_DEFINE_STATUSES(mpi_##lower, __VA_ARGS__)     \
    LANEWISE_DEFINE_STATUSES(mpi_##lower##_, __VA_ARGS__)  \
    LANEWISE_DEFINE_STATUSES(mpi_##lower##__, __VA_ARGS__) \
    LANEWISE_DEFINE_STATUSES(MPI_##upper, __VA_ARGS__)     \
    LANEWISE_DEFINE_STATUSES(mpi_##lower##_f08_, __VA_ARGS__)

LANEWISE_STATUSES(LANEWISE_STATUSES_SPELLINGS)

#define LANEWISE_MAKING_SPELLINGS(lower, upper, ...)     \
    LANEWISE_DEFINE_MAKING(mpi_##lower, __VA_ARGS__)     \
    LANEWISE_DEFINE_MAKING(mpi_##lower##_, __VA_ARGS__)  \
    LANEWISE_DEFINE_MAKING(mpi_##lower##__, __VA_ARGS__) \
    LANEWISE_DEFINE_MAKING(MPI_##upper, __VA_ARGS__)     \
    LANEWISE_DEFINE_MAKING(mpi_##lower##_f08_, __VA_ARGS__)

LANEWISE_MAKING(LANEWISE_MAKING_SPELLINGS)

#define LANEWISE_DUPLICATING_SPELLINGS(lower, upper, ...)     \
    LANEWISE_DEFINE_DUPLICATING(mpi_##lower, __VA_ARGS__)     \
    LANEWISE_DEFINE_DUPLICATING(mpi_##lower##_, __VA_ARGS__)  \
    LANEWISE_DEFINE_DUPLICATING(mpi_##lower##__, __VA_ARGS__) \
    LANEWISE_DEFINE_DUPLICATING(MPI_##upper, __VA_ARGS__)     \
    LANEWISE_DEFINE_DUPLICATING(mpi_##lower##_f08_, __VA_ARGS__)

LANEWISE_DUPLICATING(LANEWISE_DUPLICATING_SPELLINGS)

#define LANEWISE_FREEING_SPELLINGS(lower, upper, ...)     \
    LANEWISE_DEFINE_FREEING(mpi_##lower, __VA_ARGS__)     \
    LANEWISE_DEFINE_FREEING(mpi_##lower##_, __VA_ARGS__)  \
    LANEWISE_DEFINE_FREEING(mpi_##lower##__, __VA_ARGS__) \
    LANEWISE_DEFINE_FREEING(MPI_##upper, __VA_ARGS__)     \
    LANEWISE_DEFINE_FREEING(mpi_##lower##_f08_, __VA_ARGS__)

LANEWISE_FREEING(LANEWISE_FREEING_SPELLINGS)

#define LANEWISE_DEFINE_INIT(symbol)                                               \
    extern "C" LANEWISE_EXPORT void symbol(MPI_Fint *error) {                      \
        using namespace lanewise::tuned;                                           \
        using Function = void (*)(MPI_Fint *);                                     \
        static const auto own = reinterpret_cast<Function>(next_fortran(#symbol)); \
        MPI_Fint code = MPI_SUCCESS;                                               \
        report_presence();                                                         \
        own(&code);                                                                \
        if (code == MPI_SUCCESS) begin_with_world();                               \
        if (error) *error = code;                                                  \
    }

#define LANEWISE_DEFINE_INIT_THREAD(symbol)                                        \
    extern "C" LANEWISE_EXPORT void symbol(MPI_Fint *required, MPI_Fint *provided, \
                                           MPI_Fint *error) {                      \
        using namespace lanewise::tuned;                                           \
        using Function = void (*)(MPI_Fint *, MPI_Fint *, MPI_Fint *);             \
        static const auto own = reinterpret_cast<Function>(next_fortran(#symbol)); \
        MPI_Fint code = MPI_SUCCESS;                                               \
        report_presence();                                                         \
        own(required, provided, &code);                                            \
        if (code == MPI_SUCCESS) begin_with_world();                               \
        if (error) *error = code;                                                  \
    }

LANEWISE_DEFINE_INIT(mpi_init)
LANEWISE_DEFINE_INIT(mpi_init_)
LANEWISE_DEFINE_INIT(mpi_init__)
LANEWISE_DEFINE_INIT(MPI_INIT)
LANEWISE_DEFINE_INIT(mpi_init_f08_)
LANEWISE_DEFINE_INIT_THREAD(mpi_init_thread)
LANEWISE_DEFINE_INIT_THREAD(mpi_init_thread_)
LANEWISE_DEFINE_INIT_THREAD(mpi_init_thread__)
LANEWISE_DEFINE_INIT_THREAD(MPI_INIT_THREAD)
LANEWISE_DEFINE_INIT_THREAD(mpi_init_thread_f08_)

#ifdef LANEWISE_HAS_SESSIONS
LANEWISE_DEFINE_SESSION_INIT(mpi_session_init)
LANEWISE_DEFINE_SESSION_INIT(mpi_session_init_)
LANEWISE_DEFINE_SESSION_INIT(mpi_session_init__)
LANEWISE_DEFINE_SESSION_INIT(MPI_SESSION_INIT)
LANEWISE_DEFINE_SESSION_INIT(mpi_session_init_f08_)
LANEWISE_DEFINE_MAKING_FROM_GROUP(mpi_comm_create_from_group)
LANEWISE_DEFINE_MAKING_FROM_GROUP(mpi_comm_create_from_group_)
LANEWISE_DEFINE_MAKING_FROM_GROUP(mpi_comm_create_from_group__)
LANEWISE_DEFINE_MAKING_FROM_GROUP(MPI_COMM_CREATE_FROM_GROUP)
LANEWISE_DEFINE_MAKING_FROM_GROUP(mpi_comm_create_from_group_f08_)
#endif
