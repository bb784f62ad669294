// SPDX-License-Identifier: BSD-3-Clause
//
// The functions of C that wait for requests, test them, start them and free them. They go to the
// next definition as they are, except for collectives that are prepared here (persistent.hpp).
// Where collectives are pending, it is noted what they found complete.

#include <mpi.h>

#include "collectives/tuned/functions.hpp"
#include "collectives/tuned/next_mpi.hpp"
#include "collectives/tuned/pending_calls.hpp"
#include "collectives/tuned/persistent.hpp"

namespace {

using lanewise::tuned::CompletionCall;
using lanewise::tuned::next_function;
using lanewise::tuned::RequestsOfC;
using ScopedSubstitution = lanewise::tuned::ScopedSubstitution<RequestsOfC>;

CompletionCall completion_call(int count, const MPI_Request *requests) {
    return {count, [&](int i) { return requests[i]; }};
}

/* What an error leaves complete shows in the handles; the other results may not be set then. */
template <typename Note>
int noted(CompletionCall& call, int code, int count, const MPI_Request *requests,
          const Note& note) {
    if (code == MPI_SUCCESS) {
        note();
        return code;
    }
    for (int i = 0; i < count; ++i) {
        if (requests[i] == MPI_REQUEST_NULL) call.done(i);
    }
    return code;
}

/* Makes a call that waits for requests or tests them. */
template <typename Go>
int in_their_place(int count, MPI_Request *requests, const Go& go) {
    const ScopedSubstitution here(count, requests);
    return go();
}

int start(int count, MPI_Request *requests, const void *site, int (*go)(int, MPI_Request *)) {
    using namespace lanewise;
    if (!tuned::recording || tuned::known_requests.load(std::memory_order_relaxed) == 0) {
        return tuned::start_requests<RequestsOfC>(count, requests, go);
    }
    const auto entry_ns = monotonic_ns();
    const int code = tuned::start_requests<RequestsOfC>(count, requests, go);
    if (code == MPI_SUCCESS) {
        tuned::begin_persistent({requests, requests + count},
                                tuned::outer_site ? tuned::outer_site : site, entry_ns,
                                monotonic_ns());
    }
    return code;
}

}  // namespace

extern "C" LANEWISE_EXPORT int MPI_Wait(MPI_Request *request, MPI_Status *status) {
    static const auto own = next_function("MPI_Wait", &PMPI_Wait);
    auto call = completion_call(1, request);
    const int code = in_their_place(1, request, [&] { return own(request, status); });
    return noted(call, code, 1, request, [&] { call.all_done(); });
}

extern "C" LANEWISE_EXPORT int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status) {
    static const auto own = next_function("MPI_Test", &PMPI_Test);
    auto call = completion_call(1, request);
    const int code = in_their_place(1, request, [&] { return own(request, flag, status); });
    return noted(call, code, 1, request, [&] {
        if (*flag != 0) call.all_done();
    });
}

extern "C" LANEWISE_EXPORT int MPI_Waitall(int count, MPI_Request requests[],
                                           MPI_Status statuses[]) {
    static const auto own = next_function("MPI_Waitall", &PMPI_Waitall);
    auto call = completion_call(count, requests);
    const int code =
        in_their_place(count, requests, [&] { return own(count, requests, statuses); });
    return noted(call, code, count, requests, [&] { call.all_done(); });
}

extern "C" LANEWISE_EXPORT int MPI_Testall(int count, MPI_Request requests[], int *flag,
                                           MPI_Status statuses[]) {
    static const auto own = next_function("MPI_Testall", &PMPI_Testall);
    auto call = completion_call(count, requests);
    const int code =
        in_their_place(count, requests, [&] { return own(count, requests, flag, statuses); });
    return noted(call, code, count, requests, [&] {
        if (*flag != 0) call.all_done();
    });
}

extern "C" LANEWISE_EXPORT int MPI_Waitany(int count, MPI_Request requests[], int *index,
                                           MPI_Status *status) {
    static const auto own = next_function("MPI_Waitany", &PMPI_Waitany);
    auto call = completion_call(count, requests);
    const int code =
        in_their_place(count, requests, [&] { return own(count, requests, index, status); });
    return noted(call, code, count, requests, [&] { call.done(*index); });
}

extern "C" LANEWISE_EXPORT int MPI_Testany(int count, MPI_Request requests[], int *index, int *flag,
                                           MPI_Status *status) {
    static const auto own = next_function("MPI_Testany", &PMPI_Testany);
    auto call = completion_call(count, requests);
    const int code =
        in_their_place(count, requests, [&] { return own(count, requests, index, flag, status); });
    return noted(call, code, count, requests, [&] {
        if (*flag != 0) call.done(*index);
    });
}

extern "C" LANEWISE_EXPORT int MPI_Waitsome(int count, MPI_Request requests[], int *done_count,
                                            int indices[], MPI_Status statuses[]) {
    static const auto own = next_function("MPI_Waitsome", &PMPI_Waitsome);
    auto call = completion_call(count, requests);
    const int code = in_their_place(
        count, requests, [&] { return own(count, requests, done_count, indices, statuses); });
    return noted(call, code, count, requests, [&] { call.some_done(*done_count, indices); });
}

extern "C" LANEWISE_EXPORT int MPI_Testsome(int count, MPI_Request requests[], int *done_count,
                                            int indices[], MPI_Status statuses[]) {
    static const auto own = next_function("MPI_Testsome", &PMPI_Testsome);
    auto call = completion_call(count, requests);
    const int code = in_their_place(
        count, requests, [&] { return own(count, requests, done_count, indices, statuses); });
    return noted(call, code, count, requests, [&] { call.some_done(*done_count, indices); });
}

extern "C" LANEWISE_EXPORT int MPI_Start(MPI_Request *request) {
    static const auto own = next_function("MPI_Start", &PMPI_Start);
    return start(1, request, __builtin_return_address(0),
                 [](int, MPI_Request *one) { return own(one); });
}

extern "C" LANEWISE_EXPORT int MPI_Startall(int count, MPI_Request requests[]) {
    static const auto own = next_function("MPI_Startall", &PMPI_Startall);
    return start(count, requests, __builtin_return_address(0),
                 [](int all, MPI_Request *first) { return own(all, first); });
}

extern "C" LANEWISE_EXPORT int MPI_Request_free(MPI_Request *request) {
    static const auto own = next_function("MPI_Request_free", &PMPI_Request_free);
    if (!request) return own(request);
    if (lanewise::tuned::recording) lanewise::tuned::forget_request(*request);
    if (!lanewise::tuned::free_here(*request)) return own(request);
    *request = MPI_REQUEST_NULL;
    return MPI_SUCCESS;
}

extern "C" LANEWISE_EXPORT int MPI_Cancel(MPI_Request *request) {
    static const auto own = next_function("MPI_Cancel", &PMPI_Cancel);
    return in_their_place(1, request, [&] { return own(request); });
}
