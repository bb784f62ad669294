// SPDX-License-Identifier: BSD-3-Clause
//
// See polling.hpp. Receives are posted anew as messages are taken, so that
// there is always room for all that can be on the way; in the end both ranks
// tell how many they sent, take what is still on the way, and withdraw the rest.

#include "measure/availability/polling.hpp"

#include <algorithm>
#include <cmath>

#include "measure/availability/work.hpp"

namespace lanewise::measure {
namespace {

constexpr int data_tag = 31;
constexpr int count_tag = 32;

class Juggler {
  public:
    Juggler(MPI_Comm comm, int peer, const PollingPlan& plan)
        : comm_(comm), peer_(peer), bytes_(static_cast<int>(plan.message_bytes)),
          depth_(static_cast<std::size_t>(plan.depth)),
          send_(plan.message_bytes + 1), receive_(2 * depth_ * (plan.message_bytes + 1)),
          sends_(depth_, MPI_REQUEST_NULL), receives_(2 * depth_, MPI_REQUEST_NULL) {
        for (std::size_t i = 0; i < receives_.size(); ++i) post(i);
    }

    void begin() {
        for (std::size_t i = 0; i < depth_; ++i) send(i);
    }

    // Takes what has arrived; for each a message goes back, as soon as a send is free.
    void look() {
        take();
        for (std::size_t i = 0; i < depth_ && owed_ > 0; ++i) {
            int free = 1;
            if (sends_[i] != MPI_REQUEST_NULL)
                check(MPI_Test(&sends_[i], &free, MPI_STATUS_IGNORE));
            if (!free) continue;
            send(i);
            --owed_;
        }
    }

    long long received() const { return received_; }

    void finish() {
        long long sent_here = sent_;
        long long sent_there = 0;
        MPI_Request counting[2];
        check(MPI_Irecv(&sent_there, 1, MPI_LONG_LONG, peer_, count_tag, comm_, &counting[0]));
        check(MPI_Isend(&sent_here, 1, MPI_LONG_LONG, peer_, count_tag, comm_, &counting[1]));
        for (int told = 0; !told;) {
            take();
            check(MPI_Testall(2, counting, &told, MPI_STATUSES_IGNORE));
        }
        while (received_ < sent_there) take();
        for (auto& request : receives_) {
            check(MPI_Cancel(&request));
            check(MPI_Wait(&request, MPI_STATUS_IGNORE));
        }
        check(MPI_Waitall(static_cast<int>(sends_.size()), sends_.data(), MPI_STATUSES_IGNORE));
    }

  private:
    void post(std::size_t i) {
        check(MPI_Irecv(receive_.data() + i * (static_cast<std::size_t>(bytes_) + 1), bytes_,
                        MPI_BYTE, peer_, data_tag, comm_, &receives_[i]));
    }
    void send(std::size_t i) {
        check(MPI_Isend(send_.data(), bytes_, MPI_BYTE, peer_, data_tag, comm_, &sends_[i]));
        ++sent_;
    }
    void take() {
        for (;;) {
            int which = MPI_UNDEFINED;
            int arrived = 0;
            check(MPI_Testany(static_cast<int>(receives_.size()), receives_.data(), &which,
                              &arrived, MPI_STATUS_IGNORE));
            if (!arrived || which == MPI_UNDEFINED) return;
            post(static_cast<std::size_t>(which));
            ++received_;
            ++owed_;
        }
    }

    MPI_Comm comm_;
    int peer_;
    int bytes_;
    std::size_t depth_;
    std::vector<std::byte> send_;
    std::vector<std::byte> receive_;
    std::vector<MPI_Request> sends_;
    std::vector<MPI_Request> receives_;
    long long sent_ = 0;
    long long received_ = 0;
    long long owed_ = 0;
};

// The same work in the same pieces, without a message.
double alone_s(const Bench& bench, std::uint64_t looks, std::uint64_t steps) {
    const double begin_s = bench.clock().now_s();
    for (std::uint64_t i = 0; i < looks; ++i) work(steps);
    return bench.clock().now_s() - begin_s;
}

}  // namespace

Result<Polled> measure_polling(Bench& bench, const PollingPlan& plan) {
    const auto& harness = bench.harness();
    if (harness.size() < 2)
        return Failure{LW_ERR_ARGUMENT, "polling needs 2 ranks, not 1"};
    if (!work_takes_time)
        return Failure{LW_ERR_UNSUPPORTED, "work takes no time where time is simulated; measure "
                                           "on real ranks"};
    const bool takes_part = harness.rank() < 2;
    const double step_s = calibrate_work_s(bench.clock());
    const auto steps = steps_for(plan.interval_s, step_s);
    const auto looks = std::max<std::uint64_t>(
        1, static_cast<std::uint64_t>(plan.work_s / (static_cast<double>(steps) * step_s)));
    Polled polled;
    for (std::size_t i = 0; i < plan.repetitions; ++i) {
        double worst[2] = {0.0, 0.0}; /* time over time alone; the rate, negated */
        harness.barrier();
        if (takes_part) {
            Juggler juggler(harness.comm(), 1 - harness.rank(), plan);
            const double pure_s = alone_s(bench, looks, steps);
            const double begin_s = bench.clock().now_s();
            juggler.begin();
            for (std::uint64_t look = 0; look < looks; ++look) {
                work(steps);
                juggler.look();
            }
            const double spent_s = bench.clock().now_s() - begin_s;
            const auto moved = 2.0 * static_cast<double>(juggler.received()) *
                               static_cast<double>(plan.message_bytes);
            juggler.finish();
            worst[0] = spent_s / pure_s;
            worst[1] = -moved / spent_s;
        } else {
            worst[1] = -1e300;
        }
        harness.maximum(worst);
        polled.availability.push_back(1.0 / worst[0]);
        polled.rate_bytes_per_s.push_back(std::abs(worst[1]));
    }
    return polled;
}

}  // namespace lanewise::measure
