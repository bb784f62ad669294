// SPDX-License-Identifier: BSD-3-Clause

#include "collectives/execute/execute.hpp"

#include "collectives/execute/prepare.hpp"

namespace lanewise::collectives {

constinit thread_local Latest latest;

namespace {

// Scratch memory up to this size is kept from call to call.
constexpr std::size_t kept_scratch_bytes = std::size_t{1} << 22;

int run_here(const Program& program, Setting& setting, std::size_t scratch_bytes,
             std::int64_t shift_bytes, State& state) {
    const auto slots = static_cast<std::size_t>(program.slots);
    if (state.requests.size() < slots) state.requests.resize(slots, MPI_REQUEST_NULL);
    if (state.scratch.size() < scratch_bytes) state.scratch.resize(scratch_bytes);
    setting.base[2] = state.scratch.data() + shift_bytes;
    setting.tag = state.tags.next();
    const int code = run(program, setting, std::span(state.requests).first(slots));
    if (state.scratch.size() > kept_scratch_bytes) std::vector<std::byte>().swap(state.scratch);
    return code;
}

int run_arranged(const Program& program, State& state, Arrangement& arrangement) {
    arrangement.setting.comm = state.comm;
    const int code = run_here(program, arrangement.setting, scratch_bytes(program, arrangement),
                              arrangement.scratch_shift_bytes, state);
    return code == MPI_SUCCESS ? unpack_result(arrangement, state) : code;
}

/* Gives every rank the byte counts that the root of a scatterv or gatherv knows. */
int share_counts(const Call& call, State& state, Arrangement& arrangement) {
    arrangement.counts.resize(static_cast<std::size_t>(state.ranks));
    const Call news{.collective = Collective::bcast,
                    .receive = arrangement.counts.data(),
                    .receive_count = state.ranks,
                    .receive_type = MPI_INT64_T,
                    .root = call.root,
                    .comm = call.comm};
    Arrangement carrier;
    const int code = arrange(news, state, carrier);
    if (code != MPI_SUCCESS) return code;
    const Choice choice{find_algorithm(Collective::bcast, "binomial"), 0, 1};
    return run_arranged(*program_for(choice, news, state, carrier).program, state, carrier);
}

bool may_repeat(const Call& call) {
    return is_simple(call) && call.collective != Collective::scatterv &&
           call.collective != Collective::gatherv;
}

bool is_predefined(MPI_Datatype type) {
    if (type == MPI_DATATYPE_NULL) return true;
    const auto layout = layout_of(type);
    return layout.plain && layout.predefined;
}

/* All that is done here, if it is one message to its end; not slept for, which takes a request. */
Message message_of(const Program& program, const Setting& setting) {
    if (program.instructions.size() != 1 || setting.waiting == Waiting::asleep) return {};
    const Instruction& only = program.instructions.front();
    if (!only.blocking) return {};
    const bool sent = only.act == Act::send;
    return {.way = sent ? Message::Way::sent : Message::Way::received,
            .in_send_buffer = (sent ? only.from : only.to) == model::Place::send,
            .count = static_cast<int>(only.units),
            .peer = only.peer,
            .offset_bytes = sent ? only.from_bytes : only.to_bytes};
}

void remember(MPI_Comm comm, Rehearsed& rehearsed) {
    latest = {comm, &rehearsed, deaths.load(std::memory_order_acquire)};
}

void rehearse(const Call& call, const Choice& choice, const KeptProgram& kept, State& state,
              const Arrangement& arrangement) {
    if (!may_repeat(call) || !is_predefined_op(call.op)) return;
    if (!is_predefined(call.send_type) || !is_predefined(call.receive_type)) return;
    const bool root = state.rank == call.root;
    remember(call.comm, state.keep({.choice = choice,
                                    .root = call.root,
                                    .sends = root || call.collective != Collective::scatter,
                                    .receives = root || call.collective != Collective::gather,
                                    .op = call.op,
                                    .send_count = call.send_count,
                                    .receive_count = call.receive_count,
                                    .send_type = call.send_type,
                                    .receive_type = call.receive_type,
                                    .message = message_of(*kept.program, arrangement.setting),
                                    .program = kept.program,
                                    .scratch_bytes = scratch_bytes(*kept.program, arrangement),
                                    .setting = arrangement.setting,
                                    .state = &state,
                                    .tags = &state.tags}));
}

/* Simulated ranks take no processor from each other, and real sleep is no simulated time. */
Waiting waiting_of([[maybe_unused]] const Algorithm& algorithm) {
#ifdef LANEWISE_SIMULATED
    return Waiting::awake;
#else
    return algorithm.needs.sites ? Waiting::asleep : Waiting::awake;
#endif
}

int execute_anew(const Call& given, const Choice& choice, State& state, bool& served) {
    const Call call = significant(given, state);
    if (!admits(*choice.algorithm, call, state)) return MPI_SUCCESS;
    Arrangement arrangement;
    int code = arrange(call, state, arrangement);
    if (code == MPI_SUCCESS && shares_counts(*choice.algorithm)) {
        code = share_counts(call, state, arrangement);
    }
    if (code != MPI_SUCCESS) return code;
    arrangement.setting.waiting = waiting_of(*choice.algorithm);
    const auto& kept = program_for(choice, call, state, arrangement);
    if (!kept.program) return MPI_SUCCESS;
    served = true;
    code = run_arranged(*kept.program, state, arrangement);
    rehearse(call, choice, kept, state, arrangement);
    return code;
}

}  // namespace

/* The first time has made room for the requests, and it is kept; scratch memory may not be. */
int run_program(Rehearsed& known, const void *send, void *receive) {
    Setting& setting = known.setting;
    setting.base[0] = static_cast<std::byte *>(const_cast<void *>(send));
    setting.base[1] = static_cast<std::byte *>(receive);
    if (known.scratch_bytes > 0) {
        return run_here(*known.program, setting, known.scratch_bytes, 0, *known.state);
    }
    setting.tag = known.tags->next();
    return run(*known.program, setting, known.state->requests);
}

int execute_other(const Call& call, const Choice& choice, bool& served) {
    served = false;
    State *state = state_of(call.comm);
    if (!state) return MPI_ERR_INTERN;
    Rehearsed *known = state->find_rehearsed(call, choice);
    if (!known) return execute_anew(call, choice, *state, served);
    remember(call.comm, *known);
    served = true;
    return run_rehearsed(*known, call.send, call.receive);
}

bool get_ready(MPI_Comm comm) {
    return state_of(comm) != nullptr;
}

std::string why_no_sites(MPI_Comm comm) {
    const State *state = state_of(comm);
    if (!state || state->located.site_count() > 1) return "";
    if (!state->located.complaint.empty()) return state->located.complaint;
    return state->located.sites.empty() ? "LANEWISE_PLACEMENT names no file with the ranks' sites"
                                        : "all ranks are at one site";
}

}  // namespace lanewise::collectives
