// SPDX-License-Identifier: BSD-3-Clause

#include "collectives/execute/cached_call.hpp"

#include <algorithm>
#include <new>
#include <span>

#include "collectives/execute/datatype.hpp"

namespace lanewise::collectives {

constinit thread_local CachedCall *cached_calls = nullptr;

namespace {

// Destructors of other thread-local objects may still make calls after the table is gone.
constinit thread_local bool thread_ends = false;

struct Table {
    std::unique_ptr<CachedCall[]> entries;
    std::size_t next_victim = 0;

    ~Table() {
        cached_calls = nullptr;
        thread_ends = true;
    }
};

/* An entry of this set to be overwritten: one that is out of date, else each in turn. Null: there
   is no memory for a table. */
CachedCall *vacate(MPI_Comm comm, Operation operation, std::uint64_t arguments) {
    if (thread_ends) return nullptr;
    thread_local Table table;
    if (!cached_calls) {
        table.entries.reset(new (std::nothrow) CachedCall[cached_call_sets * cached_call_ways]);
        cached_calls = table.entries.get();
    }
    if (!cached_calls) return nullptr;
    const std::span set(set_of(comm, operation, arguments), cached_call_ways);
    const auto now = generation.load(std::memory_order_acquire);
    const auto stale =
        std::ranges::find_if(set, [&](const auto& entry) { return entry.generation != now; });
    auto& entry = stale != set.end() ? *stale : set[table.next_victim++ % set.size()];
    entry = CachedCall();
    entry.generation = now;
    entry.comm = comm;
    entry.operation = operation;
    return &entry;
}

/* A program may pass anything where an argument is not significant, so nothing is asked of it. */
bool may_be_kept(const Call& call) {
    const bool by_counts = is_sizeless(call.collective) && !has_even_blocks(call.collective);
    return !by_counts && !call.counts && is_predefined_type(call.send_type) &&
           is_predefined_type(call.receive_type);
}

}  // namespace

bool is_predefined_type(MPI_Datatype type) {
    // MPI_Type_get_envelope would tell, but MPICH aborts when asked about types with large counts.
    const MPI_Datatype predefined[] = {MPI_DATATYPE_NULL,
                                       MPI_BYTE,
                                       MPI_PACKED,
                                       MPI_CHAR,
                                       MPI_SIGNED_CHAR,
                                       MPI_UNSIGNED_CHAR,
                                       MPI_WCHAR,
                                       MPI_SHORT,
                                       MPI_UNSIGNED_SHORT,
                                       MPI_INT,
                                       MPI_UNSIGNED,
                                       MPI_LONG,
                                       MPI_UNSIGNED_LONG,
                                       MPI_LONG_LONG,
                                       MPI_UNSIGNED_LONG_LONG,
                                       MPI_FLOAT,
                                       MPI_DOUBLE,
                                       MPI_LONG_DOUBLE,
                                       MPI_INT8_T,
                                       MPI_INT16_T,
                                       MPI_INT32_T,
                                       MPI_INT64_T,
                                       MPI_UINT8_T,
                                       MPI_UINT16_T,
                                       MPI_UINT32_T,
                                       MPI_UINT64_T,
                                       MPI_AINT,
                                       MPI_COUNT,
                                       MPI_OFFSET,
                                       MPI_C_BOOL,
                                       MPI_C_FLOAT_COMPLEX,
                                       MPI_C_DOUBLE_COMPLEX,
                                       MPI_C_LONG_DOUBLE_COMPLEX,
                                       MPI_CXX_BOOL,
#ifndef LANEWISE_SIMULATED  // SMPI declares these two and does not define them
                                       MPI_CXX_FLOAT_COMPLEX,
                                       MPI_CXX_DOUBLE_COMPLEX,
#endif
                                       MPI_FLOAT_INT,
                                       MPI_DOUBLE_INT,
                                       MPI_2INT,
                                       MPI_LONG_INT,
                                       MPI_SHORT_INT,
                                       MPI_INTEGER,
                                       MPI_REAL,
                                       MPI_DOUBLE_PRECISION,
                                       MPI_COMPLEX,
                                       MPI_DOUBLE_COMPLEX,
                                       MPI_LOGICAL,
                                       MPI_CHARACTER,
                                       MPI_INTEGER4,
                                       MPI_INTEGER8,
                                       MPI_REAL4,
                                       MPI_REAL8,
                                       MPI_2REAL,
                                       MPI_2DOUBLE_PRECISION,
                                       MPI_2INTEGER};
    return is_one_of(type, predefined);
}

bool is_predefined_op(MPI_Op op) {
    const MPI_Op predefined[] = {MPI_OP_NULL, MPI_SUM,    MPI_MAX,   MPI_MIN,  MPI_PROD,
                                 MPI_LAND,    MPI_LOR,    MPI_LXOR,  MPI_BAND, MPI_BOR,
                                 MPI_BXOR,    MPI_MAXLOC, MPI_MINLOC};
    return is_one_of(op, predefined);
}

CachedCall& keep(const Call& call, CachedCall& decided) {
    if (!may_be_kept(call)) return decided;
    const bool by_caller = decided.decided_by == DecidedBy::caller;
    const auto arguments = mixed_arguments(call, by_caller ? decided.choice.algorithm : nullptr);
    auto *entry = vacate(call.comm, decided.operation, arguments);
    if (!entry) return decided;
    decided.generation = entry->generation;
    decided.comm = call.comm;
    decided.send_in_place = call.send == MPI_IN_PLACE;
    decided.receive_in_place = call.receive == MPI_IN_PLACE;
    decided.root = call.root;
    decided.op = call.op;
    decided.send_count = call.send_count;
    decided.receive_count = call.receive_count;
    decided.send_type = call.send_type;
    decided.receive_type = call.receive_type;
    *entry = std::move(decided);
    return *entry;
}

CachedCall *keep_operation(Operation operation, MPI_Comm comm, CommunicatorState *state) {
    auto *entry = vacate(comm, operation, 0);
    if (!entry) return nullptr;
    entry->state = state;
    entry->any_arguments = true;
    return entry;
}

CommunicatorState *state_for(Operation operation, MPI_Comm comm) {
    if (const auto *known = cached_operation(operation, comm)) return known->state;
    auto *state = state_of(comm);
    if (state) keep_operation(operation, comm, state);
    return state;
}

}  // namespace lanewise::collectives
