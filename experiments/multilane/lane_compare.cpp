// SPDX-License-Identifier: BSD-3-Clause
//
// lanewise-lane-compare: one collective carried out in several ways, interleaved in rounds of three
// executions of each; for each size and way, the seconds of each execution. Under any launcher:
//
//     mpirun -n 8 lanewise-lane-compare scatter 4M,16M 5 default single_lane multilane:256K:4
//
// A way is "default" or ALGORITHM[:SEGMENT[:LANES]]. Prints one JSON object.

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "base/sizes.hpp"
#include "measure/bench.hpp"
#include "tools/mpi_program.hpp"
#include "tune/implementation.hpp"

namespace {

using namespace lanewise;
using namespace lanewise::tune;
using measure::Bench;
using measure::Running;
using tools::run_under_mpi;
using tools::say_failure_once;

constexpr const char *program = "lanewise-lane-compare";
// A connection that has been idle starts slowly, and in the loop of a program it is not idle. A
// simulated one always takes the same time.
#ifdef LANEWISE_SIMULATED
constexpr std::size_t in_a_row = 1;
#else
constexpr std::size_t in_a_row = 3;
#endif

struct Named {
    std::string name;
    Implementation implementation;
};

struct Arguments {
    collectives::Collective collective = collectives::Collective::scatter;
    std::vector<std::uint64_t> sizes_bytes;
    int rounds = 1;
    std::vector<Named> ways;
};

std::vector<std::string> split(const std::string& text, char mark) {
    std::vector<std::string> parts;
    std::istringstream stream(text);
    for (std::string part; std::getline(stream, part, mark);) parts.push_back(part);
    return parts;
}

Failure usage(const std::string& sentence) {
    return {LW_ERR_ARGUMENT, sentence};
}

Result<Named> way_named(const std::string& text, collectives::Collective collective) {
    if (text == "default") return Named{text, default_implementation(name_of(collective))};
    const auto parts = split(text, ':');
    const auto *algorithm = collectives::find_algorithm(collective, parts.empty() ? "" : parts[0]);
    if (!algorithm) {
        return usage(fmt::format("{} has no algorithm \"{}\"", name_of(collective), text));
    }
    std::int64_t segment_bytes = 0;
    if (parts.size() > 1) {
        const auto read = parse_size(parts[1]);
        if (!read) return read.failure();
        segment_bytes = static_cast<std::int64_t>(*read);
    }
    const int lanes = parts.size() > 2 ? std::max(1, std::atoi(parts[2].c_str())) : 1;
    return Named{text, algorithm_implementation(*algorithm, segment_bytes, lanes)};
}

Result<Arguments> read_arguments(const std::vector<std::string>& words) {
    if (words.size() < 4) return usage("COLLECTIVE SIZES ROUNDS WAY... are needed");
    Arguments arguments;
    const auto collective = collectives::collective_named(words[0]);
    if (!collective) return usage(fmt::format("no collective \"{}\"", words[0]));
    arguments.collective = *collective;
    for (const auto& text : split(words[1], ',')) {
        const auto bytes = parse_size(text);
        if (!bytes) return bytes.failure();
        arguments.sizes_bytes.push_back(*bytes);
    }
    arguments.rounds = std::max(1, std::atoi(words[2].c_str()));
    for (std::size_t i = 3; i < words.size(); ++i) {
        auto way = way_named(words[i], *collective);
        if (!way) return way.failure();
        arguments.ways.push_back(std::move(*way));
    }
    return arguments;
}

/* A way with buffers of its own, ready to run at one size. */
struct Candidate {
    lw_operation operation;
    std::unique_ptr<Running> running;
    std::vector<double> times_s;
};

Outcome compare_at(Bench& bench, const Arguments& arguments, std::uint64_t bytes, Json& point) {
    std::vector<Candidate> candidates(arguments.ways.size());
    for (std::size_t i = 0; i < candidates.size(); ++i) {
        auto& candidate = candidates[i];
        candidate.operation =
            operation_of(arguments.ways[i].name, arguments.ways[i].implementation);
        auto running = Running::create(candidate.operation, bench.harness().comm(), 0, bytes);
        if (bench.harness().any(!running)) {
            return Failure{LW_ERR_MEMORY, "buffers cannot be had for " + arguments.ways[i].name};
        }
        candidate.running = std::make_unique<Running>(std::move(*running));
    }
    // The first round opens connections and touches memory.
    for (int round = 0; round <= arguments.rounds; ++round) {
        for (std::size_t i = 0; i < candidates.size(); ++i) {
            const auto forth = round % 2 == 0;
            auto& candidate = candidates[forth ? i : candidates.size() - 1 - i];
            const auto batch = bench.time(*candidate.running, in_a_row);
            if (batch.failed) {
                return Failure{LW_ERR_UNSUPPORTED,
                               candidate.operation.name + " does not serve here"};
            }
            if (round == 0) continue;
            candidate.times_s.insert(candidate.times_s.end(), batch.values_s.begin(),
                                     batch.values_s.end());
        }
    }
    Json times = Json::object();
    for (const auto& candidate : candidates) times[candidate.operation.name] = candidate.times_s;
    point = {{"message_bytes", bytes}, {"times_s", times}};
    return Done{};
}

Outcome compare(const Arguments& arguments) {
    Bench bench(MPI_COMM_WORLD, LW_MEASURE_OPTIONS);
    lw_operation operation;
    operation.name = name_of(arguments.collective);
    operation.entry = measure::find_entry(operation.name);
    std::vector<measure::Point> points;
    for (const auto bytes : arguments.sizes_bytes) points.push_back({&operation, 0, bytes});
    if (const auto ready = bench.prepare(points); !ready) return ready;
    Json found = Json::array();
    for (const auto bytes : arguments.sizes_bytes) {
        Json point;
        if (const auto compared = compare_at(bench, arguments, bytes, point); !compared)
            return compared;
        found.push_back(std::move(point));
    }
    if (bench.harness().rank() != 0) return Done{};
    const Json answer = {{"collective", name_of(arguments.collective)},
                         {"ranks", bench.harness().size()},
                         {"rounds", arguments.rounds},
                         {"points", found}};
    fmt::print("{}\n", answer.dump());
    return Done{};
}

}  // namespace

int main(int argc, char **argv) {
    const auto arguments = read_arguments({argv + 1, argv + argc});
    if (!arguments) return say_failure_once(program, arguments.failure());
    return run_under_mpi(program, 0, [&] { return compare(*arguments); });
}
