// SPDX-License-Identifier: BSD-3-Clause
//
// PreparedCall: a call that was executed once and needs nothing but its buffers to be executed
// again. Where all that this rank does is one message that may block, no program is run for it.

#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "collectives/execute/communicator_state.hpp"
#include "collectives/execute/program.hpp"

namespace lanewise::collectives {

/* What a rank does in a call that is one blocking message for it, as for a leaf of a tree. */
struct Message {
    enum class Direction : std::uint8_t { none, send, receive };

    Direction direction = Direction::none;
    bool in_send_buffer = false; /* else in the receive buffer */
    int count = 0;
    int peer = -1;
    std::int64_t offset_bytes = 0;
};

/* An executed call that needs nothing but its buffers to be executed again. */
struct PreparedCall {
    Message message;
    std::shared_ptr<const Program> program;
    std::size_t scratch_bytes = 0;
    Operands operands; /* the buffers are put in by each call */
    CommunicatorState *state = nullptr;
};

/* Runs a program on the communicator of `state`, with scratch memory that is kept from call to
   call; an MPI error code, as of the next two. Where there is one already, `code`, or no memory,
   the others are told of it (spoil). */
int run_with_scratch(const Program& program, Operands& operands, std::size_t scratch_bytes,
                     std::int64_t shift_bytes, CommunicatorState& state, int code = MPI_SUCCESS);

/* Executes with any program. */
int run_program(PreparedCall& call, const void *send, void *receive);

/* After an error of the only message; returns it. */
int make_up_for_message(PreparedCall& call, int tag, int code);

inline int run_prepared(PreparedCall& call, const void *send, void *receive) {
    const Message& m = call.message;
    if (m.direction == Message::Direction::none) return run_program(call, send, receive);
    const Operands& o = call.operands;
    const int tag = call.state->tags.next();
    const auto *buffer = static_cast<const std::byte *>(m.in_send_buffer ? send : receive);
    const std::byte *data = buffer + m.offset_bytes;
    const int code = m.direction == Message::Direction::send
                         ? PMPI_Send(data, m.count, o.type, m.peer, tag, o.comm)
                         : PMPI_Recv(const_cast<std::byte *>(data), m.count, o.type, m.peer, tag,
                                     o.comm, MPI_STATUS_IGNORE);
    return code == MPI_SUCCESS ? code : make_up_for_message(call, tag, code);
}

}  // namespace lanewise::collectives
