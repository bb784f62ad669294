// SPDX-License-Identifier: BSD-3-Clause
//
// lanewise-opt-scatter: the optimized scatter of paper 000, section 4.
//
// First every implementation there is (the MPI's own, and each algorithm of
// Lanewise) is measured at a grid of sizes. Then Opt_Scatter picks by the size
// of the call the one that did best, between two sizes the one that is nowhere
// far from the best at either. Last, it is measured against all of them, at
// the grid and between. Batches of all take turns, so drift of the machine
// hits all alike. Prints one JSON object.

#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "base/json_lines.hpp"
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

/* What choose says for each power of two and what follows it, so that a call pays nothing. */
struct Chosen {
    std::uint64_t from_bytes;
    std::size_t candidate;
};
std::vector<Chosen> table;

void tabulate() {
    for (const auto bytes : grid_bytes) {
        table.push_back({bytes, choose(bytes)});
        table.push_back({bytes + 1, choose(bytes + 1)});
    }
}

std::size_t look_up(std::uint64_t bytes) {
    const auto after =
        std::upper_bound(table.begin(), table.end(), bytes,
                         [](std::uint64_t b, const Chosen& c) { return b < c.from_bytes; });
    return (after == table.begin() ? after : after - 1)->candidate;
}

/* Each candidate, and after the last of them Opt_Scatter. */
int contending_scatter(const void *send, int send_count, MPI_Datatype send_type, void *receive,
                       int receive_count, MPI_Datatype receive_type, int root, MPI_Comm comm) {
    const Call call{.collective = Collective::scatter,
                    .send = send,
                    .send_count = send_count,
                    .send_type = send_type,
                    .receive = receive,
                    .receive_count = receive_count,
                    .receive_type = receive_type,
                    .root = root,
                    .comm = comm};
    const auto bytes = static_cast<std::uint64_t>(receive_count); /* of MPI_BYTE */
    return scatter_by(candidates[contending < candidates.size() ? contending : look_up(bytes)],
                      call);
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

    /* For each turn the median of one batch of each of the first `count` contenders. */
    std::vector<std::vector<double>> run(std::size_t count, int turns) {
        std::vector<std::vector<double>> times_s;
        for (int turn = 0; turn < turns; ++turn) {
            std::vector<double> row(count);
            for (std::size_t i = 0; i < count; ++i) {
                contending = (i + static_cast<std::size_t>(turn)) % count;
                row[contending] = median(run_max(bench_, *running_, batch_).values_s);
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

std::vector<double> column(const std::vector<std::vector<double>>& rows, std::size_t c) {
    std::vector<double> values;
    for (const auto& row : rows) values.push_back(row[c]);
    return values;
}

std::vector<double> medians(const std::vector<std::vector<double>>& rows) {
    std::vector<double> values_s;
    for (std::size_t c = 0; c < rows[0].size(); ++c) values_s.push_back(median(column(rows, c)));
    return values_s;
}

const char *name_of_candidate(std::size_t c) {
    return candidates[c] ? candidates[c]->name : "mpi";
}

Json ratio_of(const std::vector<std::vector<double>>& rows, std::size_t one, std::size_t other) {
    std::vector<double> ratios;
    for (const auto& row : rows) ratios.push_back(row[one] / row[other]);
    const auto interval = median_interval(ratios, 0.95);
    return {{"ratio", interval.center}, {"low", interval.low}, {"high", interval.high}};
}

Json examine(Bench& bench, std::uint64_t bytes, int turns) {
    const auto rows = Race(bench, bytes).run(candidates.size() + 1, turns);
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
    for (const auto bytes : grid_bytes) {
        medians_s.push_back(medians(Race(bench, bytes).run(candidates.size(), turns)));
        // All ranks choose by rank 0's clock.
        bench.harness().broadcast(std::as_writable_bytes(std::span(medians_s.back())));
    }
    tabulate();
    auto points = Json::array();
    for (std::size_t i = 0; i < grid_count; ++i) {
        points.push_back(examine(bench, grid_bytes[i], turns));
        const auto between = grid_bytes[i] + grid_bytes[i] / 2;
        if (i > 0 && i + 1 < grid_count) points.push_back(examine(bench, between, turns));
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
