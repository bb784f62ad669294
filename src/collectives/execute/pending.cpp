// SPDX-License-Identifier: BSD-3-Clause
//
// Pending: the same programs without waiting. Each call in flight has memory
// and requests of its own; test goes on where the last test had to stop. The
// caller may free communicator and datatypes meanwhile, so both are held.

#include "collectives/execute/prepare.hpp"

namespace lanewise::collectives {

/* A datatype that lives as long as its holder; those that cannot be freed are not copied. */
class HeldType {
  public:
    HeldType() = default;
    ~HeldType() {
        if (own_ != MPI_DATATYPE_NULL) PMPI_Type_free(&own_);
    }
    HeldType(const HeldType&) = delete;
    HeldType& operator=(const HeldType&) = delete;

    int hold(MPI_Datatype& type) {
        if (type == MPI_DATATYPE_NULL || layout_of(type).predefined) return MPI_SUCCESS;
        const int code = PMPI_Type_dup(type, &own_);
        if (code == MPI_SUCCESS) type = own_;
        return code;
    }

  private:
    MPI_Datatype own_ = MPI_DATATYPE_NULL;
};

class Pending {
  public:
    std::shared_ptr<State> state;
    Arrangement arrangement;
    HeldType element;  /* of what is reduced */
    HeldType unpacked; /* of where the result goes at the end */
    std::shared_ptr<const Program> program;
    std::vector<MPI_Request> requests;
    std::vector<std::byte> scratch;
    std::size_t next = 0;
    bool finished = false;

    int hold_types() {
        const int code = element.hold(arrangement.setting.type);
        return code == MPI_SUCCESS ? unpacked.hold(arrangement.unpacked.type) : code;
    }
};

void PendingDeleter::operator()(Pending *pending) const {
    delete pending;
}

int start(const Call& given, const Choice& choice, bool& served, PendingCall& pending) {
    served = false;
    State *state = state_of(given.comm);
    if (!state) return MPI_ERR_INTERN;
    // Counts that must first be shared would need an exchange before the exchange.
    if (shares_counts(*choice.algorithm)) return MPI_SUCCESS;
    const Call call = significant(given, *state);
    if (!admits(*choice.algorithm, call, *state)) return MPI_SUCCESS;
    PendingCall made(new Pending);
    auto& arrangement = made->arrangement;
    const int code = arrange(call, *state, arrangement);
    if (code != MPI_SUCCESS) return code;
    made->program = program_for(choice, call, *state, arrangement).program;
    if (!made->program) return MPI_SUCCESS;
    if (const int held = made->hold_types(); held != MPI_SUCCESS) return held;
    served = true;
    made->state = state->shared_from_this();
    made->scratch.resize(scratch_bytes(*made->program, arrangement));
    made->requests.assign(static_cast<std::size_t>(made->program->slots), MPI_REQUEST_NULL);
    auto& setting = arrangement.setting;
    setting.comm = state->comm;
    setting.tag = state->tags.next();
    setting.base[2] = made->scratch.data() + arrangement.scratch_shift_bytes;
    pending = std::move(made);
    bool done = false;
    return test(*pending, done);
}

int test(Pending& pending, bool& done, From from) {
    done = pending.finished;
    if (done) return MPI_SUCCESS;
    const auto& program = *pending.program;
    const int code =
        advance(program, pending.arrangement.setting, pending.requests, pending.next, from);
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
