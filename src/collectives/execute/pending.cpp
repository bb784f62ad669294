// SPDX-License-Identifier: BSD-3-Clause
//
// Pending: the same programs without waiting. Each call in flight has memory
// and requests of its own; test goes on where the last test had to stop.

#include "collectives/execute/prepare.hpp"

namespace lanewise::collectives {

class Pending {
  public:
    const State *state = nullptr;
    Arrangement arrangement;
    std::shared_ptr<const Program> program;
    std::vector<MPI_Request> requests;
    std::vector<std::byte> scratch;
    std::size_t next = 0;
    bool finished = false;
};

void PendingDeleter::operator()(Pending *pending) const {
    delete pending;
}

int start(const Call& call, const Choice& choice, bool& served, PendingCall& pending) {
    served = false;
    State *state = state_of(call.comm);
    if (!state) return MPI_ERR_INTERN;
    // Counts that must first be shared would need an exchange before the exchange.
    if (shares_counts(*choice.algorithm)) return MPI_SUCCESS;
    if (!admits(*choice.algorithm, call, *state)) return MPI_SUCCESS;
    PendingCall made(new Pending);
    auto& arrangement = made->arrangement;
    const int code = arrange(call, *state, arrangement);
    if (code != MPI_SUCCESS) return code;
    made->program = program_for(choice, call, *state, arrangement).program;
    if (!made->program) return MPI_SUCCESS;
    served = true;
    made->state = state;
    made->scratch.resize(scratch_bytes(*made->program, arrangement));
    made->requests.assign(static_cast<std::size_t>(made->program->slots), MPI_REQUEST_NULL);
    auto& setting = arrangement.setting;
    setting.comm = state->comm;
    setting.tag = state->next_tag();
    setting.base[2] = made->scratch.data() + arrangement.scratch_shift_bytes;
    pending = std::move(made);
    bool done = false;
    return test(*pending, done);
}

int test(Pending& pending, bool& done) {
    done = pending.finished;
    if (done) return MPI_SUCCESS;
    const auto& program = *pending.program;
    const int code = advance(program, pending.arrangement.setting, pending.requests, pending.next);
    if (code != MPI_SUCCESS || pending.next < program.instructions.size()) return code;
    pending.finished = done = true;
    return unpack_result(pending.arrangement, *pending.state);
}

int wait(Pending& pending) {
    for (bool done = false;;) {
        const int code = test(pending, done);
        if (code != MPI_SUCCESS || done) return code;
    }
}

}  // namespace lanewise::collectives
