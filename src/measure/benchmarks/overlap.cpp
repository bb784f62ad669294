// SPDX-License-Identifier: BSD-3-Clause
//
// Overlap: a nonblocking collective started, then as much work as it takes
// alone, then the wait. Reported is the time that it adds to the work: all of
// its own where nothing overlaps, next to none where it advances by itself.
// IMB's and OSU's overlap is 1 less this over the time alone (`ibcast` etc.).
// Work is calibrated again for each batch, since the load of the machine changes.

#include <algorithm>
#include <array>

#include "measure/benchmarks/benchmark.hpp"
#include "measure/harness/work.hpp"

namespace lanewise::measure {
namespace {

struct Overlap {
    std::uint64_t steps = 0;
    double work_s = 0.0;
};

int overlapped(Exchange& e) {
    MPI_Request request = MPI_REQUEST_NULL;
    const int code = e.start(e, &request);
    work(state_of<Overlap>(e).steps);
    return first_failure({code, MPI_Wait(&request, MPI_STATUS_IGNORE)});
}

constexpr int trials = 7;

// The least of some times of the collective alone, each as long as on its slowest rank. The ranks
// meet before each: a rank that need not wait for the others would otherwise time a part of one.
int time_alone(Exchange& e, const Clock& clock, double& alone_s) {
    std::array<double, trials> times_s{};
    int code = MPI_SUCCESS;
    for (auto& time_s : times_s) {
        MPI_Request request = MPI_REQUEST_NULL;
        code = first_failure({code, MPI_Barrier(e.comm)});
        const double begin_s = clock.now_s();
        code = first_failure({code, e.start(e, &request), MPI_Wait(&request, MPI_STATUS_IGNORE)});
        time_s = clock.now_s() - begin_s;
    }
    code = first_failure(
        {code, MPI_Allreduce(MPI_IN_PLACE, times_s.data(), trials, MPI_DOUBLE, MPI_MAX, e.comm)});
    alone_s = *std::min_element(times_s.begin(), times_s.end());
    return code;
}

int calibrate(Exchange& e) {
    if (e.state) return MPI_SUCCESS; /* by another set of buffers */
    const auto clock = monotonic_clock();
    double alone_s = 0.0;
    const int code = time_alone(e, clock, alone_s);
    auto state = std::make_shared<Overlap>();
    state->steps = steps_for(alone_s, calibrate_work_s(clock));
    state->work_s = 1e300;
    for (int i = 0; i < trials; ++i) {
        const double begin_s = clock.now_s();
        work(state->steps);
        state->work_s = std::min(state->work_s, clock.now_s() - begin_s);
    }
    // All ranks take off the same, so that they agree on when there are enough repetitions.
    const int reduced = MPI_Allreduce(MPI_IN_PLACE, &state->work_s, 1, MPI_DOUBLE, MPI_MAX, e.comm);
    e.state = state;
    return first_failure({code, reduced});
}

double work_s(const Exchange& e) {
    return static_cast<const Overlap *>(e.state.get())->work_s;
}

}  // namespace

Entries overlap_benchmarks() {
    Entries entries;
    for (const auto& nonblocking : nonblocking_operations(blocking_operations())) {
        entries.push_back(derived("overlapped_", nonblocking));
        auto& entry = entries.back();
        entry.call = overlapped;
        entry.prepare = calibrate;
        entry.beside_s = work_s;
        entry.lacks = work_lacks;
    }
    return entries;
}

}  // namespace lanewise::measure
