// SPDX-License-Identifier: BSD-3-Clause
//
// lanewise-opt-scatter: the optimized scatter of paper 000, section 4.
//
// First every implementation there is (the MPI's own, and each algorithm of
// Lanewise) is measured at a grid of sizes. Then Opt_Scatter picks by the size
// of the call the one that did best, between two sizes the one that is nowhere
// far from the best at either. Last, it is measured against all of them, at
// the grid and between. Batches of all take turns, so drift of the machine
// hits all alike, and every size is visited several times, since one spell on
// one set of buffers can favour a candidate. Prints one JSON object.

#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "base/statistics.hpp"
#include "collectives/execute/execute.hpp"
#include "measure/bench.hpp"
#include "measure/timing/timing.hpp"

namespace {

using namespace lanewise;
using namespace lanewise::measure;
using collectives::Algorithm;
using collectives::Call;
using collectives::Choice;
using collectives::Collective;

constexpr std::size_t grid_count = 21;
constexpr auto grid_bytes = [] {
    std::array<std::uint64_t, grid_count> powers{};
    for (std::size_t i = 0; i < grid_count; ++i) powers[i] = std::uint64_t{1} << i;
    return powers;
}();

/* What can scatter: null is the MPI's own. */
std::vector<const Algorithm *> candidates;
std::size_t contending = 0;

/* For each size of the grid the median time of each candidate. */
std::vector<std::vector<double>> medians_s;

/* For each turn, the time of each contender. */
using Rows = std::vector<std::vector<double>>;

/* How often each size is come back to, with other buffers. */
constexpr int visit_count = 3;

int scatter_by(const Algorithm *algorithm, const Call& call) {
    if (!algorithm) {
        return MPI_Scatter(call.send, static_cast<int>(call.send_count), call.send_type,
                           call.receive, static_cast<int>(call.receive_count), call.receive_type,
                           call.root, call.comm);
    }
    bool served = false;
    const int code = collectives::execute(call, Choice{algorithm, 0, 1}, served);
    return served ? code : MPI_ERR_OTHER;
}

/* The candidate whose worse ratio to the best, at the sizes around `bytes`, is least. */
std::size_t choose(std::uint64_t bytes) {
    const auto upper = std::lower_bound(grid_bytes.begin(), grid_bytes.end(), bytes);
    const auto right =
        std::min(static_cast<std::size_t>(upper - grid_bytes.begin()), grid_count - 1);
    const auto left = right > 0 && grid_bytes[right] > bytes ? right - 1 : right;
    std::size_t best = 0;
    double best_ratio = std::numeric_limits<double>::infinity();
    for (std::size_t c = 0; c < candidates.size(); ++c) {
        double ratio = 0.0;
        for (const auto at : {left, right}) {
            const auto& times_s = medians_s[at];
            ratio = std::max(ratio, times_s[c] / *std::min_element(times_s.begin(), times_s.end()));
        }
        if (ratio < best_ratio) {
            best_ratio = ratio;
            best = c;
        }
    }
    return best;
}

/* What choose says for each power of two and, behind it, for what lies between it and the next. */
std::array<const Algorithm *, 128> table;

void tabulate() {
    for (std::size_t i = 0; i < table.size() / 2; ++i) {
        const auto at = grid_bytes[std::min(i, grid_count - 1)];
        table[2 * i] = candidates[choose(at)];
        table[2 * i + 1] = candidates[choose(at + 1)];
    }
}

/* In a nanosecond or two: the shortest calls take no more than a few hundred. */
const Algorithm *look_up(std::uint64_t bytes) {
    const auto exponent = static_cast<std::size_t>(std::bit_width(bytes | 1) - 1);
    const bool between = (bytes & (bytes - 1)) != 0; /* Counting bits takes a call. */
    return table[2 * exponent + static_cast<std::size_t>(between)];
}

const Algorithm *contending_candidate(std::uint64_t) {
    return candidates[contending];
}

/* How the contender picks. All are asked alike: a branch for one of them takes 2 % of a call. */
const Algorithm *(*pick)(std::uint64_t bytes) = nullptr;

/* Each candidate, and after the last of them Opt_Scatter. */
int contending_scatter(const void *send, int send_count, MPI_Datatype send_type, void *receive,
                       int receive_count, MPI_Datatype receive_type, int root, MPI_Comm comm) {
    const auto bytes = static_cast<std::uint64_t>(receive_count); /* of MPI_BYTE */
    return scatter_by(pick(bytes), {.collective = Collective::scatter,
                                    .send = send,
                                    .send_count = send_count,
                                    .send_type = send_type,
                                    .receive = receive,
                                    .receive_count = receive_count,
                                    .receive_type = receive_type,
                                    .root = root,
                                    .comm = comm});
}

/*
 * Everybody's turns at one size. One set of buffers serves all, since where
 * memory happens to lie moves times by several percent.
 */
class Race {
  public:
    Race(Bench& bench, std::uint64_t message_bytes)
        : bench_(bench),
          operation_(lw_operation_scatter(contending_scatter), lw_operation_free),
          running_(Running::create(*operation_, bench.harness().comm(), 0, message_bytes)) {
        if (message_bytes > 32768) batch_ = 20;
        // Simulated time, one for all, repeats itself exactly.
        if (bench.clock().scope == ClockScope::everywhere) batch_ = 3;
    }

    /*
     * For each turn the midmean of one batch of each of the first `count` contenders: some clocks
     * go by steps of 10 ns, and a median is one of the steps. Every other turn goes backwards, so
     * that nobody always follows the same one.
     */
    Rows run(std::size_t count, int turns) {
        Rows times_s;
        for (int turn = 0; turn < turns; ++turn) {
            std::vector<double> row(count);
            for (std::size_t i = 0; i < count; ++i) {
                const auto place = turn % 2 == 0 ? i : count - 1 - i;
                contending = (place + static_cast<std::size_t>(turn)) % count;
                pick = contending < candidates.size() ? contending_candidate : look_up;
                row[contending] = midmean(run_max(bench_, *running_, batch_).values_s);
            }
            times_s.push_back(std::move(row));
        }
        return times_s;
    }

  private:
    Bench& bench_;
    std::size_t batch_ = 100;
    std::unique_ptr<lw_operation, decltype(&lw_operation_free)> operation_;
    Result<Running> running_;
};

std::vector<double> column(const Rows& rows, std::size_t c) {
    std::vector<double> values;
    for (const auto& row : rows) values.push_back(row[c]);
    return values;
}

std::vector<double> medians(const Rows& rows) {
    std::vector<double> values_s;
    for (std::size_t c = 0; c < rows[0].size(); ++c) values_s.push_back(median(column(rows, c)));
    return values_s;
}

const char *name_of_candidate(std::size_t c) {
    return candidates[c] ? candidates[c]->name : "mpi";
}

Json ratio_of(const Rows& rows, std::size_t one, std::size_t other) {
    std::vector<double> ratios;
    for (const auto& row : rows) ratios.push_back(row[one] / row[other]);
    const auto interval = median_interval(ratios, 0.95);
    return {{"ratio", interval.center}, {"low", interval.low}, {"high", interval.high}};
}

Json examine(std::uint64_t bytes, const Rows& rows) {
    const auto times_s = medians(rows);
    const auto opt = candidates.size();
    const auto best = static_cast<std::size_t>(
        std::min_element(times_s.begin(), times_s.end() - 1) - times_s.begin());
    Json candidates_s = Json::object();
    for (std::size_t c = 0; c < opt; ++c) candidates_s[name_of_candidate(c)] = times_s[c];
    return {{"message_bytes", bytes},
            {"opt_s", times_s[opt]},
            {"best", name_of_candidate(best)},
            {"candidates_s", candidates_s},
            {"to_best", ratio_of(rows, opt, best)},
            {"over_default", ratio_of(rows, 0, opt)}};
}

/* For each size the rows of all visits; a visit goes through all sizes before the next begins. */
std::vector<Rows> visit(Bench& bench, std::span<const std::uint64_t> sizes_bytes,
                        std::size_t contenders, int turns) {
    std::vector<Rows> rows_by_size(sizes_bytes.size());
    for (int visited = 0; visited < visit_count; ++visited) {
        for (std::size_t i = 0; i < sizes_bytes.size(); ++i) {
            auto rows = Race(bench, sizes_bytes[i]).run(contenders, turns);
            std::move(rows.begin(), rows.end(), std::back_inserter(rows_by_size[i]));
        }
    }
    return rows_by_size;
}

/* The grid, and halfway between its sizes. */
std::vector<std::uint64_t> sizes_examined() {
    std::vector<std::uint64_t> sizes_bytes;
    for (std::size_t i = 0; i < grid_count; ++i) {
        sizes_bytes.push_back(grid_bytes[i]);
        const auto between = grid_bytes[i] + grid_bytes[i] / 2;
        if (i > 0 && i + 1 < grid_count) sizes_bytes.push_back(between);
    }
    return sizes_bytes;
}

Json compare(int turns) {
    Bench bench(MPI_COMM_WORLD, LW_MEASURE_OPTIONS);
    const int ranks = bench.harness().size();
    const std::unique_ptr<lw_operation, decltype(&lw_operation_free)> largest(
        lw_operation_scatter(nullptr), lw_operation_free);
    const Point point{largest.get(), 0, grid_bytes.back()};
    if (const auto ready = bench.prepare({&point, 1}); !ready) return {};
    candidates.push_back(nullptr);
    for (const auto *algorithm : collectives::algorithms()) {
        if (algorithm->collective != Collective::scatter) continue;
        if (refusal(*algorithm, {.ranks = ranks}).empty()) candidates.push_back(algorithm);
    }
    for (const auto& rows : visit(bench, grid_bytes, candidates.size(), turns)) {
        medians_s.push_back(medians(rows));
        // All ranks choose by rank 0's clock.
        bench.harness().broadcast(std::as_writable_bytes(std::span(medians_s.back())));
    }
    tabulate();
    const auto sizes_bytes = sizes_examined();
    const auto rows_by_size = visit(bench, sizes_bytes, candidates.size() + 1, turns);
    auto points = Json::array();
    for (std::size_t i = 0; i < sizes_bytes.size(); ++i) {
        points.push_back(examine(sizes_bytes[i], rows_by_size[i]));
    }
    return {{"ranks", ranks}, {"rank", bench.harness().rank()}, {"points", points}};
}

}  // namespace

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    const int turns = argc > 1 ? std::max(1, std::atoi(argv[1])) : 30;
    auto result = compare(turns);
    if (result["rank"] == 0) {
        result.erase("rank");
        fmt::print("{}\n", result.dump());
    }
    MPI_Finalize();
    return 0;
}
