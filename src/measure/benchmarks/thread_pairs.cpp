// SPDX-License-Identifier: BSD-3-Clause
//
// Thread pairs: two threads of the root each play ping-pong with a thread of
// the rank after it, all at once, each pair in a communicator of its own. Needs
// MPI_THREAD_MULTIPLE. Reported is half the time until both are back. The second
// block that arrives is that of the second thread.

#include <array>
#include <atomic>
#include <barrier>
#include <thread>

#include "measure/benchmarks/benchmark.hpp"

namespace lanewise::measure {
namespace {

#ifndef LANEWISE_SIMULATED
constexpr const char *lacks = nullptr;
constexpr int threads = 2;
constexpr int tag = 11;

int play(Exchange& e, MPI_Comm comm) {
    if (e.rank == e.root)
        return first_failure(
            {MPI_Send(e.send, e.count, e.type, partner(e), tag, comm),
             MPI_Recv(e.receive, e.count, e.type, partner(e), tag, comm, MPI_STATUS_IGNORE)});
    return first_failure(
        {MPI_Recv(e.receive, e.count, e.type, e.root, tag, comm, MPI_STATUS_IGNORE),
         MPI_Send(e.send, e.count, e.type, e.root, tag, comm)});
}

// The second thread waits for its part of each execution; the caller is the first.
class Second {
  public:
    explicit Second(const Exchange& e) : mine_(e) {
        mine_.state.reset();
        mine_.receive = slot(e.receive, e, 1);
    }
    ~Second() {
        if (thread_.joinable()) {
            ending_ = true;
            rendezvous_.arrive_and_wait();
            thread_.join();
        }
        for (auto& comm : comms_) {
            if (comm != MPI_COMM_NULL) MPI_Comm_free(&comm);
        }
    }
    int prepare(MPI_Comm comm) {
        for (auto& each : comms_) {
            const int code = MPI_Comm_dup(comm, &each);
            if (code != MPI_SUCCESS) return code;
        }
        thread_ = std::thread([this] {
            for (;;) {
                rendezvous_.arrive_and_wait();
                if (ending_) return;
                code_ = play(mine_, comms_[1]);
                rendezvous_.arrive_and_wait();
            }
        });
        return MPI_SUCCESS;
    }
    int execute(Exchange& e) {
        rendezvous_.arrive_and_wait();
        const int code = play(e, comms_[0]);
        rendezvous_.arrive_and_wait();
        return first_failure({code, code_});
    }

  private:
    Exchange mine_;
    std::array<MPI_Comm, threads> comms_ = {MPI_COMM_NULL, MPI_COMM_NULL};
    std::barrier<> rendezvous_{threads};
    std::atomic<bool> ending_ = false;
    int code_ = MPI_SUCCESS;
    std::thread thread_;
};

int make(Exchange& e) {
    int level = MPI_THREAD_SINGLE;
    MPI_Query_thread(&level);
    if (level < MPI_THREAD_MULTIPLE) return MPI_ERR_OTHER;
    auto state = std::make_shared<Second>(e);
    const int code = state->prepare(e.comm);
    e.state = std::move(state);
    return code;
}

int thread_pairs(Exchange& e) {
    if (e.rank != e.root && e.rank != partner(e)) return MPI_SUCCESS;
    return state_of<Second>(e).execute(e);
}
#else
constexpr const char *lacks = "threads";
constexpr int (*make)(Exchange&) = nullptr;
constexpr int (*thread_pairs)(Exchange&) = nullptr;
#endif

Origins twice_to_each_partner(const Standpoint& s) {
    const auto once = from_each_to_its_partner(s);
    return once.empty() ? once : repeated(2, once.front());
}

}  // namespace

Entries thread_pairs_benchmarks() {
    return {{.name = "thread_pairs",
             .shape = all_ranks(Blocks::one, Blocks::two),
             .call = thread_pairs,
             .ranks_min = 2,
             .scale = 0.5,
             .prepare = make,
             .lacks = lacks,
             .threads = true,
             .delivers = twice_to_each_partner}};
}

}  // namespace lanewise::measure
