// SPDX-License-Identifier: BSD-3-Clause

#include "collectives/execute/execute.hpp"

#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "collectives/execute/exact_call.hpp"
#include "collectives/execute/held_handles.hpp"
#include "collectives/execute/kept_blocks.hpp"
#include "collectives/execute/prepare.hpp"
#include "sums/mpi/exact_reduction.hpp"

namespace lanewise::collectives {
namespace {

int run_arranged(const Program& program, const Call& call, CommunicatorState& state,
                 Arrangement& arrangement) {
    arrangement.operands.comm = state.duplicate;
    arrangement.operands.tag = state.tags.next();
    const int packed = pack_input(call, state, arrangement);
    const int code =
        run_with_scratch(program, arrangement.operands, scratch_bytes(program, arrangement),
                         arrangement.scratch_shift_bytes, state, packed);
    return code == MPI_SUCCESS ? unpack_result(arrangement) : code;
}

/* Gives every rank the byte counts that the root of a scatterv or gatherv knows. */
int share_counts(const Call& call, CommunicatorState& state, Arrangement& arrangement) {
    arrangement.counts.resize(static_cast<std::size_t>(state.ranks));
    const Call bcast{.collective = Collective::bcast,
                     .receive = arrangement.counts.data(),
                     .receive_count = state.ranks,
                     .receive_type = MPI_INT64_T,
                     .root = call.root,
                     .comm = call.comm};
    Arrangement arranged;
    arrange(bcast, state, arranged);
    const Choice choice{find_algorithm(Collective::bcast, "binomial"), 0, 1};
    // Takes no scratch memory, so there is one.
    const auto program = program_for(choice, bcast, state, arranged).program;
    return run_arranged(*program, bcast, state, arranged);
}

// The table of calls has room for many of them.
constexpr std::size_t prepared_bytes_max = std::size_t{64} << 10;

/* Whether other buffers are all that differs when this call is made again. */
bool needs_only_buffers(const Call& call) {
    const auto plain = [](MPI_Datatype type) {
        return type == MPI_DATATYPE_NULL || layout_of(type).plain;
    };
    return call.send != MPI_IN_PLACE && call.receive != MPI_IN_PLACE && is_predefined_op(call.op) &&
           plain(call.send_type) && plain(call.receive_type);
}

/* The only thing that this rank does, if that is a message that can block in the MPI. A rank that
   waits asleep needs a request, so that does not count. */
Message message_of(const Program& program, const Operands& operands) {
    if (program.instructions.size() != 1 || operands.waiting == Waiting::asleep) return {};
    const Instruction& only = program.instructions.front();
    if (!only.blocking) return {};
    const bool sends = only.opcode == Opcode::send;
    return {.direction = sends ? Message::Direction::send : Message::Direction::receive,
            .in_send_buffer = (sends ? only.from : only.to) == model::Place::send,
            .count = static_cast<int>(only.units),
            .peer = only.peer,
            .offset_bytes = sends ? only.from_bytes : only.to_bytes};
}

/* Simulated ranks take no processor from each other, and real sleep is no simulated time. */
Waiting waiting_of([[maybe_unused]] const Algorithm& algorithm) {
#ifdef LANEWISE_SIMULATED
    return Waiting::awake;
#else
    return algorithm.needs.sites ? Waiting::asleep : Waiting::awake;
#endif
}

void choose_arithmetic(const Call& call, const Choice& choice, Operands& operands) {
    if (choice.same_bits == SameBits::unasked) return;
    operands.combine = sums::combine_of(call.op, call.receive_type);
}

int execute_and_prepare(const Call& given, CachedCall& decided, bool& served) {
    CommunicatorState& state = *decided.state;
    const Choice& choice = decided.choice;
    const Call call = significant(given, state);
    if (!admits(*choice.algorithm, call, state)) return MPI_SUCCESS;
    Arrangement arrangement;
    arrange(call, state, arrangement);
    choose_arithmetic(call, choice, arrangement.operands);
    if (shares_counts(*choice.algorithm)) {
        const int shared = share_counts(call, state, arrangement);
        if (shared != MPI_SUCCESS) return shared;
    }
    bool asked = false;
    const bool fits = packing_fits(call, state, arrangement, asked);
    decided.asks = asked;
    if (!fits) return MPI_SUCCESS;
    arrangement.operands.waiting = waiting_of(*choice.algorithm);
    const auto& kept = program_for(choice, call, state, arrangement);
    if (!kept.program) return MPI_SUCCESS;
    served = true;
    const auto program = kept.program;
    const int code = run_arranged(*program, call, state, arrangement);
    // To look up a long program takes little of the time of its call.
    if (program->bytes() > prepared_bytes_max) return code;
    // Whether packing fits on all ranks is asked before each call.
    if (!decided.is_kept() || asked || !needs_only_buffers(call)) return code;
    decided.prepared = std::make_unique<PreparedCall>(
        PreparedCall{.message = message_of(*program, arrangement.operands),
                     .program = program,
                     .scratch_bytes = scratch_bytes(*program, arrangement),
                     .operands = arrangement.operands,
                     .state = &state});
    return code;
}

}  // namespace

int execute(const Call& call, CachedCall& decided, bool& served) {
    served = decided.prepared != nullptr;
    if (served) return run_prepared(*decided.prepared, call.send, call.receive);
    const int prepared = prepare_to_execute(*decided.state, call.comm);
    if (prepared != MPI_SUCCESS || decided.state->is_left_to_mpi) return prepared;
    return execute_and_prepare(call, decided, served);
}

int execute_unprepared(const Call& call, const Choice& choice, bool& served) {
    served = false;
    if (auto *known = cached_call(call, choice)) return execute(call, *known, served);
    CachedCall decided;
    decided.state = state_for(call.collective, call.comm);
    if (!decided.state) return MPI_ERR_INTERN;
    decided.operation = call.collective;
    decided.decided_by = DecidedBy::caller;
    decided.choice = choice;
    return execute(call, keep(call, decided), served);
}

namespace {

/* Messages of a call that was given up may still arrive, so the memory that they go to, or come
   from, is never given back. */
void keep_for_ever(std::vector<std::byte>&& memory) {
    if (memory.empty()) return;
    static std::mutex& lock = *new std::mutex;
    static auto& kept = *new std::vector<std::vector<std::byte>>;
    const std::lock_guard guard(lock);
    kept.push_back(std::move(memory));
}

}  // namespace

/*
 * A call in flight has memory and requests of its own, and a test goes on where the last one had to
 * stop. The program may free communicator and datatypes meanwhile, so both are held.
 */
class Pending {
  public:
    std::shared_ptr<CommunicatorState> state;
    Arrangement arrangement;
    HeldType unpacked;                     /* of where the result goes at the end */
    std::vector<HeldType> unpacked_blocks; /* the same where each block has a type of its own */
    std::vector<MPI_Datatype> block_types;
    HeldHandle<Operators> operation; /* of the program, and the type that it looks at */
    HeldHandle<Datatypes> operand;
    std::shared_ptr<const Program> program;
    std::vector<MPI_Request> requests;
    std::vector<std::byte> scratch;
    Position position;
    bool combines_collected = false; /* what all have sent, once it is here */
    std::int64_t own_begin = 0;      /* units before the own part of it */
    SharedPersistentCall persistent; /* of which this is a start; keeps its tag */
    bool finished = false;

    Pending() = default;
    Pending(const Pending&) = delete;
    Pending& operator=(const Pending&) = delete;

    /* A call that nobody waited for may have messages under way. */
    ~Pending() {
        if (finished || !program) return;
        abandon(*program, requests);
        keep_for_ever(std::move(scratch));
        for (auto& packed : arrangement.packed) keep_for_ever(std::move(packed));
    }

    int hold_types() {
        const auto& operands = arrangement.operands;
        // The MPI's own operators take only types of the MPI, of which it may have more than are
        // known here. Nobody frees those. An operator of the program is given the very type that
        // the program passed; where nobody notices what is freed, the program keeps both.
        if (frees_are_intercepted && !is_predefined_op(operands.op)) {
            operation.hold(operands.op);
            if (!is_predefined_type(operands.type)) operand.hold(operands.type);
        }
        return arrangement.unpacked.types ? hold_block_types()
                                          : unpacked.hold(arrangement.unpacked.type);
    }

    int hold_block_types() {
        auto& side = arrangement.unpacked;
        block_types.assign(static_cast<std::size_t>(side.blocks), MPI_DATATYPE_NULL);
        unpacked_blocks = std::vector<HeldType>(block_types.size());
        for (int r = 0; r < side.blocks; ++r) {
            const auto block = static_cast<std::size_t>(r);
            if (side.count_of(r) == 0) continue;
            block_types[block] = side.types[r];
            const int code = unpacked_blocks[block].hold(block_types[block]);
            if (code != MPI_SUCCESS) return code;
        }
        side.types = block_types.data();
        return MPI_SUCCESS;
    }

    /* After the schedule. An MPI error code. */
    int give_result() {
        const int code = unpack_result(arrangement);
        if (code != MPI_SUCCESS || !combines_collected) return code;
        const auto& operands = arrangement.operands;
        return combine_collected(
            operands, operands.at(model::Place::send) + own_begin * operands.stride_bytes,
            arrangement.count, state->ranks);
    }

    int take_scratch(std::size_t bytes) {
        try {
            scratch.resize(bytes);
        } catch (const std::bad_alloc&) {
            return MPI_ERR_NO_MEM;
        }
        return MPI_SUCCESS;
    }
};

void PendingDeleter::operator()(Pending *pending) const {
    delete pending;
}

namespace {

/* Units of a vector before the part of which this rank gets the result. */
std::int64_t own_begin_of(const Call& call, const CommunicatorState& state,
                          const Arrangement& arrangement) {
    if (call.collective != Collective::reduce_scatter) return 0;
    const auto own = static_cast<std::size_t>(state.rank);
    return arrangement.offsets.empty() ? arrangement.count * state.rank : arrangement.offsets[own];
}

/* The call as far as nothing is sent, without its program. */
PendingCall arrange_pending(const Call& call, const Choice& choice,
                            const CommunicatorState& state) {
    PendingCall made(new Pending);
    arrange(call, state, made->arrangement);
    choose_arithmetic(call, choice, made->arrangement.operands);
    return made;
}

void give_program(Pending& pending, const Call& call, const Choice& choice,
                  CommunicatorState& state, std::shared_ptr<const Program> program) {
    const auto& arrangement = pending.arrangement;
    pending.program = std::move(program);
    pending.requests.assign(static_cast<std::size_t>(pending.program->slots), MPI_REQUEST_NULL);
    if (is_collecting(choice.algorithm)) {
        pending.combines_collected =
            call.collective != Collective::reduce || state.rank == call.root;
        pending.own_begin = own_begin_of(call, state, arrangement);
    }
    pending.state = state.shared_from_this();
}

/* The call as far as nothing is sent; null, on every rank alike, where it is not served. */
PendingCall prepare_pending(const Call& call, const Choice& choice, CommunicatorState& state) {
    if (!admits(*choice.algorithm, call, state)) return nullptr;
    auto made = arrange_pending(call, choice, state);
    auto program = program_for(choice, call, state, made->arrangement).program;
    if (!program) return nullptr;
    give_program(*made, call, choice, state, std::move(program));
    return made;
}

/* An error is told at the end, because the other ranks wait for messages until then. */
void begin(Pending& pending, const Call& call, int tag) {
    auto& arrangement = pending.arrangement;
    auto& operands = arrangement.operands;
    operands.comm = pending.state->duplicate;
    operands.tag = tag;
    int& code = pending.position.code;
    code = pack_input(call, *pending.state, arrangement);
    if (code == MPI_SUCCESS) code = pending.hold_types();
    if (code == MPI_SUCCESS) {
        code = pending.take_scratch(scratch_bytes(*pending.program, arrangement));
    }
    if (auto& scratch = pending.scratch; !scratch.empty()) {
        operands.at(model::Place::scratch) = scratch.data() + arrangement.scratch_shift_bytes;
    }
    bool done = false;
    test(pending, done);
}

}  // namespace

int start(const Call& given, const Choice& choice, CommunicatorState& state, bool& served,
          PendingCall& pending) {
    served = false;
    const int prepared = prepare_to_execute(state, given.comm);
    if (prepared != MPI_SUCCESS || state.is_left_to_mpi) return prepared;
    // Counts that must first be shared would need an exchange before the exchange.
    if (shares_counts(*choice.algorithm)) return MPI_SUCCESS;
    const Call call = significant(given, state);
    auto made = prepare_pending(call, choice, state);
    if (!made) return MPI_SUCCESS;
    served = true;
    pending = std::move(made);
    begin(*pending, call, state.tags.next());
    return MPI_SUCCESS;
}

int start(const Call& call, const Choice& choice, bool& served, PendingCall& pending) {
    served = false;
    auto *state = state_for({call.collective, Calling::nonblocking}, call.comm);
    return state ? start(call, choice, *state, served, pending) : MPI_ERR_INTERN;
}

/* Starts of one call follow each other in the same order on every rank, so they share a tag. */
class PersistentCall {
  public:
    PersistentCall(const Call& given, const Choice& chosen, CommunicatorState& on,
                   std::shared_ptr<const Program> compiled, int reserved)
        : call(given),
          choice(chosen),
          state(on.shared_from_this()),
          program(std::move(compiled)),
          tag(reserved) {
        call.comm = state->duplicate;
        received_blocks_.keep(call.counts, call.displacements, call.receive_types,
                              received_blocks(call, *state));
        if (call.send != MPI_IN_PLACE) {
            sent_blocks_.keep(call.send_counts, call.send_displacements, call.send_types,
                              sent_blocks(call, *state));
        }
        if (!is_predefined_op(call.op)) operation_.hold(call.op);
        hold(call.send_type, sent_);
        hold(call.receive_type, received_);
    }
    ~PersistentCall() { state->reserved_tags.give_back(tag); }
    PersistentCall(const PersistentCall&) = delete;
    PersistentCall& operator=(const PersistentCall&) = delete;

    Call call;
    Choice choice;
    std::shared_ptr<CommunicatorState> state;
    std::shared_ptr<const Program> program;
    int tag;

  private:
    static void hold(MPI_Datatype type, HeldHandle<Datatypes>& held) {
        if (!is_predefined_type(type)) held.hold(type);
    }

    KeptBlocks received_blocks_;
    KeptBlocks sent_blocks_;
    HeldHandle<Operators> operation_;
    HeldHandle<Datatypes> sent_;
    HeldHandle<Datatypes> received_;
};

int prepare_persistent(const Call& given, const Choice& choice, CommunicatorState& state,
                       SharedPersistentCall& prepared) {
    const int code = prepare_to_execute(state, given.comm);
    if (code != MPI_SUCCESS || state.is_left_to_mpi) return code;
    if (shares_counts(*choice.algorithm)) return MPI_SUCCESS;
    const Call call = significant(given, state);
    const auto first = prepare_pending(call, choice, state);
    if (!first) return MPI_SUCCESS;
    const int tag = state.reserved_tags.take(state.duplicate);
    if (tag < 0) return MPI_SUCCESS;
    prepared = std::make_shared<const PersistentCall>(call, choice, state, first->program, tag);
    return MPI_SUCCESS;
}

/* Threads may start calls on one communicator at the same time: what is kept with it is not looked
   at. */
PendingCall start(const SharedPersistentCall& call) {
    auto pending = arrange_pending(call->call, call->choice, *call->state);
    give_program(*pending, call->call, call->choice, *call->state, call->program);
    pending->persistent = call;
    begin(*pending, call->call, call->tag);
    return pending;
}

int test(Pending& pending, bool& done, CalledFrom from) {
    done = pending.finished;
    if (done) return pending.position.code;
    const auto& operands = pending.arrangement.operands;
    done = advance(*pending.program, operands, pending.requests, pending.position, from);
    if (!done) return MPI_SUCCESS;
    pending.finished = true;
    int& code = pending.position.code;
    if (code == MPI_SUCCESS) code = pending.give_result();
    return code;
}

int wait(Pending& pending) {
    for (bool done = false;;) {
        const int code = test(pending, done);
        if (done) return code;
    }
}

std::string why_no_sites(MPI_Comm comm) {
    auto *state = state_of(comm);
    if (!state || prepare_to_execute(*state, comm) != MPI_SUCCESS) return "";
    if (state->is_left_to_mpi) return "";
    const auto& placement = state->placement;
    if (placement.site_count() > 1) return "";
    if (!placement.complaint.empty()) return placement.complaint;
    return placement.sites.empty() ? "LANEWISE_PLACEMENT names no file with the ranks' sites"
                                   : "all ranks are at one site";
}

}  // namespace lanewise::collectives
