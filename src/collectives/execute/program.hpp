// SPDX-License-Identifier: BSD-3-Clause
//
// Program: a schedule compiled to MPI calls. The dependencies of steps become waits on ranges of
// request slots. A message that the very next step waits for, or that is the last one, needs no
// request and becomes a blocking call. Messages of more than a gibibyte are cut into pieces, in the
// same way on both sides.

#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "collectives/execute/datatype.hpp"
#include "model/schedule/schedule.hpp"
#include "sums/combine.hpp"

namespace lanewise::collectives {

enum class Opcode : std::uint8_t {
    send,
    receive,
    copy,
    reduce,
    combine, /* `to` becomes `from` op `right` (fused_steps.hpp) */
    wait,
};

struct Instruction {
    Opcode opcode = Opcode::wait;
    bool blocking = false; /* send, receive: nothing happens on this rank until it is done */
    model::Place from = model::Place::send;
    model::Place to = model::Place::receive;
    model::Place right = model::Place::scratch;
    int peer = -1;
    int slot = 0;     /* send, receive: the request; wait: the first of them */
    int slot_end = 0; /* wait: one past the last */
    std::int64_t units = 0;
    std::int64_t from_bytes = 0;
    std::int64_t to_bytes = 0;
    std::int64_t right_bytes = 0;
};

struct Program {
    std::vector<Instruction> instructions;
    int slots = 0;
    std::int64_t scratch_units = 0;

    std::size_t bytes() const { return instructions.size() * sizeof(Instruction); }
};

/* Who combines: the MPI, or Operands::combine, which may write its result anywhere. */
enum class Arithmetic : std::uint8_t { of_mpi, own };

/* How units lie in memory. */
struct UnitLayout {
    std::int64_t stride_bytes = 1; /* from one to the next */
    std::int64_t data_bytes = 1;   /* in each */
    /* Behind each place in scratch memory, in units: so far may an element reach past the next. */
    std::int64_t units_apart = 0;

    bool operator==(const UnitLayout&) const = default;
};

Program compile(const model::Schedule& schedule, const UnitLayout& layout,
                Arithmetic arithmetic = Arithmetic::of_mpi);

/* In units. */
std::int64_t scratch_with_gaps(const model::Schedule& schedule, std::int64_t units_apart);

/* How a rank waits: in the MPI, or asleep between tests, which leaves the processor to others while
   a message from far away is under way. */
enum class Waiting : std::uint8_t { awake, asleep };

/* Everything that may differ between two runs of one program. */
struct Operands {
    std::array<std::byte *, 3> base = {}; /* by model::Place */
    MPI_Datatype type = MPI_BYTE;         /* of a unit */
    bool plain = true;                    /* units are copied byte by byte */
    std::int64_t stride_bytes = 1;
    MPI_Op op = MPI_OP_NULL;
    sums::Combine combine = nullptr; /* in place of `op`, where bits shall be the same */
    MPI_Comm comm = MPI_COMM_NULL;
    int rank = 0;
    int tag = 0;
    Waiting waiting = Waiting::awake;

    std::byte *& at(model::Place place) { return base[static_cast<std::size_t>(place)]; }
    std::byte *at(model::Place place) const { return base[static_cast<std::size_t>(place)]; }
    ToSelf to_self() const { return {comm, tag}; }
};

/*
 * Runs to the end. `requests` has all slots, which are null before and after. An MPI error code.
 *
 * A rank with an error goes on, because others wait for its messages: from then on it sends spoiled
 * ones, which are longer than their receivers expect, so that these have an error as well, and it
 * receives into nothing. No message is under way afterwards.
 */
int run(const Program& program, const Operands& operands, std::span<MPI_Request> requests);

/* The same on a rank that has an error before it begins: it has no memory to run the program in. */
void spoil(const Program& program, const Operands& operands, std::span<MPI_Request> requests);

/* Whether an error is one of a message's arguments, at which the MPI looks before it sends or takes
   anything: then another rank still waits for the message. */
bool is_of_argument(int code);

/* Who continues a program: a call of the application, or the MPI's progress. */
enum class CalledFrom : std::uint8_t { application, progress };

/* Whether all of them are complete, without waiting. An MPI error code. */
int test_all(std::span<MPI_Request> requests, bool& done, CalledFrom from);

/* How far a program has come. */
struct Position {
    std::size_t next = 0;   /* instruction */
    int code = MPI_SUCCESS; /* the first error, after which messages are spoiled */
};

/* Continues without waiting. Whether the program has ended. */
bool advance(const Program& program, const Operands& operands, std::span<MPI_Request> requests,
             Position& position, CalledFrom from);

/* Where nobody waits for the end: takes back what was posted and not matched, and lets go of all
   requests. */
void abandon(const Program& program, std::span<MPI_Request> requests);

/* Whether every message is started before any is waited for. */
bool posts_at_once(const Program& program);

}  // namespace lanewise::collectives
