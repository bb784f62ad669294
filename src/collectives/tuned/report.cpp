// SPDX-License-Identifier: BSD-3-Clause

#include "collectives/tuned/report.hpp"

#include <mpi.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <bit>
#include <mutex>
#include <string>
#include <vector>

#include "base/file.hpp"
#include "base/json.hpp"
#include "collectives/tuned/agreement.hpp"
#include "collectives/tuned/environment.hpp"
#include "collectives/tuned/put_aside.hpp"

namespace lanewise::tuned {
namespace {

using collectives::Calling;
using collectives::Collective;
using collectives::Operation;
using collectives::Rule;

// Bucket 0 holds size 0, bucket b the sizes from 2^(b-1) to 2^b - 1.
constexpr std::size_t bucket_count = 65;
constexpr std::size_t row_count = collectives::operation_count * bucket_count;

struct Tally {
    std::atomic<std::uint64_t> intercepted;
    std::atomic<std::uint64_t> sampled;
    std::atomic<std::uint64_t> forwarded;
    std::atomic<std::uint64_t> intercepted_ns;
    std::atomic<std::uint64_t> sampled_ns;
    std::atomic<const Rule *> rule; /* the latest */
};

/* A tally as numbers that can be added over ranks. */
struct Sums {
    std::uint64_t intercepted = 0;
    std::uint64_t sampled = 0;
    std::uint64_t forwarded = 0;
    std::uint64_t intercepted_ns = 0;
    std::uint64_t sampled_ns = 0;
};
constexpr int sums_width = sizeof(Sums) / sizeof(std::uint64_t);

std::array<Tally, row_count>& tallies() {
    static std::array<Tally, row_count> instance{};
    return instance;
}

std::vector<Sums> collect() {
    std::vector<Sums> sums;
    for (const auto& tally : tallies()) {
        sums.push_back({tally.intercepted, tally.sampled, tally.forwarded, tally.intercepted_ns,
                        tally.sampled_ns});
    }
    return sums;
}

double mean_s(std::uint64_t total_ns, std::uint64_t count) {
    return 1e-9 * static_cast<double>(total_ns) / static_cast<double>(count);
}

/* A mean over the ranks, which is seldom no whole number: some made calls that others did not. */
Json mean_count(std::uint64_t total, std::uint64_t ranks) {
    if (total % ranks == 0) return total / ranks;
    return static_cast<double>(total) / static_cast<double>(ranks);
}

Operation operation_of(std::size_t index) {
    if (index < collectives::collective_count) return static_cast<Collective>(index);
    return {static_cast<Collective>(index - collectives::collective_count), Calling::nonblocking};
}

Json entry_of(std::size_t row, const Sums& sums, std::uint64_t ranks) {
    const auto bucket = row % bucket_count;
    const Operation operation = operation_of(row / bucket_count);
    const bool timed = operation.calling == Calling::blocking;
    const std::uint64_t from_bytes = bucket == 0 ? 0 : std::uint64_t{1} << (bucket - 1);
    Json entry = {{"collective", collectives::name_of(operation)},
                  {"from_bytes", from_bytes},
                  {"to_bytes", bucket == 0 ? 0 : from_bytes + (from_bytes - 1)}};
    if (const Rule *rule = tallies()[row].rule) entry["algorithm"] = rule->algorithm->name;
    entry["intercepted"] = mean_count(sums.intercepted, ranks);
    entry["forwarded"] = mean_count(sums.forwarded + sums.sampled, ranks);
    entry["sampled"] = mean_count(sums.sampled, ranks);
    if (timed && sums.intercepted > 0)
        entry["intercepted_mean_s"] = mean_s(sums.intercepted_ns, sums.intercepted);
    if (sums.sampled > 0) entry["default_mean_s"] = mean_s(sums.sampled_ns, sums.sampled);
    if (sums.intercepted > 0 && sums.sampled > 0) {
        const double gain_s =
            mean_s(sums.sampled_ns, sums.sampled) - mean_s(sums.intercepted_ns, sums.intercepted);
        const auto intercepted = static_cast<double>(sums.intercepted);
        entry["saved_s"] = gain_s * intercepted / static_cast<double>(ranks);
    }
    return entry;
}

Json report_of(const std::vector<Sums>& sums, int ranks) {
    Json calls = Json::array();
    double saved_s = 0.0;
    for (std::size_t row = 0; row < sums.size(); ++row) {
        if (sums[row].intercepted + sums[row].sampled + sums[row].forwarded == 0) continue;
        calls.push_back(entry_of(row, sums[row], static_cast<std::uint64_t>(ranks)));
        saved_s += calls.back().value("saved_s", 0.0);
    }
    Json aside = Json::array();
    for (const auto& one : rules_put_aside()) {
        aside.push_back({{"collective", collectives::name_of(one.operation)},
                         {"from_bytes", one.rule.from_bytes},
                         {"to_bytes", one.rule.to_bytes},
                         {"algorithm", one.rule.algorithm->name},
                         {"ranks", one.ranks},
                         {"samples", one.samples},
                         {"ratio", one.ratio}});
    }
    return {{"schema", "lanewise-run"},
            {"version", 4},
            {"put_aside", aside},
            {"lanewise", LANEWISE_VERSION},
            {"tuning", environment().tuning_path},
            {"ranks", ranks},
            {"saved_s", saved_s},
            {"calls", calls}};
}

void write(const std::vector<Sums>& sums, int ranks) {
    const auto& path = environment().report_path;
    const auto written = write_file(path, json_text(report_of(sums, ranks), 1) + "\n");
    if (!written) say(written.failure().sentence + "; name another LANEWISE_REPORT");
}

std::atomic<bool> this_one_writes{false};
std::atomic<pid_t> writes_at_exit{0}; /* the process; 0: none */

/* Runs when MPI_COMM_SELF is freed, which is the first thing that finalizing does. */
int finish(MPI_Comm, int, void *, void *) {
    auto sums = collect();
    int ranks = 1;
    if (world_agrees()) {
        PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
        std::vector<Sums> total(sums.size());
        PMPI_Reduce(sums.data(), total.data(), static_cast<int>(sums.size()) * sums_width,
                    MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
        sums = std::move(total);
    }
    if (this_one_writes.exchange(false)) write(sums, ranks);
    return MPI_SUCCESS;
}

/* Without a world there is no MPI_COMM_SELF to be freed: what is left is the end of the process.
   What the process has forked ends here too, and has nothing to report. */
__attribute__((destructor)) void finish_without_world() {
    if (writes_at_exit.exchange(0) == getpid()) write(collect(), 1);
}

}  // namespace

constinit bool reporting = false;

void record(Operation operation, std::uint64_t message_bytes, const Rule *rule, CallOutcome outcome,
            std::int64_t elapsed_ns) {
    const auto row =
        operation.index() * bucket_count + static_cast<std::size_t>(std::bit_width(message_bytes));
    auto& tally = tallies()[row];
    const auto elapsed = static_cast<std::uint64_t>(elapsed_ns);
    if (rule) tally.rule.store(rule, std::memory_order_relaxed);
    switch (outcome) {
        case CallOutcome::intercepted:
            tally.intercepted.fetch_add(1, std::memory_order_relaxed);
            tally.intercepted_ns.fetch_add(elapsed, std::memory_order_relaxed);
            return;
        case CallOutcome::sampled:
            tally.sampled.fetch_add(1, std::memory_order_relaxed);
            tally.sampled_ns.fetch_add(elapsed, std::memory_order_relaxed);
            return;
        case CallOutcome::forwarded:
            tally.forwarded.fetch_add(1, std::memory_order_relaxed);
            return;
    }
}

void prepare_report_of_sessions() {
    int initialized = 0; /* and remains so when MPI is finalized */
    PMPI_Initialized(&initialized);
    if (initialized == 0) writes_at_exit = getpid();
}

void prepare_report(ReportWriter writer) {
    int initialized = 0;
    PMPI_Initialized(&initialized);
    if (initialized == 0) return;
    static std::once_flag once;
    std::call_once(once, [&] {
        writes_at_exit = 0;
        this_one_writes = writer == ReportWriter::this_process;
        int key = MPI_KEYVAL_INVALID;
        PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, finish, &key, nullptr);
        PMPI_Comm_set_attr(MPI_COMM_SELF, key, nullptr);
        PMPI_Comm_free_keyval(&key);
    });
}

}  // namespace lanewise::tuned
