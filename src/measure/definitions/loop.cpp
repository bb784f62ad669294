// SPDX-License-Identifier: BSD-3-Clause
//
// The loop of another tool. The clock is MPI_Wtime, as in all of these tools:
// where it is read around each call, a call's time includes reading it.

#include <algorithm>
#include <limits>
#include <numeric>

#include "measure/definitions/definition.hpp"

namespace lanewise::measure {
namespace {

/* An operation that failed is not executed again, while its rank still meets the others. */
class Body {
  public:
    Body(Running& running, MPI_Comm comm, bool meets)
        : running_(running), comm_(comm), meets_(meets) {}

    void call() { failed_ = failed_ || running_.execute() != 0; }
    void meet() {
        if (meets_) check(MPI_Barrier(comm_));
    }
    bool failed() const { return failed_; }

  private:
    Running& running_;
    MPI_Comm comm_;
    bool meets_;
    bool failed_ = false;
};

double clocked_around_all(Body& body, std::uint32_t count) {
    const double begin_s = MPI_Wtime();
    for (std::uint32_t i = 0; i < count; ++i) {
        body.call();
        body.meet();
    }
    return MPI_Wtime() - begin_s;
}

double clocked_around_each(Body& body, std::uint32_t count) {
    double total_s = 0.0;
    for (std::uint32_t i = 0; i < count; ++i) {
        const double begin_s = MPI_Wtime();
        body.call();
        total_s += MPI_Wtime() - begin_s;
        body.meet();
    }
    return total_s;
}

double clocked_around_both(Body& body, std::uint32_t count) {
    const double begin_s = MPI_Wtime();
    for (std::uint32_t i = 0; i < count; ++i) {
        MPI_Wtime();
        body.call();
        MPI_Wtime();
        body.meet();
    }
    return MPI_Wtime() - begin_s;
}

double clocked(Body& body, Clocked how, std::uint32_t count) {
    switch (how) {
        case Clocked::around_all:
            return clocked_around_all(body, count);
        case Clocked::around_each:
            return clocked_around_each(body, count);
        case Clocked::around_both:
            return clocked_around_both(body, count);
    }
    return 0.0;
}

// This rank's mean of one call, in the shortest of the series.
double mean_s(const Harness& harness, Body& body, const Loop& loop, Calls calls) {
    double shortest_s = std::numeric_limits<double>::infinity();
    for (int series = 0; series < loop.series; ++series) {
        check(MPI_Barrier(harness.comm()));
        for (std::uint32_t i = 0; i < calls.warm_up; ++i) {
            body.call();
            body.meet();
        }
        const double total_s = clocked(body, loop.clocked, calls.timed);
        shortest_s = std::min(shortest_s, total_s / calls.timed);
    }
    return shortest_s;
}

double shown_s(std::span<const double> ranks_s, Across across, int root) {
    if (across == Across::first) return ranks_s[static_cast<std::size_t>(root)];
    const auto those = across == Across::senders ? ranks_s.first(ranks_s.size() / 2) : ranks_s;
    return std::accumulate(those.begin(), those.end(), 0.0) / static_cast<double>(those.size());
}

}  // namespace

LoopTimes run_loop(const Harness& harness, Running& running, const Loop& loop, Calls calls,
                   std::size_t count) {
    Body body(running, harness.comm(), loop.meets);
    std::vector<double> own_s;
    for (std::size_t i = 0; i < count; ++i) own_s.push_back(mean_s(harness, body, loop, calls));
    LoopTimes times;
    times.failed = harness.any(body.failed());
    const auto all_s = harness.collect(own_s);
    for (std::size_t i = 0; i < count; ++i) {
        std::vector<double> ranks_s;
        for (const auto& rank_s : all_s) ranks_s.push_back(rank_s[i]);
        const auto [least, most] = std::minmax_element(ranks_s.begin(), ranks_s.end());
        times.least_s.push_back(*least);
        times.most_s.push_back(*most);
        times.shown_s.push_back(shown_s(ranks_s, loop.across, running.root()));
    }
    return times;
}

}  // namespace lanewise::measure
