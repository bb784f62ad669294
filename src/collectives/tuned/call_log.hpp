// SPDX-License-Identifier: BSD-3-Clause
//
// CallLog: when this process entered and left each collective call, and from where it called. One
// that does not block is left by the call that finds it complete (pending_calls.hpp).
// Memory is taken once. When it is full, every second call is forgotten, and of the later ones only
// as many are kept: which ones follows from their numbers, so that all ranks keep the same.

#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/clock.hpp"
#include "collectives/algorithm.hpp"
#include "collectives/execute/call.hpp"
#include "collectives/profile/attribution.hpp"
#include "collectives/tuned/results.hpp"

namespace lanewise::tuned {

/* Whether calls are recorded, for a profile or for their results: from the end of MPI_Init to the
   beginning of MPI_Finalize. */
extern constinit bool recording;

struct LoggedCall {
    std::int64_t entry_ns;
    std::int64_t exit_ns;
    std::int64_t asked_after_ns; /* this and the next two as in profile::CallTimes */
    std::int64_t computing_ns;
    std::int64_t starting_ns;
    std::uint64_t bytes;        /* as `call_bytes` has it */
    std::uint64_t call;         /* which one on its communicator */
    std::uint32_t communicator; /* index, or `unlisted` */
    std::int32_t root;
    std::uint16_t site;
    collectives::Collective collective;
    profile::Form form;
};

/* Each communicator and each persistent request takes some memory, even when it is gone: calls on
   more of them than this are forgotten. */
constexpr std::size_t communicators_max = std::size_t{1} << 20;
constexpr std::uint32_t unlisted = communicators_max;

struct LoggedCommunicator {
    std::uint64_t id = 0; /* the same on all its ranks, and another for each communicator */
    std::int32_t rank = 0;
    std::int32_t ranks = 1;
    std::vector<int> sources = {}; /* of blocks from neighbors, once there was such a call */
};

/* What was not recorded, or not all of it. */
struct Unrecorded {
    std::uint64_t nonblocking = 0;    /* never seen to complete */
    std::uint64_t between_groups = 0; /* on intercommunicators */
    std::uint64_t forgotten = 0;      /* for want of room */
};

struct CallLog {
    std::vector<LoggedCall> calls;
    std::vector<LoggedCommunicator> communicators;
    std::vector<const void *> sites; /* addresses to which calls return; 0: one too many */
    Unrecorded unrecorded;
    std::int64_t in_calls_ns = 0; /* of all calls, forgotten ones and those that wait too */
    int halvings = 0;             /* one call in 2^halvings is kept */
};

/* Whether calls are recorded for a profile. */
bool is_logging();

/* Takes the memory; false: there is none. */
bool prepare_log(std::size_t capacity);

/* Moves the log out, once nothing is recorded any more. */
CallLog take_log();

/* How many of the calls have no place of their own, because there were too many. */
std::uint64_t count_unplaced(const CallLog& log);

/* Keeps only the calls that are among one in 2^halvings. */
void thin(CallLog& log, int halvings);

void log_call(const collectives::Call& call, const void *site, std::int64_t entry_ns,
              std::int64_t exit_ns);

/* A call that begins here, with its number, and has no end yet. None: such calls are only counted,
   or not at all. For calls that do not block; each must come to `add_to_log` or `count_unended`. */
std::optional<LoggedCall> begin_call(const collectives::Call& call, const void *site,
                                     profile::Form form);

/* The number of a place in the program. */
std::uint16_t number_of_site(const void *site);

/* A persistent request, whose calls are numbered by themselves: ranks need not start requests in
   the same order. Begins as `begin_call` does, each time that it is started. */
std::optional<LoggedCall> prepare_call(const collectives::Call& call);

void add_to_log(const LoggedCall& call);
void count_unended();

/* Time of this thread, without what has been added of it already. */
void add_time_in_calls(std::int64_t entry_ns, std::int64_t exit_ns);

/* Whether the ranks may count a call that returned `code` as one that all of them make. An argument
   that the MPI refuses lets a rank call again, while what it received was too long only if it took
   part. */
bool took_part(int code);

/* Whether this thread is inside a recorded call: what an MPI calls meanwhile is part of it. */
extern constinit thread_local bool inside_recorded;

/* While it lives, this thread is inside a recorded call, which an exception may leave: error
   handlers of programs may throw. */
class InsideRecorded {
  public:
    InsideRecorded() { inside_recorded = true; }
    ~InsideRecorded() { inside_recorded = false; }
    InsideRecorded(const InsideRecorded&) = delete;
    InsideRecorded& operator=(const InsideRecorded&) = delete;
};

/* Where this thread called a function from that leads here by way of the MPI; null: nowhere. */
extern constinit thread_local const void *outer_site;

/* Records the call that `go` makes. */
template <typename Go>
int recorded(const collectives::Call& call, const void *site, const Go& go) {
    if (inside_recorded) return go();
    const InsideRecorded here;
    const auto entry_ns = monotonic_ns();
    const int code = go();
    const void *called_from = outer_site ? outer_site : site;
    const auto exit_ns = monotonic_ns();
    if (took_part(code)) {
        log_call(call, called_from, entry_ns, exit_ns);
    } else {
        add_time_in_calls(entry_ns, exit_ns);
    }
    if (noting_results && code == MPI_SUCCESS) note_result(call, called_from);
    return code;
}

}  // namespace lanewise::tuned
