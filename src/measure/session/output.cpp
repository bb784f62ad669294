// SPDX-License-Identifier: BSD-3-Clause
//
// See output.hpp.

#include "measure/session/output.hpp"

#include <fmt/format.h>

#include <cstdio>

#include "base/json.hpp"
#include "measure/session/records.hpp"

namespace lanewise::measure::session {
namespace {

void print_event(Json event, const char *name) {
    event["event"] = name;
    fmt::print("{}\n", json_text(event));
    std::fflush(stdout);
}

std::string microseconds(const Json& record, const char *key) {
    const auto& value = record[key];
    return value.is_number() ? fmt::format("{:.2f}", 1e6 * value.get<double>()) : "-";
}

}  // namespace

void Output::begin(std::size_t points, const Json& context, const std::string& path) {
    planned_ = points;
    if (events_)
        return print_event({{"points", points}, {"file", path}, {"mpi", context["mpi"]}}, "start");
    fmt::print("# Lanewise {} on {} ranks, {}\n", context["lanewise"].get<std::string>(),
               context["ranks"].get<int>(), context["mpi"]["library"].get<std::string>());
    fmt::print("# method {}, start {}, clock {}\n", context["method"].get<std::string>(),
               context["start"].get<std::string>(), context["clock"].get<std::string>());
}

Outcome Output::point(std::size_t index, const Json& record) {
    if (file_) {
        const auto written = file_->write(record);
        if (!written) return written;
    }
    ++finished_;
    if (events_) {
        // Rows wait for those before them; progress does not.
        print_event({{"operation", record["operation"]},
                     {"message_bytes", record["message_bytes"]},
                     {"points_done", finished_},
                     {"points", planned_}},
                    "batch");
    }
    waiting_[index] = record;
    for (auto found = waiting_.find(next_); found != waiting_.end();
         found = waiting_.find(++next_)) {
        print_row(found->second);
        waiting_.erase(found);
    }
    return Done{};
}

void Output::print_row(const Json& record) {
    if (events_) {
        auto event = record;
        event.erase("samples_s");
        event.erase("record");
        return print_event(std::move(event), "point");
    }
    auto operation = record["operation"].get<std::string>();
    if (record.contains("definition"))
        operation += " as " + record["definition"].get<std::string>();
    const bool pairing = record.contains("peer");
    if (operation != operation_) {
        fmt::print("\n# {}\n# {:<8}{}{:>18}{:>18}{:>18}{:>12}\n", operation, "Size",
                   pairing ? fmt::format("{:>18}", "Ranks") : "", "Median Latency(us)", "Low(us)",
                   "High(us)", "Reps");
        operation_ = operation;
    }
    std::string ranks;
    if (pairing) {
        ranks = fmt::format("{}-{}", record["root"].get<int>(), record["peer"].get<int>());
        if (record.contains("second_peer"))
            ranks += fmt::format(",{}", record["second_peer"].get<int>());
        ranks = fmt::format("{:>18}", ranks);
    }
    fmt::print("{:<10}{}{:>18}{:>18}{:>18}{:>12}\n", record["message_bytes"].get<std::uint64_t>(),
               ranks, microseconds(record, "median_s"), microseconds(record, "low_s"),
               microseconds(record, "high_s"), record["repetitions"].get<std::size_t>());
    std::fflush(stdout);
}

Outcome Output::other(const Json& record, const char *event) {
    if (events_) {
        print_event(record, event);
    } else {
        fmt::print("{}\n", json_text(record, 2));
    }
    return file_ ? file_->write(record) : Outcome(Done{});
}

void Output::warning(const std::string& sentence) {
    if (events_) return print_event({{"text", sentence}}, "warning");
    fmt::print(stderr, "lanewise-measure: warning: {}\n", sentence);
}

Outcome Output::end(std::size_t points, double elapsed_s) {
    const auto written = file_ ? file_->write(end_record(points, elapsed_s)) : Outcome(Done{});
    // Whoever hears of the end may stop ranks that do not leave MPI_Finalize.
    if (written && events_) print_event({{"points", points}, {"elapsed_s", elapsed_s}}, "end");
    return written;
}

}  // namespace lanewise::measure::session
