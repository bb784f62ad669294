// SPDX-License-Identifier: BSD-3-Clause
//
// See program_calls.hpp.

#include "tune/program_calls.hpp"

#include <list>
#include <optional>

#include "measure/harness/harness.hpp"
#include "measure/harness/operation.hpp"
#include "tune/preloaded.hpp"

namespace lanewise::tune {
namespace {

using measure::Running;

/* An operation with its buffers. */
struct Called {
    lw_operation operation;
    std::optional<Running> running;

    Outcome set_up(const std::string& name, MPI_Comm comm, int root, std::uint64_t message_bytes) {
        operation.name = name;
        operation.entry = measure::find_entry(name);
        if (!operation.entry) return Failure{LW_ERR_NOT_FOUND, "unknown operation " + name};
        auto layout = measure::plain_buffers;
        layout.rotating_sets = rotating_sets(message_bytes);
        auto created = Running::create(operation, comm, root, message_bytes, layout);
        if (!created) return created.failure();
        running.emplace(std::move(*created));
        return Done{};
    }

    void move_to(MPI_Comm comm) {
        for (auto& exchange : running->exchanges()) exchange.comm = comm;
    }
};

}  // namespace

std::uint32_t rotating_sets(std::uint64_t message_bytes) {
    constexpr std::uint64_t small_bytes = 16 << 10;
    constexpr std::uint64_t middle_bytes = 256 << 10;
    if (message_bytes <= small_bytes) return 8;
    return message_bytes <= middle_bytes ? 4 : 2;
}

std::uint64_t size_between(std::uint64_t message_bytes) {
    constexpr std::uint64_t large_bytes = 256;
    const auto other = message_bytes >= large_bytes ? message_bytes / 4 : message_bytes * 4;
    return other / sizeof(float) * sizeof(float);
}

class ProgramCalls {
  public:
    ProgramCalls(collectives::Operation operation, std::uint64_t message_bytes)
        : operation_(operation), message_bytes_(message_bytes) {}

    Outcome get_ready(MPI_Comm comm, int root) {
        if (!timed_ || root != root_) {
            const auto made = make(comm, root);
            if (!made) return made;
        }
        if (comm == comm_) return Done{};
        timed_->move_to(comm);
        for (auto& other : between_) other.move_to(comm);
        comm_ = comm;
        return Done{};
    }

    void set_rule(const collectives::Choice& choice) const {
        follow(operation_, message_bytes_, choice);
    }

    int call(double work_s) {
        if (operation_.calling == collectives::Calling::blocking) return timed_->running->execute();
        const auto exchanges = timed_->running->exchanges();
        auto& exchange = exchanges[next_exchange_++ % exchanges.size()];
        MPI_Request request = MPI_REQUEST_NULL;
        const int code = exchange.start(exchange, &request);
        if (code != MPI_SUCCESS) return code;
        return work_and_wait(work_s, request);
    }

    void call_another() {
        if (between_.empty()) return;
        auto other = between_.begin();
        std::advance(other, next_between_++ % between_.size());
        measure::check(other->running->execute());
    }

  private:
    Outcome make(MPI_Comm comm, int root) {
        timed_.reset();
        between_.clear();
        timed_.emplace();
        const auto ready = timed_->set_up(name_of(operation_), comm, root, message_bytes_);
        if (!ready) return ready;
        const auto other_bytes = size_between(message_bytes_);
        if (other_bytes > 0) {
            const auto more = between_.emplace_back().set_up(name_of(operation_.collective), comm,
                                                             root, other_bytes);
            if (!more) return more;
        }
        constexpr std::uint64_t number_bytes = 8;
        const auto more = between_.emplace_back().set_up("allreduce", comm, 0, number_bytes);
        if (!more) return more;
        comm_ = comm;
        root_ = root;
        return Done{};
    }

    collectives::Operation operation_;
    std::uint64_t message_bytes_;
    MPI_Comm comm_ = MPI_COMM_NULL;
    int root_ = -1;
    std::optional<Called> timed_;
    std::list<Called> between_; /* what holds a Running must not move */
    std::size_t next_between_ = 0;
    std::size_t next_exchange_ = 0;
};

SharedCalls program_calls(collectives::Operation operation, std::uint64_t message_bytes) {
    return std::make_shared<ProgramCalls>(operation, message_bytes);
}

namespace {

Result<Execution> ready_under(const collectives::Choice& choice, const SharedCalls& calls,
                              MPI_Comm comm, int root, double work_s) {
    const auto ready = calls->get_ready(comm, root);
    if (!ready) return ready.failure();
    calls->set_rule(choice);
    // The first call decides and prepares, which programs do once; it also tells whether the rule
    // serves calls of this shape, with the same answer on every rank.
    const auto before = served_count();
    measure::check(calls->call(0.0));
    if (choice.algorithm && served_count() == before) {
        return Failure{LW_ERR_UNSUPPORTED,
                       std::string(choice.algorithm->name) + " does not serve these calls"};
    }
    return Execution([calls, work_s] { return calls->call(work_s); },
                     [calls] { calls->call_another(); });
}

}  // namespace

Result<Execution> call_on(const SharedCalls& calls, MPI_Comm comm, int root) {
    return ready_under({}, calls, comm, root, 0.0);
}

Implementation call_under_rule(const SharedCalls& calls, const collectives::Choice& choice,
                               double work_s) {
    return [=](MPI_Comm comm, int root, std::uint64_t) {
        return ready_under(choice, calls, comm, root, work_s);
    };
}

}  // namespace lanewise::tune
