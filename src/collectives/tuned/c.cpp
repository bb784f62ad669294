// SPDX-License-Identifier: BSD-3-Clause
//
// The functions that programs in C, C++ and Python call, and under MPICH those in Fortran too.

#include <mpi.h>
#if defined(OPEN_MPI) && !defined(LANEWISE_HAS_PERSISTENT)
#include <mpi-ext.h>
#endif

#include "collectives/tuned/call_log.hpp"
#include "collectives/tuned/functions.hpp"
#include "collectives/tuned/intercept.hpp"
#include "collectives/tuned/next_mpi.hpp"
#include "collectives/tuned/pending_calls.hpp"
#include "collectives/tuned/persistent.hpp"

#define LANEWISE_PARAMETER(name) LANEWISE_PARAMETER_##name
#define LANEWISE_PARAMETER_send const void *send
#define LANEWISE_PARAMETER_send_count Count send_count
#define LANEWISE_PARAMETER_send_type MPI_Datatype send_type
#define LANEWISE_PARAMETER_receive void *receive  // NOLINT(bugprone-macro-parentheses)
#define LANEWISE_PARAMETER_receive_count Count receive_count
#define LANEWISE_PARAMETER_receive_type MPI_Datatype receive_type
#define LANEWISE_PARAMETER_counts const Count counts[]
#define LANEWISE_PARAMETER_displacements const Displacement displacements[]
#define LANEWISE_PARAMETER_send_counts const Count send_counts[]
#define LANEWISE_PARAMETER_send_displacements const Displacement send_displacements[]
#define LANEWISE_PARAMETER_send_types const MPI_Datatype send_types[]
#define LANEWISE_PARAMETER_receive_types const MPI_Datatype receive_types[]
#define LANEWISE_PARAMETER_op MPI_Op op
#define LANEWISE_PARAMETER_root int root
#define LANEWISE_PARAMETER_comm MPI_Comm comm

#define LANEWISE_ARGUMENT(name) name
#define LANEWISE_TO_CALL(name) call.name = name

// The first checks call nothing, so that a call which is always forwarded saves no registers.
#define LANEWISE_DEFINE(name, followed, ...)                                                       \
    [[gnu::noinline]] static int intercept_##name(                                                 \
        LANEWISE_EACH(LANEWISE_PARAMETER, __VA_ARGS__)) {                                          \
        lanewise::collectives::Call call;                                                          \
        call.collective = Collective::followed;                                                    \
        LANEWISE_EACH(LANEWISE_TO_CALL, __VA_ARGS__);                                              \
        return intercept(                                                                          \
            call, [&] { return next_mpi.name(LANEWISE_EACH(LANEWISE_ARGUMENT, __VA_ARGS__)); });   \
    }                                                                                              \
    static inline int go_##name(LANEWISE_EACH(LANEWISE_PARAMETER, __VA_ARGS__)) {                  \
        if (forwards_all(Collective::followed, comm)) {                                            \
            return next_mpi.name(LANEWISE_EACH(LANEWISE_ARGUMENT, __VA_ARGS__));                   \
        }                                                                                          \
        return intercept_##name(LANEWISE_EACH(LANEWISE_ARGUMENT, __VA_ARGS__));                    \
    }                                                                                              \
    [[gnu::noinline]] static int record_##name(LANEWISE_EACH(LANEWISE_PARAMETER, __VA_ARGS__),     \
                                               const void *site) {                                 \
        lanewise::collectives::Call call;                                                          \
        call.collective = Collective::followed;                                                    \
        LANEWISE_EACH(LANEWISE_TO_CALL, __VA_ARGS__);                                              \
        return recorded(call, site,                                                                \
                        [&] { return go_##name(LANEWISE_EACH(LANEWISE_ARGUMENT, __VA_ARGS__)); }); \
    }                                                                                              \
    extern "C" LANEWISE_EXPORT int MPI_##name(LANEWISE_EACH(LANEWISE_PARAMETER, __VA_ARGS__)) {    \
        if (recording) [[unlikely]] {                                                              \
            return record_##name(LANEWISE_EACH(LANEWISE_ARGUMENT, __VA_ARGS__),                    \
                                 __builtin_return_address(0));                                     \
        }                                                                                          \
        return go_##name(LANEWISE_EACH(LANEWISE_ARGUMENT, __VA_ARGS__));                           \
    }

#define LANEWISE_DEFINE_NONBLOCKING(name, followed, ...)                                          \
    [[gnu::noinline]] static int intercept_##name(LANEWISE_EACH(LANEWISE_PARAMETER, __VA_ARGS__), \
                                                  MPI_Request *request) {                         \
        lanewise::collectives::Call call;                                                         \
        call.collective = Collective::followed;                                                   \
        LANEWISE_EACH(LANEWISE_TO_CALL, __VA_ARGS__);                                             \
        return intercept(call, request, [&] {                                                     \
            return next_mpi.name(LANEWISE_EACH(LANEWISE_ARGUMENT, __VA_ARGS__), request);         \
        });                                                                                       \
    }                                                                                             \
    static inline int go_##name(LANEWISE_EACH(LANEWISE_PARAMETER, __VA_ARGS__),                   \
                                MPI_Request *request) {                                           \
        if (forwards_all({Collective::followed, Calling::nonblocking}, comm)) {                   \
            return next_mpi.name(LANEWISE_EACH(LANEWISE_ARGUMENT, __VA_ARGS__), request);         \
        }                                                                                         \
        return intercept_##name(LANEWISE_EACH(LANEWISE_ARGUMENT, __VA_ARGS__), request);          \
    }                                                                                             \
    [[gnu::noinline]] static int record_##name(LANEWISE_EACH(LANEWISE_PARAMETER, __VA_ARGS__),    \
                                               MPI_Request *request, const void *site) {          \
        lanewise::collectives::Call call;                                                         \
        call.collective = Collective::followed;                                                   \
        LANEWISE_EACH(LANEWISE_TO_CALL, __VA_ARGS__);                                             \
        return recorded_start(                                                                    \
            call, site,                                                                           \
            [&] { return go_##name(LANEWISE_EACH(LANEWISE_ARGUMENT, __VA_ARGS__), request); },    \
            [&] { return *request; });                                                            \
    }                                                                                             \
    extern "C" LANEWISE_EXPORT int MPI_##name(LANEWISE_EACH(LANEWISE_PARAMETER, __VA_ARGS__),     \
                                              MPI_Request *request) {                             \
        if (recording) [[unlikely]] {                                                             \
            return record_##name(LANEWISE_EACH(LANEWISE_ARGUMENT, __VA_ARGS__), request,          \
                                 __builtin_return_address(0));                                    \
        }                                                                                         \
        return go_##name(LANEWISE_EACH(LANEWISE_ARGUMENT, __VA_ARGS__), request);                 \
    }

// Persistent collectives are of MPI 4, and an extension (MPIX_) of Open MPI 4.
#define LANEWISE_DEFINE_PERSISTENT(prefix, name, followed, ...)                                 \
    extern "C" LANEWISE_EXPORT int prefix##name(LANEWISE_EACH(LANEWISE_PARAMETER, __VA_ARGS__), \
                                                MPI_Info info, MPI_Request *request) {          \
        static const auto own = next_function(LANEWISE_TEXT(prefix##name), &P##prefix##name);   \
        const auto forward = [&] {                                                              \
            return own(LANEWISE_EACH(LANEWISE_ARGUMENT, __VA_ARGS__), info, request);           \
        };                                                                                      \
        if ((!recording && !active) || !request) [[likely]] {                                   \
            return forward();                                                                   \
        }                                                                                       \
        lanewise::collectives::Call call;                                                       \
        call.collective = Collective::followed;                                                 \
        LANEWISE_EACH(LANEWISE_TO_CALL, __VA_ARGS__);                                           \
        return prepare(call, *request, forward);                                                \
    }
#define LANEWISE_TEXT(name) #name
#ifdef LANEWISE_HAS_PERSISTENT
#define LANEWISE_DEFINE_INIT(name, followed, ...) \
    LANEWISE_DEFINE_PERSISTENT(MPI_, name##_init, followed, __VA_ARGS__)
#elif defined(OMPI_HAVE_MPI_EXT_PCOLLREQ)
#define LANEWISE_DEFINE_INIT(name, followed, ...) \
    LANEWISE_DEFINE_PERSISTENT(MPIX_, name##_init, followed, __VA_ARGS__)
#else
#define LANEWISE_DEFINE_INIT(name, followed, ...)
#endif

namespace small_counts {
using namespace lanewise::tuned;
using Count = int;
using Displacement = int;
#define LANEWISE_SMALL(name, lower, upper, followed, ...)        \
    LANEWISE_DEFINE(name, followed, __VA_ARGS__)                 \
    LANEWISE_DEFINE_NONBLOCKING(I##lower, followed, __VA_ARGS__) \
    LANEWISE_DEFINE_INIT(name, followed, __VA_ARGS__)
LANEWISE_SMALL(Barrier, barrier, BARRIER, barrier, comm)
LANEWISE_NEAR_FUNCTIONS(LANEWISE_SMALL)
}  // namespace small_counts

namespace small_counts_of_far_blocks {
using namespace lanewise::tuned;
using Count = int;
using Displacement = MPI_Aint;
LANEWISE_FAR_FUNCTIONS(LANEWISE_SMALL)
}  // namespace small_counts_of_far_blocks

#ifdef LANEWISE_HAS_LARGE_COUNTS
namespace large_counts {
using namespace lanewise::tuned;
using Count = MPI_Count;
using Displacement = MPI_Aint;
#define LANEWISE_LARGE(name, lower, upper, followed, ...)            \
    LANEWISE_DEFINE(name##_c, followed, __VA_ARGS__)                 \
    LANEWISE_DEFINE_NONBLOCKING(I##lower##_c, followed, __VA_ARGS__) \
    LANEWISE_DEFINE_PERSISTENT(MPI_, name##_init_c, followed, __VA_ARGS__)
LANEWISE_COUNTED_FUNCTIONS(LANEWISE_LARGE)
}  // namespace large_counts
#endif
