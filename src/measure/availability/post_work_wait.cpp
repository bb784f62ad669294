// SPDX-License-Identifier: BSD-3-Clause
//
// See post_work_wait.hpp. The amounts of work take turns, so that all of them
// see the machine in the same moods.

#include "measure/availability/post_work_wait.hpp"

#include <algorithm>

#include "base/statistics.hpp"
#include "measure/availability/work.hpp"

namespace lanewise::measure {
namespace {

constexpr int tag = 33;
constexpr double amounts[] = {0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0};

struct Once {
    double alone_s = 0.0;
    double post_s = 0.0;
    double loop_s = 0.0;
    double wait_s = 0.0;
};

struct Pair {
    std::vector<std::byte> send;
    std::vector<std::byte> receive;
};

Once run_once(const Bench& bench, Pair& pair, std::uint64_t steps) {
    const auto& harness = bench.harness();
    const auto& clock = bench.clock();
    const int peer = 1 - harness.rank();
    const auto bytes = static_cast<int>(pair.send.size());
    Once once;
    const double first_s = clock.now_s();
    if (steps > 0) work(steps);
    once.alone_s = steps > 0 ? clock.now_s() - first_s : 0.0;
    harness.send_value('.', peer);
    harness.receive_value<char>(peer);

    MPI_Request requests[2];
    const double begin_s = clock.now_s();
    check(MPI_Irecv(pair.receive.data(), bytes, MPI_BYTE, peer, tag, harness.comm(),
                    &requests[0]));
    check(MPI_Isend(pair.send.data(), bytes, MPI_BYTE, peer, tag, harness.comm(), &requests[1]));
    const double posted_s = clock.now_s();
    if (steps > 0) work(steps);
    const double worked_s = clock.now_s();
    check(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    const double end_s = clock.now_s();
    once.post_s = posted_s - begin_s;
    once.wait_s = end_s - worked_s;
    once.loop_s = end_s - begin_s;
    return once;
}

Once agreed(const Bench& bench, Pair& pair, std::uint64_t steps) {
    Once once;
    bench.harness().barrier();
    if (bench.harness().rank() < 2) once = run_once(bench, pair, steps);
    double values[4] = {once.alone_s, once.post_s, once.loop_s, once.wait_s};
    bench.harness().maximum(values);
    return {values[0], values[1], values[2], values[3]};
}

}  // namespace

Result<std::vector<Waited>> measure_post_work_wait(Bench& bench, std::uint64_t message_bytes,
                                                   std::size_t repetitions) {
    if (bench.harness().size() < 2)
        return Failure{LW_ERR_ARGUMENT, "post-work-wait needs 2 ranks, not 1"};
    if (!work_takes_time)
        return Failure{LW_ERR_UNSUPPORTED, "work takes no time where time is simulated; measure "
                                           "on real ranks"};
    const auto bytes = static_cast<std::size_t>(message_bytes);
    Pair pair{std::vector<std::byte>(bytes), std::vector<std::byte>(bytes)};
    double step_s = calibrate_work_s(bench.clock());
    bench.harness().maximum({&step_s, 1});
    constexpr int trials = 15;
    std::vector<double> bases_s;
    for (int i = 0; i < trials; ++i) bases_s.push_back(agreed(bench, pair, 0).loop_s);
    const double base_s = median(bases_s);

    std::vector<Waited> all;
    for (const double amount : amounts) {
        Waited waited;
        waited.message_bytes = message_bytes;
        waited.over_base = amount;
        all.push_back(waited);
    }
    for (std::size_t i = 0; i < repetitions; ++i) {
        for (auto& waited : all) {
            const auto steps =
                waited.over_base > 0.0 ? steps_for(waited.over_base * base_s, step_s) : 0;
            const auto once = agreed(bench, pair, steps);
            waited.alone_s.push_back(once.alone_s);
            waited.loop_s.push_back(once.loop_s);
            waited.post_s.push_back(once.post_s);
            waited.wait_s.push_back(once.wait_s);
        }
    }
    return all;
}

}  // namespace lanewise::measure
