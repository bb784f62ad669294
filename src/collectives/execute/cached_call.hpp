// SPDX-License-Identifier: BSD-3-Clause
//
// Rehearsed: a call that needed nothing but its pointers put in: predefined
// types without gaps, one count for all ranks, not in place. An inner loop
// makes the same call again and again, and then nothing is worked out anew.
//
// The last call of a thread is recognised in place, in the text of the caller:
// there most of a call is known to the compiler, so what a broadcast does not
// have is not compared, and the arguments stay in registers.

#pragma once

#include <mpi.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>

#include "collectives/execute/call.hpp"
#include "collectives/execute/program.hpp"

namespace lanewise::collectives {

struct State;

/* Operations on one communicator begin in the same order everywhere, so tags agree. */
struct Tags {
    unsigned taken = 0;

    int next() { return static_cast<int>(taken++ & 0x7fffU); }
};

/* What a rank does in a call, where that is one message: all that a leaf of a tree has to do. */
struct Message {
    enum class Way : std::uint8_t { none, sent, received };

    Way way = Way::none;
    bool in_send_buffer = false; /* else in the one for what is received */
    int count = 0;
    int peer = -1;
    std::int64_t offset_bytes = 0;
};

struct Rehearsed {
    Choice choice;
    int root = 0;
    bool sends = true;    /* what it sends is significant on this rank */
    bool receives = true; /* likewise */
    MPI_Op op = MPI_OP_NULL;
    MPI_Count send_count = 0;
    MPI_Count receive_count = 0;
    MPI_Datatype send_type = MPI_DATATYPE_NULL;
    MPI_Datatype receive_type = MPI_DATATYPE_NULL;

    Message message;
    std::shared_ptr<const Program> program;
    std::size_t scratch_bytes = 0;
    Setting setting;        /* the pointers are put in by each call */
    State *state = nullptr; /* in which this is kept */
    Tags *tags = nullptr;   /* the state's */
};

/* Grows whenever any state dies, so that nobody trusts a handle that was freed and used again. */
extern constinit std::atomic<std::uint64_t> deaths;

/* The last call of this thread. On another communicator, other threads may be writing to it. */
struct Latest {
    MPI_Comm comm{};
    Rehearsed *rehearsed = nullptr;
    std::uint64_t deaths = std::numeric_limits<std::uint64_t>::max(); /* none so far */
};
extern constinit thread_local Latest latest;

/* One count for all ranks, and not in place. */
inline bool is_simple(const Call& call) {
    return !call.counts && call.send != MPI_IN_PLACE && call.receive != MPI_IN_PLACE;
}

/* Whether `call` is this one again. With the same root, the same is significant on this rank. */
inline bool is_again(const Rehearsed& known, const Call& call, const Choice& choice) {
    return known.choice == choice && known.root == call.root && known.op == call.op &&
           (!known.sends ||
            (known.send_count == call.send_count && known.send_type == call.send_type)) &&
           (!known.receives || (known.receive_count == call.receive_count &&
                                known.receive_type == call.receive_type)) &&
           is_simple(call);
}

/* The last call of this thread, if it is `call`; else null. */
inline Rehearsed *latest_if(const Call& call, const Choice& choice) {
    if (latest.deaths != deaths.load(std::memory_order_acquire)) return nullptr;
    if (latest.comm != call.comm) return nullptr;
    return is_again(*latest.rehearsed, call, choice) ? latest.rehearsed : nullptr;
}

/* An MPI error code, as of the next. */
int run_program(Rehearsed& known, const void *send, void *receive);

inline int run_rehearsed(Rehearsed& known, const void *send, void *receive) {
    const Message& m = known.message;
    if (m.way == Message::Way::none) return run_program(known, send, receive);
    const Setting& s = known.setting;
    const int tag = known.tags->next();
    const auto *buffer = static_cast<const std::byte *>(m.in_send_buffer ? send : receive);
    const std::byte *data = buffer + m.offset_bytes;
    if (m.way == Message::Way::sent) return PMPI_Send(data, m.count, s.type, m.peer, tag, s.comm);
    return PMPI_Recv(const_cast<std::byte *>(data), m.count, s.type, m.peer, tag, s.comm,
                     MPI_STATUS_IGNORE);
}

}  // namespace lanewise::collectives
