// SPDX-License-Identifier: BSD-3-Clause

#include "collectives/execute/program.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <thread>
#include <utility>

#include "collectives/execute/datatype.hpp"
#include "collectives/execute/progress.hpp"
#include "collectives/fused_steps.hpp"

namespace lanewise::collectives {
namespace {

using model::Place;
using model::Schedule;
using model::Slice;
using model::Step;
using model::StepKind;

constexpr std::int64_t message_bytes_max = std::int64_t{1} << 30;

/* The request slots of a step's messages; empty once they have been waited for. */
struct Slots {
    int begin = 0;
    int end = 0;
};

class Compiler {
  public:
    Compiler(const Schedule& schedule, const UnitLayout& layout, Arithmetic arithmetic)
        : schedule_(schedule),
          arithmetic_(arithmetic),
          layout_(layout),
          units_max_(std::max<std::int64_t>(
              1, message_bytes_max / std::max<std::int64_t>(1, layout.data_bytes))),
          slots_(schedule.steps.size()) {}

    Program compile() {
        for (std::size_t i = 0; i < schedule_.steps.size(); ++i) {
            wait_for(schedule_.after_of(schedule_.steps[i]));
            if (const auto fused = fused_at(i)) {
                wait_for(schedule_.after_of(schedule_.steps[i + 1]));
                add(*fused, schedule_.steps[i++].count);
            } else {
                add(i);
            }
        }
        if (first_open_ < program_.slots) add_wait({first_open_, program_.slots});
        program_.scratch_units = scratch_with_gaps(schedule_, layout_.units_apart);
        program_.instructions.shrink_to_fit(); /* it may be kept for long */
        return std::move(program_);
    }

  private:
    void wait_for(std::span<const std::uint32_t> steps) {
        Slots range;
        for (const auto step : steps) {
            const Slots slots = std::exchange(slots_[step], {});
            if (slots.begin == slots.end) continue;
            if (range.begin == range.end) {
                range = slots;
            } else if (slots.begin == range.end) {
                range.end = slots.end;
            } else if (slots.end == range.begin) {
                range.begin = slots.begin;
            } else {
                add_wait(std::exchange(range, slots));
            }
        }
        if (range.begin != range.end) add_wait(range);
    }

    void add_wait(Slots slots) {
        program_.instructions.push_back(
            {.opcode = Opcode::wait, .slot = slots.begin, .slot_end = slots.end});
        if (slots.begin <= first_open_) first_open_ = std::max(first_open_, slots.end);
    }

    void add(std::size_t i) {
        const Step& step = schedule_.steps[i];
        Instruction instruction{.opcode = opcode_of(step.kind),
                                .from = step.from.place,
                                .to = step.to.place,
                                .peer = step.peer,
                                .units = step.count,
                                .from_bytes = bytes_before(step.from),
                                .to_bytes = bytes_before(step.to)};
        if (step.kind == StepKind::copy || step.kind == StepKind::reduce) {
            program_.instructions.push_back(instruction);
            return;
        }
        if (step.count <= units_max_ && is_waited_for_at_once(i)) {
            instruction.blocking = true;
            instruction.slot = program_.slots++;
            program_.instructions.push_back(instruction);
            if (first_open_ == instruction.slot) first_open_ = program_.slots;
            return;
        }
        add_in_pieces(instruction, i);
    }

    std::optional<FusedSteps> fused_at(std::size_t i) const {
        return arithmetic_ == Arithmetic::own ? fused_with_next(schedule_, i) : std::nullopt;
    }

    void add(const FusedSteps& fused, std::int64_t count) {
        program_.instructions.push_back({.opcode = Opcode::combine,
                                         .from = fused.left.place,
                                         .to = fused.result.place,
                                         .right = fused.right.place,
                                         .units = count,
                                         .from_bytes = bytes_before(fused.left),
                                         .to_bytes = bytes_before(fused.result),
                                         .right_bytes = bytes_before(fused.right)});
    }

    std::int64_t bytes_before(const Slice& slice) const {
        std::int64_t units = slice.offset;
        if (slice.place == Place::scratch && layout_.units_apart > 0) {
            const auto& begins = schedule_.scratch_begins;
            const auto behind = std::ranges::upper_bound(begins, slice.offset);
            units += layout_.units_apart * (behind - begins.begin() - 1);
        }
        return units * layout_.stride_bytes;
    }

    void add_in_pieces(Instruction instruction, std::size_t i) {
        slots_[i].begin = program_.slots;
        for (std::int64_t left = instruction.units;;) {
            instruction.units = std::min(left, units_max_);
            instruction.slot = program_.slots++;
            program_.instructions.push_back(instruction);
            left -= instruction.units;
            if (left == 0) break;
            instruction.from_bytes += instruction.units * layout_.stride_bytes;
            instruction.to_bytes += instruction.units * layout_.stride_bytes;
        }
        slots_[i].end = program_.slots;
    }

    bool is_waited_for_at_once(std::size_t i) const {
        if (i + 1 == schedule_.steps.size()) return true;
        const auto after = schedule_.after_of(schedule_.steps[i + 1]);
        return std::find(after.begin(), after.end(), i) != after.end();
    }

    static Opcode opcode_of(StepKind kind) {
        switch (kind) {
            case StepKind::send: return Opcode::send;
            case StepKind::receive: return Opcode::receive;
            case StepKind::copy: return Opcode::copy;
            case StepKind::reduce: return Opcode::reduce;
        }
        return Opcode::copy;
    }

    const Schedule& schedule_;
    const Arithmetic arithmetic_;
    const UnitLayout layout_;
    const std::int64_t units_max_;
    std::vector<Slots> slots_; /* of each step, until waited for */
    int first_open_ = 0;       /* all slots before it have been waited for */
    Program program_;
};

std::byte *source(const Instruction& i, const Operands& operands) {
    return operands.at(i.from) + i.from_bytes;
}

std::byte *target(const Instruction& i, const Operands& operands) {
    return operands.at(i.to) + i.to_bytes;
}

constexpr std::int64_t units_at_once = std::int64_t{1} << 30;

/* MPI takes int counts: what a step moves on one rank alone may be more. */
template <typename Piece>
int in_pieces(const Instruction& i, const Operands& operands, std::int64_t most, Piece piece) {
    for (std::int64_t done = 0; done < i.units; done += most) {
        const auto offset = done * operands.stride_bytes;
        const int code = piece(source(i, operands) + offset, target(i, operands) + offset,
                               static_cast<int>(std::min(most, i.units - done)));
        if (code != MPI_SUCCESS) return code;
    }
    return MPI_SUCCESS;
}

int copy(const Instruction& i, const Operands& operands) {
    const auto *from = source(i, operands);
    auto *to = target(i, operands);
    if (from == to) return MPI_SUCCESS;
    if (operands.plain) {
        std::memcpy(to, from, static_cast<std::size_t>(i.units * operands.stride_bytes));
        return MPI_SUCCESS;
    }
    return in_pieces(i, operands, units_at_once, [&](auto *one, auto *other, int count) {
        return PMPI_Sendrecv(one, count, operands.type, operands.rank, operands.tag, other, count,
                             operands.type, operands.rank, operands.tag, operands.comm,
                             MPI_STATUS_IGNORE);
    });
}

constexpr std::int64_t packed_bytes_at_once = std::int64_t{1} << 20;

/* The same without a call that makes progress. */
int copy_inside_progress(const Instruction& i, const Operands& operands) {
    if (operands.plain || may_nest()) return copy(i, operands);
    const auto layout = layout_of(operands.type);
    const auto most =
        std::max<std::int64_t>(1, packed_bytes_at_once / std::max<std::int64_t>(1, layout.size));
    std::vector<std::byte> packed(static_cast<std::size_t>(std::min(most, i.units) * layout.size));
    return in_pieces(i, operands, most, [&](auto *one, auto *other, int count) {
        const int code = pack(one, count, operands.type, layout, packed.data(), operands.to_self());
        if (code != MPI_SUCCESS) return code;
        return unpack(packed.data(), other, count, operands.type, layout, operands.to_self());
    });
}

/* Whether they overlap, but not as one. */
bool are_shifted(const std::byte *one, const std::byte *other, std::int64_t bytes) {
    const auto distance = std::abs(one - other);
    return distance != 0 && distance < bytes;
}

/* In place, the program's own buffers may lie over each other: then the result is copied. */
void combine(const Instruction& i, const Operands& operands) {
    const auto bytes = i.units * operands.stride_bytes;
    const auto *left = source(i, operands);
    auto *right = operands.at(i.right) + i.right_bytes;
    auto *result = target(i, operands);
    if (!are_shifted(left, result, bytes)) {
        operands.combine(left, right, result, i.units);
        return;
    }
    operands.combine(left, right, right, i.units);
    std::memcpy(result, right, static_cast<std::size_t>(bytes));
}

int reduce(const Instruction& i, const Operands& operands) {
    if (i.opcode == Opcode::combine) {
        combine(i, operands);
        return MPI_SUCCESS;
    }
    if (operands.combine) {
        auto *result = target(i, operands);
        operands.combine(source(i, operands), result, result, i.units);
        return MPI_SUCCESS;
    }
    return in_pieces(i, operands, units_at_once, [&](auto *one, auto *other, int count) {
        return PMPI_Reduce_local(one, other, count, operands.type, operands.op);
    });
}

int post(const Instruction& i, const Operands& s, MPI_Request *request) {
    const int count = static_cast<int>(i.units);
    if (i.opcode == Opcode::send) {
        return PMPI_Isend(source(i, s), count, s.type, i.peer, s.tag, s.comm, request);
    }
    return PMPI_Irecv(target(i, s), count, s.type, i.peer, s.tag, s.comm, request);
}

int deliver(const Instruction& i, const Operands& s) {
    const int count = static_cast<int>(i.units);
    if (i.opcode == Opcode::send) {
        return PMPI_Send(source(i, s), count, s.type, i.peer, s.tag, s.comm);
    }
    return PMPI_Recv(target(i, s), count, s.type, i.peer, s.tag, s.comm, MPI_STATUS_IGNORE);
}

std::span<MPI_Request> waited(const Instruction& i, std::span<MPI_Request> requests) {
    return requests.subspan(static_cast<std::size_t>(i.slot),
                            static_cast<std::size_t>(i.slot_end - i.slot));
}

/* One after the other: MPI_Waitall says only that there was an error and not which, and that of
   Open MPI 4.1 with threads never returns once a message has failed. */
int wait_for_all(std::span<MPI_Request> requests) {
    for (auto& request : requests) {
        const int code = PMPI_Wait(&request, MPI_STATUS_IGNORE);
        if (code != MPI_SUCCESS) return code;
    }
    return MPI_SUCCESS;
}

}  // namespace

int test_all(std::span<MPI_Request> requests, bool& done, CalledFrom from) {
    if (from == CalledFrom::progress && !may_nest()) {
        done = are_complete(requests);
        return done ? wait_for_all(requests) : MPI_SUCCESS;
    }
    done = true;
    for (auto& request : requests) {
        if (request == MPI_REQUEST_NULL) continue;
        int flag = 0;
        const int code = PMPI_Test(&request, &flag, MPI_STATUS_IGNORE);
        done = flag != 0;
        if (code != MPI_SUCCESS || !done) return code;
    }
    return MPI_SUCCESS;
}

namespace {

/* Short against the time between sites, long against a look at the MPI. */
constexpr std::chrono::microseconds nap_least{20};
constexpr std::chrono::microseconds nap_most{200};

int wait_asleep(std::span<MPI_Request> requests) {
    for (auto nap = nap_least;; nap = std::min(2 * nap, nap_most)) {
        bool done = false;
        const int code = test_all(requests, done, CalledFrom::application);
        if (code != MPI_SUCCESS || done) return code;
        std::this_thread::sleep_for(nap);
    }
}

int wait(std::span<MPI_Request> requests, Waiting waiting) {
    if (waiting == Waiting::asleep) return wait_asleep(requests);
    return wait_for_all(requests);
}

/* One message, from its start to its end. */
int transfer(const Instruction& i, const Operands& operands, MPI_Request *request) {
    if (operands.waiting == Waiting::awake) return deliver(i, operands);
    const int code = post(i, operands, request);
    return code == MPI_SUCCESS ? wait_asleep({request, 1}) : code;
}

/* Stops at the first error. A message that could not be posted is still to be sent, and requests
   that were waited for in vain are still there. */
void run_all(const Program& program, const Operands& operands, std::span<MPI_Request> requests,
             Position& position) {
    for (; position.next < program.instructions.size(); ++position.next) {
        const auto& i = program.instructions[position.next];
        switch (i.opcode) {
            case Opcode::send:
            case Opcode::receive: {
                auto *request = &requests[static_cast<std::size_t>(i.slot)];
                if (!i.blocking) {
                    position.code = post(i, operands, request);
                    break;
                }
                position.code = transfer(i, operands, request);
                // Any other error is one of the message itself: it has been there.
                if (position.code != MPI_SUCCESS && !is_of_argument(position.code)) ++position.next;
                break;
            }
            case Opcode::copy: position.code = copy(i, operands); break;
            case Opcode::reduce:
            case Opcode::combine: position.code = reduce(i, operands); break;
            case Opcode::wait: position.code = wait(waited(i, requests), operands.waiting); break;
        }
        if (position.code != MPI_SUCCESS) return;
    }
}

/* The same without waiting: stops at what is not done as well. */
void advance_all(const Program& program, const Operands& operands, std::span<MPI_Request> requests,
                 Position& position, CalledFrom from) {
    for (; position.next < program.instructions.size(); ++position.next) {
        const auto& i = program.instructions[position.next];
        bool done = true;
        switch (i.opcode) {
            case Opcode::send:
            case Opcode::receive: {
                auto own = requests.subspan(static_cast<std::size_t>(i.slot), 1);
                // A blocking message has been posted if its request is there from the last time.
                if (own[0] == MPI_REQUEST_NULL) position.code = post(i, operands, own.data());
                if (position.code != MPI_SUCCESS || !i.blocking) break;
                position.code = test_all(own, done, from);
                // An error of the message itself: it has been there.
                if (position.code != MPI_SUCCESS) ++position.next;
                break;
            }
            case Opcode::copy:
                position.code = from == CalledFrom::progress ? copy_inside_progress(i, operands)
                                                             : copy(i, operands);
                break;
            case Opcode::reduce:
            case Opcode::combine: position.code = reduce(i, operands); break;
            case Opcode::wait: position.code = test_all(waited(i, requests), done, from); break;
        }
        if (position.code != MPI_SUCCESS || !done) return;
    }
}

/*
 * What spoiled messages are made of, and what a rank with an error receives into: the same bytes
 * again and again, so that it takes no memory. It has more bytes than the message of `i`. Messages
 * of data that lies together are copied by some MPIs from one process to the other without a look
 * at the room that is there (Open MPI 4.1, by CMA), so this does not look like such data.
 */
class Longer {
  public:
    Longer(const Instruction& i, const Operands& s) {
        MPI_Count unit_bytes = 0;
        PMPI_Type_size_x(s.type, &unit_bytes);
        // A single block would lie together.
        const auto blocks = i.units * unit_bytes / static_cast<std::int64_t>(bytes.size()) + 2;
        const int code = PMPI_Type_create_hvector(
            static_cast<int>(blocks), static_cast<int>(bytes.size()), 0, MPI_BYTE, &type_);
        if (code == MPI_SUCCESS) PMPI_Type_commit(&type_);
    }
    ~Longer() {
        if (type_ != MPI_DATATYPE_NULL) PMPI_Type_free(&type_);
    }
    Longer(const Longer&) = delete;
    Longer& operator=(const Longer&) = delete;

    MPI_Datatype type() const { return type_; }

    static std::array<std::byte, std::size_t{1} << 12> bytes;

  private:
    MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

std::array<std::byte, std::size_t{1} << 12> Longer::bytes{};

/* Does not fit where it is received. */
void post_spoiled(const Instruction& i, const Operands& s, MPI_Request *request) {
    const Longer longer(i, s);
    if (longer.type() == MPI_DATATYPE_NULL) return;
    PMPI_Isend(Longer::bytes.data(), 1, longer.type(), i.peer, s.tag, s.comm, request);
}

void post_into_nothing(const Instruction& i, const Operands& s, MPI_Request *request) {
    const Longer longer(i, s);
    if (longer.type() == MPI_DATATYPE_NULL) return;
    PMPI_Irecv(Longer::bytes.data(), 1, longer.type(), i.peer, s.tag, s.comm, request);
}

/* Whether a message of a program that has failed is no longer under way. */
bool is_over(MPI_Request& request, CalledFrom from) {
    bool done = true;
    const int code = test_all({&request, 1}, done, from);
    if (code != MPI_SUCCESS && request != MPI_REQUEST_NULL) PMPI_Request_free(&request);
    return done || code != MPI_SUCCESS;
}

bool are_over(std::span<MPI_Request> requests, CalledFrom from) {
    return std::ranges::all_of(requests, [&](auto& request) { return is_over(request, from); });
}

/* Continues where messages are spoiled. */
bool advance_spoiled(const Program& program, const Operands& operands,
                     std::span<MPI_Request> requests, Position& position, CalledFrom from) {
    for (; position.next < program.instructions.size(); ++position.next) {
        const auto& i = program.instructions[position.next];
        if (i.opcode == Opcode::wait && !are_over(waited(i, requests), from)) return false;
        if (i.opcode != Opcode::send && i.opcode != Opcode::receive) continue;
        auto& request = requests[static_cast<std::size_t>(i.slot)];
        if (request == MPI_REQUEST_NULL) {
            (i.opcode == Opcode::send ? post_spoiled : post_into_nothing)(i, operands, &request);
        }
        if (i.blocking && !is_over(request, from)) return false;
    }
    return true;
}

/* To the end, with spoiled messages from now on. */
void spoil_rest(const Program& program, const Operands& operands, std::span<MPI_Request> requests,
                Position& position) {
    while (!advance_spoiled(program, operands, requests, position, CalledFrom::application)) {
        std::this_thread::yield();
    }
}

}  // namespace

Program compile(const Schedule& schedule, const UnitLayout& layout, Arithmetic arithmetic) {
    return Compiler(schedule, layout, arithmetic).compile();
}

std::int64_t scratch_with_gaps(const Schedule& schedule, std::int64_t units_apart) {
    const auto places = static_cast<std::int64_t>(schedule.scratch_begins.size());
    return schedule.scratch_units + places * units_apart;
}

int run(const Program& program, const Operands& operands, std::span<MPI_Request> requests) {
    Position position;
    run_all(program, operands, requests, position);
    if (position.code != MPI_SUCCESS) spoil_rest(program, operands, requests, position);
    return position.code;
}

void spoil(const Program& program, const Operands& operands, std::span<MPI_Request> requests) {
    Position position;
    spoil_rest(program, operands, requests, position);
}

bool is_of_argument(int code) {
    int error_class = MPI_SUCCESS;
    PMPI_Error_class(code, &error_class);
    return error_class == MPI_ERR_BUFFER || error_class == MPI_ERR_COUNT ||
           error_class == MPI_ERR_TYPE;
}

void abandon(const Program& program, std::span<MPI_Request> requests) {
    for (const auto& i : program.instructions) {
        if (i.opcode != Opcode::send && i.opcode != Opcode::receive) continue;
        auto& request = requests[static_cast<std::size_t>(i.slot)];
        if (request == MPI_REQUEST_NULL) continue;
        if (i.opcode == Opcode::receive) PMPI_Cancel(&request);
        PMPI_Request_free(&request);
    }
    std::ranges::fill(requests, MPI_REQUEST_NULL);
}

bool advance(const Program& program, const Operands& operands, std::span<MPI_Request> requests,
             Position& position, CalledFrom from) {
    if (position.code == MPI_SUCCESS) advance_all(program, operands, requests, position, from);
    if (position.code != MPI_SUCCESS) {
        return advance_spoiled(program, operands, requests, position, from);
    }
    return position.next == program.instructions.size();
}

bool posts_at_once(const Program& program) {
    bool waited = false;
    for (const auto& i : program.instructions) {
        const bool message = i.opcode == Opcode::send || i.opcode == Opcode::receive;
        if (message && waited) return false;
        waited = waited || i.opcode == Opcode::wait || (message && i.blocking);
    }
    return true;
}

}  // namespace lanewise::collectives
