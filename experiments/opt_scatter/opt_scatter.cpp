// SPDX-License-Identifier: BSD-3-Clause
//
// lanewise-opt-scatter: the optimized scatter of MPIBlib (2008), section 4.
//
//     lanewise-opt-scatter 48 1 2 4           time every scatter at these sizes
//     lanewise-opt-scatter 48 1=mpi 2=linear  and Opt_Scatter, which uses these
//
// The scatters are the MPI's own and each algorithm of Lanewise. Their batches are interleaved in
// as many rounds as the first argument says, so that drift of the machine affects all alike.
// Opt_Scatter looks up the scatter by the size of the call; the caller says which is best at each
// size. Prints one JSON object: for each size and round the time of each scatter, Opt_Scatter's
// last.

#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.hpp"
#include "base/statistics.hpp"
#include "collectives/execute/execute.hpp"
#include "experiments/ring.hpp"
#include "measure/bench.hpp"
#include "tools/mpi_program.hpp"
#include "tune/comparison.hpp"

namespace {

using namespace lanewise;
using namespace lanewise::measure;
using collectives::Algorithm;
using collectives::Call;
using collectives::Choice;
using collectives::Collective;

constexpr const char *program = "lanewise-opt-scatter";

/* Every scatter: null is the MPI's own. */
std::vector<const Algorithm *> candidates;

/* The number of the candidate that runs now; the one after the last is Opt_Scatter. */
std::size_t current = 0;

/* For each round, the time of each candidate. */
using Rows = std::vector<std::vector<double>>;

const char *name_of(const Algorithm *candidate) {
    return candidate ? candidate->name : "mpi";
}

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

/* What Opt_Scatter picks for each power of two and, behind it, for what lies between it and the
   next. */
std::array<const Algorithm *, 128> table;

/* In a nanosecond or two: the shortest calls take no more than a few hundred. */
std::size_t place_of(std::uint64_t bytes) {
    const auto exponent = static_cast<std::size_t>(std::bit_width(bytes | 1) - 1);
    const bool between = (bytes & (bytes - 1)) != 0; /* Counting bits takes a call. */
    return 2 * exponent + static_cast<std::size_t>(between);
}

const Algorithm *look_up(std::uint64_t bytes) {
    return table[place_of(bytes)];
}

int current_scatter(const void *send, int send_count, MPI_Datatype send_type, void *receive,
                    int receive_count, MPI_Datatype receive_type, int root, MPI_Comm comm) {
    const auto bytes = static_cast<std::uint64_t>(receive_count); /* of MPI_BYTE */
    const auto *algorithm = current < candidates.size() ? candidates[current] : look_up(bytes);
    return scatter_by(algorithm, {.collective = Collective::scatter,
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
 * All rounds at one size. One set of buffers serves all, since the placement of buffers in memory
 * changes times by several percent.
 */
class Rounds {
  public:
    Rounds(Bench& bench, std::uint64_t message_bytes)
        : bench_(bench),
          operation_(lw_operation_scatter(current_scatter), lw_operation_free),
          running_(Running::create(*operation_, bench.harness().comm(), 0, message_bytes)) {
        if (message_bytes > experiments::ring_message_max_bytes) batch_ = 100;
        if (message_bytes > 32768) batch_ = 20;
        // Simulated time repeats exactly.
        if (bench.clock().scope == ClockScope::everywhere) batch_ = 3;
    }

    /*
     * For each round the midmean of one batch of each of the first `count` candidates, in random
     * order: some clocks have steps of 10 ns, and a median would be one of the steps.
     */
    Rows run(std::size_t count, std::size_t rounds) {
        std::vector<std::size_t> numbers(count);
        std::iota(numbers.begin(), numbers.end(), 0);
        const auto batches = tune::interleave(numbers, rounds * batch_, batch_, random_);
        Rows times_s(batches.size() / count, std::vector<double>(count));
        for (std::size_t i = 0; i < batches.size(); ++i) {
            current = batches[i].contender;
            const auto batch = bench_.time(*running_, batches[i].count);
            times_s[i / count][current] = midmean(batch.values_s);
        }
        return times_s;
    }

  private:
    Bench& bench_;
    std::size_t batch_ = experiments::ring_batch;
    std::mt19937_64 random_; /* the same on every rank */
    std::unique_ptr<lw_operation, decltype(&lw_operation_free)> operation_;
    Result<Running> running_;
};

/* A size, and what Opt_Scatter uses there if it takes part. */
struct Entry {
    std::uint64_t message_bytes = 0;
    std::optional<const Algorithm *> pick;
};

Result<Entry> entry_of(std::string_view text) {
    const Failure bad{LW_ERR_ARGUMENT,
                      fmt::format("{} is not SIZE or SIZE=SCATTER, of a scatter that serves this "
                                  "many ranks",
                                  text)};
    Entry entry;
    const char *end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, entry.message_bytes);
    if (error != std::errc{} || entry.message_bytes == 0) return bad;
    if (rest == end) return entry;
    const std::string_view name(rest + 1, static_cast<std::size_t>(end - rest - 1));
    const auto found = std::find_if(candidates.begin(), candidates.end(),
                                    [&](const auto *known) { return name == name_of(known); });
    if (*rest != '=' || found == candidates.end()) return bad;
    entry.pick = *found;
    return entry;
}

void find_candidates(int ranks) {
    candidates.push_back(nullptr);
    for (const auto *algorithm : collectives::algorithms()) {
        if (algorithm->collective != Collective::scatter) continue;
        if (refusal(*algorithm, {.ranks = ranks}).empty()) candidates.push_back(algorithm);
    }
}

/* Opt_Scatter takes part if every size says what it uses. */
Json time_all(Bench& bench, std::span<const Entry> entries, std::size_t rounds) {
    const bool informed = std::all_of(entries.begin(), entries.end(),
                                      [](const Entry& entry) { return entry.pick.has_value(); });
    for (const auto& entry : entries) {
        table[place_of(entry.message_bytes)] = entry.pick.value_or(nullptr);
    }
    auto names = Json::array();
    for (const auto *candidate : candidates) names.push_back(name_of(candidate));
    auto points = Json::array();
    for (const auto& entry : entries) {
        const auto rows_s =
            Rounds(bench, entry.message_bytes).run(candidates.size() + (informed ? 1 : 0), rounds);
        points.push_back({{"message_bytes", entry.message_bytes}, {"rows_s", rows_s}});
    }
    return {{"candidates", names}, {"points", points}};
}

Outcome compare(std::size_t rounds, std::span<char *const> sizes) {
    Bench bench(MPI_COMM_WORLD, LW_MEASURE_OPTIONS);
    find_candidates(bench.harness().size());
    std::vector<Entry> entries;
    for (const auto *size : sizes) {
        const auto entry = entry_of(size);
        if (!entry) return entry.failure();
        entries.push_back(*entry);
    }
    const std::unique_ptr<lw_operation, decltype(&lw_operation_free)> operation(
        lw_operation_scatter(nullptr), lw_operation_free);
    std::vector<Point> points;
    for (const auto& entry : entries) points.push_back({operation.get(), 0, entry.message_bytes});
    if (auto ready = bench.prepare(points); !ready) return ready;
    const auto result = time_all(bench, entries, rounds);
    if (bench.harness().rank() == 0) fmt::print("{}\n", result.dump());
    return Done{};
}

}  // namespace

int main(int argc, char **argv) {
    const int rounds = argc > 2 ? std::atoi(argv[1]) : 0;
    if (rounds < 1) {
        return tools::say_failure_once(program,
                                       {LW_ERR_ARGUMENT, "give a number of rounds, then sizes"});
    }
    const std::span sizes(argv + 2, static_cast<std::size_t>(argc) - 2);
    return tools::run_under_mpi(program, 0,
                                [&] { return compare(static_cast<std::size_t>(rounds), sizes); });
}
