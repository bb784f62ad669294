// SPDX-License-Identifier: BSD-3-Clause

#include "collectives/tuned/persistent.hpp"

#include <mutex>
#include <new>
#include <unordered_map>
#include <utility>
#include <vector>

#include "collectives/execute/request.hpp"
#include "collectives/tuned/agreement.hpp"
#include "collectives/tuned/intercept.hpp"
#include "collectives/tuned/report.hpp"

namespace lanewise::tuned {

constinit std::atomic<int> prepared_requests{0};
constinit std::atomic<int> started_requests{0};

namespace {

using collectives::SharedPersistentCall;

struct Prepared {
    SharedPersistentCall call; /* null: the MPI's */
    ReportedStart reported;
    bool is_kept = false;                  /* its request, when the program has freed it */
    MPI_Request behind = MPI_REQUEST_NULL; /* of a start that is not known to be complete */
};

struct PreparedTable {
    std::mutex mutex;
    std::unordered_map<MPI_Request, Prepared> by_request;
    std::vector<MPI_Request> unused; /* that programs freed */
};

/* Never destroyed: requests that the program does not free are held to the end of the process. */
PreparedTable& prepared_table() {
    static PreparedTable& instance = *new PreparedTable;
    return instance;
}

Prepared *prepared_for(MPI_Request request, PreparedTable& in) {
    const auto found = in.by_request.find(request);
    return found == in.by_request.end() ? nullptr : &found->second;
}

/* One of those that programs freed; null: there is none. */
MPI_Request unused_request() {
    auto& in = prepared_table();
    const std::scoped_lock lock(in.mutex);
    if (in.unused.empty()) return MPI_REQUEST_NULL;
    const auto request = in.unused.back();
    in.unused.pop_back();
    return request;
}

/* At the beginning of MPI_Finalize; MPICH 5 names each request that is left then. */
int free_unused(MPI_Comm, int, void *, void *) {
    auto& in = prepared_table();
    const std::scoped_lock lock(in.mutex);
    for (MPI_Request& request : in.unused) PMPI_Request_free(&request);
    in.unused.clear();
    return MPI_SUCCESS;
}

void free_unused_at_end() {
    int key = MPI_KEYVAL_INVALID;
    PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, free_unused, &key, nullptr);
    PMPI_Comm_set_attr(MPI_COMM_SELF, key, nullptr);
    PMPI_Comm_free_keyval(&key);
}

/* A request that the program may free, but MPI keeps: under MPICH 4.0 a persistent collective of
   its own that gets the memory of a send that was freed never ends. Without the world there is no
   MPI_COMM_SELF: the request is one of the communicator then, and is freed before that. */
int take_request(Prepared& prepared, MPI_Comm comm, MPI_Request *request) {
    prepared.is_kept = has_world();
    if (prepared.is_kept) *request = unused_request();
    if (*request != MPI_REQUEST_NULL) return MPI_SUCCESS;
    static std::once_flag kept;
    if (prepared.is_kept) std::call_once(kept, free_unused_at_end);
    return PMPI_Send_init(nullptr, 0, MPI_BYTE, MPI_PROC_NULL, 0,
                          prepared.is_kept ? MPI_COMM_SELF : comm, request);
}

void add(MPI_Request request, Prepared prepared) {
    auto& in = prepared_table();
    const std::scoped_lock lock(in.mutex);
    in.by_request.insert_or_assign(request, std::move(prepared));
    prepared_requests.store(static_cast<int>(in.by_request.size()), std::memory_order_relaxed);
}

/* What each start executes; null on every rank alike: the MPI shall do it. */
SharedPersistentCall decide_and_prepare(const Call& call, ReportedStart& reported, int& code) {
    try {
        auto decided = decide_persistent(call);
        auto prepared = prepare_by_rule(call, decided, code);
        reported = {reports() && decided.valid, decided.operation, decided.message_bytes,
                    decided.rule};
        return prepared;
    } catch (const std::bad_alloc&) {
        end_without_memory(call);
    }
}

/* Takes a request for what was prepared. An MPI error code. */
int give_request(Prepared prepared, MPI_Comm comm, MPI_Request *request) {
    MPI_Request made = MPI_REQUEST_NULL;
    const int code = take_request(prepared, comm, &made);
    if (code != MPI_SUCCESS) return code;
    add(made, std::move(prepared));
    *request = made;
    return code;
}

}  // namespace

bool prepare_here(const Call& call, MPI_Request *request, ReportedStart& reported, int& code) {
    if (!active || inside || !request) return false;
    {
        const Inside here;
        Prepared prepared{decide_and_prepare(call, reported, code), {}};
        if (!prepared.call && code == MPI_SUCCESS) return false;
        prepared.reported = reported;
        if (code == MPI_SUCCESS) code = give_request(std::move(prepared), call.comm, request);
    }
    if (code != MPI_SUCCESS) raise_error(call.comm, code);
    return true;
}

void count_starts(MPI_Request request, const ReportedStart& reported) {
    add(request, {nullptr, reported});
}

namespace {

/* Not under the lock: the MPI may go on with other calls. The communicator may have been freed. */
int start_unlocked(const SharedPersistentCall& call, Collective collective, MPI_Request *behind) {
    const Inside here;
    try {
        return start_request(call, behind);
    } catch (const std::bad_alloc&) {
        end_without_memory({.collective = collective, .comm = MPI_COMM_WORLD});
    }
}

/* The time that it takes lies in what the program does meanwhile. */
void count_start(const ReportedStart& start, CallOutcome outcome) {
    if (start.is_counted) record(start.operation, start.message_bytes, start.rule, outcome, 0);
}

}  // namespace

bool start_here(MPI_Request request, int& code) {
    auto& in = prepared_table();
    std::unique_lock lock(in.mutex);
    auto *prepared = prepared_for(request, in);
    if (!prepared) return false;
    const bool is_started = prepared->behind != MPI_REQUEST_NULL;
    const auto call = prepared->call;
    const auto reported = prepared->reported;
    lock.unlock();
    if (!call) {
        count_start(reported, CallOutcome::forwarded);
        return false;
    }
    MPI_Request behind = MPI_REQUEST_NULL;
    code =
        is_started ? MPI_ERR_REQUEST : start_unlocked(call, reported.operation.collective, &behind);
    if (code != MPI_SUCCESS) {
        raise_error(MPI_COMM_SELF, code);
        return true;
    }
    count_start(reported, CallOutcome::intercepted);
    lock.lock();
    prepared = prepared_for(request, in);
    if (prepared) prepared->behind = behind;
    started_requests.fetch_add(1, std::memory_order_relaxed);
    return true;
}

bool free_here(MPI_Request request) {
    if (prepared_requests.load(std::memory_order_relaxed) == 0) return false;
    Prepared freed;
    {
        auto& in = prepared_table();
        const std::scoped_lock lock(in.mutex);
        const auto found = in.by_request.find(request);
        if (found == in.by_request.end()) return false;
        freed = std::move(found->second);
        in.by_request.erase(found);
        if (freed.is_kept) in.unused.push_back(request);
        prepared_requests.store(static_cast<int>(in.by_request.size()), std::memory_order_relaxed);
    }
    if (!freed.call) return false;
    if (!freed.is_kept) PMPI_Request_free(&request);
    if (freed.behind == MPI_REQUEST_NULL) return true;
    started_requests.fetch_sub(1, std::memory_order_relaxed);
    PMPI_Request_free(&freed.behind);
    return true;
}

MPI_Request request_behind(MPI_Request request) {
    auto& in = prepared_table();
    const std::scoped_lock lock(in.mutex);
    const auto *prepared = prepared_for(request, in);
    return prepared ? prepared->behind : MPI_REQUEST_NULL;
}

void found_complete(MPI_Request request) {
    auto& in = prepared_table();
    const std::scoped_lock lock(in.mutex);
    auto *prepared = prepared_for(request, in);
    if (!prepared) return;
    prepared->behind = MPI_REQUEST_NULL;
    started_requests.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace lanewise::tuned
