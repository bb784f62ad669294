// SPDX-License-Identifier: BSD-3-Clause
//
// See overlap.hpp.

#include "measure/definitions/overlap.hpp"

#include <algorithm>

#include "measure/definitions/clocked.hpp"
#include "measure/harness/work.hpp"

namespace lanewise::measure {
namespace {

/* One rank's means of a call. */
struct Means {
    double pure_s = 0.0;
    double work_s = 0.0;
    double both_s = 0.0;
};

class Overlap {
  public:
    Overlap(const Harness& harness, Exchange& exchange, const Loop& loop)
        : comm_(harness.comm()),
          exchange_(exchange),
          loop_(loop),
          root_(exchange.root),
          step_s_(calibrate_work_s(monotonic_clock())) {}

    /* Those of the shortest of the series. */
    Means run(Calls calls) {
        Means shortest;
        for (int series = 0; series < loop_.series; ++series) {
            if (calls.warm_up > 0) once(calls.warm_up);
            const auto means = once(calls.timed);
            if (series == 0 || means.both_s < shortest.both_s) shortest = means;
        }
        return shortest;
    }
    bool failed() const { return failed_; }

  private:
    Means once(std::uint32_t count) {
        Means means;
        means.pure_s = clocked_s([this] { return start_and_wait(exchange_); }, count);
        const auto steps = steps_for(means.pure_s, step_s_);
        work(steps);
        double work_s = 0.0;
        means.both_s = clocked_s([&, this] { return together(steps, work_s); }, count);
        exchange_.root = root_;
        means.work_s = work_s / count;
        return means;
    }

    template <typename Execute>
    double clocked_s(Execute execute, std::uint32_t count) {
        Body<Execute> body{execute, comm_, loop_.meets, failed_};
        check(MPI_Barrier(comm_));
        const double total_s = clocked(body, loop_.clocked, count);
        failed_ = body.failed;
        return total_s / count;
    }

    int together(std::uint64_t steps, double& work_s) {
        MPI_Request request = MPI_REQUEST_NULL;
        const int code = exchange_.start(exchange_, &request);
        const double begin_s = MPI_Wtime();
        work(steps);
        work_s += MPI_Wtime() - begin_s;
        const int waited = MPI_Wait(&request, MPI_STATUS_IGNORE);
        // Also after a failure: the ranks go on, and must agree on the root.
        if (loop_.manner.any_root) exchange_.root = (exchange_.root + 1) % exchange_.size;
        return code == MPI_SUCCESS ? waited : code;
    }

    MPI_Comm comm_;
    Exchange& exchange_;
    const Loop& loop_;
    int root_;
    double step_s_;
    bool failed_ = false;
};

Means mean_of(std::span<const Means> ranks) {
    Means mean;
    for (const auto& rank : ranks) {
        mean.pure_s += rank.pure_s / static_cast<double>(ranks.size());
        mean.work_s += rank.work_s / static_cast<double>(ranks.size());
        mean.both_s += rank.both_s / static_cast<double>(ranks.size());
    }
    return mean;
}

double added_s(const Means& means) {
    return means.both_s - means.work_s;
}

void add(LoopTimes& times, std::span<const Means> ranks, Across across) {
    const auto slowest = std::max_element(ranks.begin(), ranks.end(),
                                          [](auto& a, auto& b) { return a.both_s < b.both_s; });
    const auto shown = across == Across::slowest ? *slowest : mean_of(ranks);
    const auto [least, most] = std::minmax_element(
        ranks.begin(), ranks.end(), [](auto& a, auto& b) { return added_s(a) < added_s(b); });
    times.shown_s.push_back(added_s(shown));
    times.least_s.push_back(added_s(*least));
    times.most_s.push_back(added_s(*most));
    times.pure_s.push_back(shown.pure_s);
    times.work_s.push_back(shown.work_s);
}

}  // namespace

int start_and_wait(Exchange& exchange) {
    MPI_Request request = MPI_REQUEST_NULL;
    const int code = exchange.start(exchange, &request);
    return code == MPI_SUCCESS ? MPI_Wait(&request, MPI_STATUS_IGNORE) : code;
}

LoopTimes run_overlap(const Harness& harness, Running& running, const Loop& loop, Calls calls,
                      std::size_t count) {
    Overlap overlap(harness, running.exchange(), loop);
    std::vector<double> own_s;
    for (std::size_t i = 0; i < count; ++i) {
        const auto means = overlap.run(calls);
        own_s.insert(own_s.end(), {means.pure_s, means.work_s, means.both_s});
    }
    LoopTimes times;
    times.failed = harness.any(overlap.failed());
    const auto all_s = harness.collect(own_s);
    for (std::size_t i = 0; i < count; ++i) {
        std::vector<Means> ranks;
        for (const auto& rank_s : all_s) {
            ranks.push_back({rank_s[3 * i], rank_s[3 * i + 1], rank_s[3 * i + 2]});
        }
        add(times, ranks, loop.across);
    }
    return times;
}

}  // namespace lanewise::measure
