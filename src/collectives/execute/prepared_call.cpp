// SPDX-License-Identifier: BSD-3-Clause

#include "collectives/execute/prepared_call.hpp"

#include <new>
#include <span>
#include <vector>

namespace lanewise::collectives {
namespace {

// Scratch memory up to this size is kept from call to call.
constexpr std::size_t kept_scratch_bytes = std::size_t{1} << 22;

bool has_scratch(CommunicatorState& state, std::size_t bytes) {
    if (state.scratch.size() >= bytes) return true;
    try {
        state.scratch.resize(bytes);
    } catch (const std::bad_alloc&) {
        return false;
    }
    return true;
}

}  // namespace

int run_with_scratch(const Program& program, Operands& operands, std::size_t scratch_bytes,
                     std::int64_t shift_bytes, CommunicatorState& state, int code) {
    const auto slots = static_cast<std::size_t>(program.slots);
    if (state.requests.size() < slots) state.requests.resize(slots, MPI_REQUEST_NULL);
    const auto requests = std::span(state.requests).first(slots);
    if (code == MPI_SUCCESS && !has_scratch(state, scratch_bytes)) code = MPI_ERR_NO_MEM;
    if (code != MPI_SUCCESS) {
        spoil(program, operands, requests);
        return code;
    }
    if (scratch_bytes > 0) operands.at(model::Place::scratch) = state.scratch.data() + shift_bytes;
    code = run(program, operands, requests);
    if (state.scratch.size() > kept_scratch_bytes) std::vector<std::byte>().swap(state.scratch);
    return code;
}

/* The first time has made room for the requests, and it is kept; scratch memory may not be. */
int run_program(PreparedCall& call, const void *send, void *receive) {
    Operands& operands = call.operands;
    operands.at(model::Place::send) = static_cast<std::byte *>(const_cast<void *>(send));
    operands.at(model::Place::receive) = static_cast<std::byte *>(receive);
    operands.tag = call.state->tags.next();
    if (call.scratch_bytes > 0) {
        return run_with_scratch(*call.program, operands, call.scratch_bytes, 0, *call.state);
    }
    return run(*call.program, operands, call.state->requests);
}

int make_up_for_message(PreparedCall& call, int tag, int code) {
    if (!is_of_argument(code)) return code;
    call.operands.tag = tag;
    spoil(*call.program, call.operands, call.state->requests);
    return code;
}

}  // namespace lanewise::collectives
