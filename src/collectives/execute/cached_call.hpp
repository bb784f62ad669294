// SPDX-License-Identifier: BSD-3-Clause
//
// CachedCall: what became of a call when it was made before, so that an inner loop that makes the
// same call again and again pays for one comparison. An entry is found by the arguments as the
// program passed them, before anything is decided, and holds the decision together with the
// prepared program. Each thread has one table of entries of its own.
//
// An entry is valid as long as nothing that it was made from can have changed:
//   the communicator   entries carry the generation, which freeing any communicator advances
//   datatypes          only calls with predefined types are kept, whose handles are never reused
//   operators          likewise where the operator matters: in a prepared program, or where an
//                      algorithm was found not to serve the call
//   arrays of counts   the program may rewrite them in place, so calls with them are not kept
//   rules, settings    are read once per process
//
// The lookup is inline: in a function of MPI most arguments of a Call are known to the compiler, so
// what a broadcast does not have is not compared, and the others stay in registers.

#pragma once

#include <mpi.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "collectives/choose.hpp"
#include "collectives/execute/call.hpp"
#include "collectives/execute/communicator_state.hpp"
#include "collectives/execute/prepared_call.hpp"

namespace lanewise::collectives {

/* Who decides what happens to a call: the rules of the tuning file, or the caller. */
enum class DecidedBy : std::uint8_t { rules, caller };

/* Aligned, so that a lookup by the rules reads one cache line of an entry. */
constexpr std::size_t cache_line_bytes = 64;

struct alignas(cache_line_bytes) CachedCall {
    /* What a lookup compares, and what it wants to know of a call that is forwarded. */
    std::uint64_t generation = 0; /* 0: not in the table, and forgotten after the call */
    MPI_Comm comm{};
    MPI_Op op = MPI_OP_NULL;
    MPI_Count send_count = 0;
    MPI_Count receive_count = 0;
    MPI_Datatype send_type = MPI_DATATYPE_NULL;
    MPI_Datatype receive_type = MPI_DATATYPE_NULL;
    int root = 0;
    Operation operation = Collective::barrier;
    bool any_arguments : 1 = false; /* stands for all calls of the operation; the rest of the
                                       arguments is not compared */
    bool send_in_place : 1 = false;
    bool receive_in_place : 1 = false;
    bool forwards : 1 = false; /* goes to the MPI without another look */
    bool asks : 1 = false;     /* all ranks, each time, whether packing fits into memory */
    DecidedBy decided_by = DecidedBy::rules;

    CommunicatorState *state = nullptr;
    bool valid = false;           /* the arguments are, as far as they were looked at */
    bool reduces_exactly = false; /* to an exact result, before any algorithm */
    Choice choice;                /* no algorithm: goes to the MPI */
    const Rule *rule = nullptr;
    std::uint64_t message_bytes = 0;
    std::unique_ptr<PreparedCall> prepared;

    bool is_kept() const { return generation != 0; }
};

/*
 * The table of this thread, made with its first entry: sets of a few ways, so that two calls of one
 * loop do not drive each other out because they have the same hash.
 */
constexpr std::size_t cached_call_sets = 64;
constexpr std::size_t cached_call_ways = 4;
extern constinit thread_local CachedCall *cached_calls;

inline CachedCall *set_of(MPI_Comm comm, Operation operation, std::uint64_t arguments) {
    const auto mixed =
        (std::hash<MPI_Comm>{}(comm) + operation.index() * 0xc2b2ae3d27d4eb4fU + arguments) *
        0x9e3779b97f4a7c15U;
    static_assert(cached_call_sets == std::size_t{1} << 6);
    return cached_calls + cached_call_ways * (mixed >> 58);
}

inline std::uint64_t mixed_arguments(const Call& call, const Algorithm *chosen) {
    return 1 + static_cast<std::uint64_t>(call.send_count) * 0x165667b19e3779f9U +
           static_cast<std::uint64_t>(call.receive_count) * 0x27d4eb2f165667c5U +
           static_cast<std::uint64_t>(call.root) * 0x85ebca77c2b2ae63U +
           reinterpret_cast<std::uintptr_t>(chosen);
}

/* The current entry of a set that `matches`, else null. */
template <typename Matches>
CachedCall *find_in(CachedCall *set, MPI_Comm comm, Operation operation, const Matches& matches) {
    const auto now = generation.load(std::memory_order_acquire);
    for (CachedCall *entry = set; entry != set + cached_call_ways; ++entry) {
        if (entry->comm == comm && entry->operation == operation && entry->generation == now &&
            matches(*entry)) {
            return entry;
        }
    }
    return nullptr;
}

/* The entry for all calls of `operation` on `comm`, else null. */
inline CachedCall *cached_operation(Operation operation, MPI_Comm comm) {
    if (!cached_calls) return nullptr;
    return find_in(set_of(comm, operation, 0), comm, operation,
                   [](const CachedCall& entry) { return entry.any_arguments; });
}

inline bool has_arguments(const CachedCall& entry, const Call& call) {
    return entry.root == call.root && entry.op == call.op && entry.send_count == call.send_count &&
           entry.receive_count == call.receive_count && entry.send_type == call.send_type &&
           entry.receive_type == call.receive_type &&
           entry.send_in_place == (call.send == MPI_IN_PLACE) &&
           entry.receive_in_place == (call.receive == MPI_IN_PLACE) && !entry.any_arguments;
}

/* The entry for this call as the rules decided it, else null. */
inline CachedCall *cached_call(Operation operation, const Call& call) {
    if (!cached_calls || call.counts) return nullptr;
    return find_in(set_of(call.comm, operation, mixed_arguments(call, nullptr)), call.comm,
                   operation, [&](const CachedCall& entry) {
                       return has_arguments(entry, call) && entry.decided_by == DecidedBy::rules;
                   });
}

/* The entry for this blocking call by the algorithm that its caller chose, else null. */
inline CachedCall *cached_call(const Call& call, const Choice& choice) {
    if (!cached_calls || call.counts) return nullptr;
    return find_in(set_of(call.comm, call.collective, mixed_arguments(call, choice.algorithm)),
                   call.comm, call.collective, [&](const CachedCall& entry) {
                       return has_arguments(entry, call) && entry.choice == choice &&
                              entry.decided_by == DecidedBy::caller;
                   });
}

/*
 * Moves `decided` into the table with the arguments of `call`, if calls like it may be kept, and
 * returns it there. Where they may not, or there is no memory, returns `decided` itself.
 */
CachedCall& keep(const Call& call, CachedCall& decided);

/* An entry for all calls of `operation` on `comm`; null where there is no memory. */
CachedCall *keep_operation(Operation operation, MPI_Comm comm, CommunicatorState *state);

/* The state of `comm`, by way of the entry for all calls. Null: the MPI refused. */
CommunicatorState *state_for(Operation operation, MPI_Comm comm);

/* Handles of these are never freed, so they mean the same for ever. */
bool is_predefined_type(MPI_Datatype type);
bool is_predefined_op(MPI_Op op);

}  // namespace lanewise::collectives
