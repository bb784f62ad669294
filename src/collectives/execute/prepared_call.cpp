// SPDX-License-Identifier: BSD-3-Clause

#include "collectives/execute/prepared_call.hpp"

#include <span>
#include <utility>
#include <vector>

#include "collectives/execute/kept_memory.hpp"

namespace lanewise::collectives {
namespace {

// Scratch memory up to this size is kept from call to call.
constexpr std::size_t kept_scratch_bytes = std::size_t{1} << 22;

}  // namespace

int run_with_scratch(const Program& program, Operands& operands, std::size_t scratch_bytes,
                     std::int64_t shift_bytes, CommunicatorState& state) {
    const auto slots = static_cast<std::size_t>(program.slots);
    if (state.requests.size() < slots) state.requests.resize(slots, MPI_REQUEST_NULL);
    if (state.scratch.size() < scratch_bytes) state.scratch.resize(scratch_bytes);
    operands.base[2] = state.scratch.data() + shift_bytes;
    operands.tag = state.tags.next();
    const int code = run(program, operands, std::span(state.requests).first(slots));
    if (code != MPI_SUCCESS) keep_for_ever(std::exchange(state.scratch, {}));
    if (state.scratch.size() > kept_scratch_bytes) std::vector<std::byte>().swap(state.scratch);
    return code;
}

/* The first time has made room for the requests, and it is kept; scratch memory may not be. */
int run_program(PreparedCall& call, const void *send, void *receive) {
    Operands& operands = call.operands;
    operands.base[0] = static_cast<std::byte *>(const_cast<void *>(send));
    operands.base[1] = static_cast<std::byte *>(receive);
    if (call.scratch_bytes > 0) {
        return run_with_scratch(*call.program, operands, call.scratch_bytes, 0, *call.state);
    }
    operands.tag = call.state->tags.next();
    return run(*call.program, operands, call.state->requests);
}

}  // namespace lanewise::collectives
