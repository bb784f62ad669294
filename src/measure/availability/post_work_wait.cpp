// SPDX-License-Identifier: BSD-3-Clause
//
// See post_work_wait.hpp. The amounts of work are interleaved, so that changes of
// the machine affect all of them alike.

#include "measure/availability/post_work_wait.hpp"

#include <algorithm>
#include <array>

#include "base/sizes.hpp"
#include "base/statistics.hpp"
#include "measure/availability/admission.hpp"
#include "measure/harness/work.hpp"
#include "measure/validate.hpp"

namespace lanewise::measure {
namespace {

constexpr int tag = 33;
constexpr std::array amounts = {0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0};
static_assert(amounts.size() == post_work_wait_amounts);

struct Once {
    double alone_s = 0.0;
    double post_s = 0.0;
    double loop_s = 0.0;
    double wait_s = 0.0;
};

/* The sets of buffers, and which is used next. */
struct Pairs {
    struct Pair {
        Buffer send;
        Buffer receive;
    };
    std::vector<Pair> sets;
    std::size_t next = 0;

    const Pair& take() { return sets[next++ % sets.size()]; }
};

Result<Pairs> make_pairs(std::uint64_t bytes, const lw_buffers& layout, int rank) {
    Pairs pairs;
    for (std::uint32_t i = 0; i < layout.rotating_sets; ++i) {
        auto send = Buffer::create(bytes, layout);
        auto receive = Buffer::create(bytes, layout);
        if (!send) return send.failure();
        if (!receive) return receive.failure();
        mark(send->bytes(), rank);
        pairs.sets.push_back({std::move(*send), std::move(*receive)});
    }
    return pairs;
}

bool all_right(const Pairs& pairs, int sender) {
    const auto used = std::min(pairs.next, pairs.sets.size());
    const auto end = pairs.sets.begin() + static_cast<std::ptrdiff_t>(used);
    return std::all_of(pairs.sets.begin(), end, [sender](const auto& pair) {
        return is_marked(pair.receive.bytes(), sender);
    });
}

// Each sends and receives at once: an MPI need not buffer a message that nobody receives yet.
void meet(const Harness& harness, int peer) {
    char mine = '.';
    char theirs = 0;
    check(MPI_Sendrecv(&mine, 1, MPI_CHAR, peer, tag, &theirs, 1, MPI_CHAR, peer, tag,
                       harness.comm(), MPI_STATUS_IGNORE));
}

Once run_once(const Bench& bench, Pairs& pairs, std::uint64_t steps) {
    const auto& harness = bench.harness();
    const auto& clock = bench.clock();
    const int peer = 1 - harness.rank();
    const auto& [send, receive] = pairs.take();
    const auto bytes = static_cast<int>(send.bytes().size());
    Once once;
    const double first_s = clock.now_s();
    if (steps > 0) work(steps);
    once.alone_s = steps > 0 ? clock.now_s() - first_s : 0.0;
    bench.evict_caches(std::array{send.bytes(), receive.bytes()});
    meet(harness, peer);

    MPI_Request requests[2];
    const double begin_s = clock.now_s();
    check(MPI_Irecv(receive.data(), bytes, MPI_BYTE, peer, tag, harness.comm(), &requests[0]));
    check(MPI_Isend(send.data(), bytes, MPI_BYTE, peer, tag, harness.comm(), &requests[1]));
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

Once agreed(const Bench& bench, Pairs& pairs, std::uint64_t steps) {
    Once once;
    bench.harness().barrier();
    if (bench.harness().rank() < 2) once = run_once(bench, pairs, steps);
    double values[4] = {once.alone_s, once.post_s, once.loop_s, once.wait_s};
    bench.harness().maximum(values);
    return {values[0], values[1], values[2], values[3]};
}

std::vector<PostWorkWaitPoint> every_amount(std::uint64_t message_bytes) {
    std::vector<PostWorkWaitPoint> all;
    for (const double amount : amounts) {
        PostWorkWaitPoint point;
        point.message_bytes = message_bytes;
        point.over_base = amount;
        all.push_back(point);
    }
    return all;
}

}  // namespace

Result<std::vector<PostWorkWaitPoint>> measure_post_work_wait(Bench& bench,
                                                              const PostWorkWaitPlan& plan) {
    const auto& harness = bench.harness();
    const auto& layout = bench.options().buffers;
    const std::uint64_t buffers = 2 * std::uint64_t{layout.rotating_sets};
    const auto admitted = admit_availability(bench, "post-work-wait", plan.message_bytes, buffers);
    if (!admitted) return admitted.failure();
    const std::string what = "post-work-wait of " + format_size(plan.message_bytes) + " bytes ";
    auto pairs = make_pairs(plan.message_bytes, layout, harness.rank());
    if (harness.any(!pairs))
        return Failure{LW_ERR_MEMORY,
                       what + (pairs ? "could not be set up" : pairs.failure().sentence)};
    double step_s = calibrate_work_s(bench.clock());
    harness.maximum({&step_s, 1});
    constexpr int trials = 15;
    std::vector<double> bases_s;
    for (int i = 0; i < trials; ++i) bases_s.push_back(agreed(bench, *pairs, 0).loop_s);
    const double base_s = median(bases_s);

    auto all = every_amount(plan.message_bytes);
    for (std::size_t i = 0; i < plan.repetitions; ++i) {
        for (auto& point : all) {
            const auto steps =
                point.over_base > 0.0 ? steps_for(point.over_base * base_s, step_s) : 0;
            const auto once = agreed(bench, *pairs, steps);
            point.alone_s.push_back(once.alone_s);
            point.loop_s.push_back(once.loop_s);
            point.post_s.push_back(once.post_s);
            point.wait_s.push_back(once.wait_s);
        }
    }
    const bool looks = plan.validate && harness.rank() < 2;
    if (harness.any(looks && !all_right(*pairs, 1 - harness.rank())))
        return Failure{LW_ERR_OPERATION, what + "delivered wrong data"};
    return all;
}

}  // namespace lanewise::measure
