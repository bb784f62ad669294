// SPDX-License-Identifier: BSD-3-Clause
//
// See records.hpp.

#include "measure/session/records.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "base/host.hpp"
#include "base/json.hpp"
#include "base/json_lines.hpp"
#include "base/statistics.hpp"
#include "measure/round_trips.hpp"
#include "measure/session/buffer_words.hpp"
#include "measure/session/conditions.hpp"

namespace lanewise::measure::session {
namespace {

constexpr int schema_version = 2;

Json stopping(const lw_measure_options& options) {
    const bool fixed = options.repetitions_min == options.repetitions_max;
    return {{"rule", options.rule == LW_RULE_MEDIAN ? "median" : "student"},
            {"confidence", options.confidence},
            {"error", options.error},
            {"repetitions_min", options.repetitions_min},
            {"repetitions_max", options.repetitions_max},
            {"warmup_repetitions", options.warmup_repetitions},
            {"time_limit_s", options.time_limit_s},
            {"batches_min", fixed ? 1 : 2}};
}

// A number JSON can hold; it has no infinity and no NaN.
Json number(double value) {
    return std::isfinite(value) ? Json(value) : Json(nullptr);
}

// To a tenth of a nanosecond, which no clock resolves, so that files stay short; and to six digits
// where the value is less, since it may be the share of one message in the time of many.
double rounded(double value_s) {
    constexpr double tenth_of_ns_has_six_digits_s = 1e-5;
    if (!(std::abs(value_s) < tenth_of_ns_has_six_digits_s))
        return std::round(value_s * 1e10) / 1e10;
    const auto text = fmt::format("{:.6g}", value_s);
    double read = value_s;
    std::from_chars(text.data(), text.data() + text.size(), read);
    return read;
}

Json rounded(const std::vector<double>& values_s) {
    Json list = Json::array();
    for (const double value_s : values_s) list.push_back(number(rounded(value_s)));
    return list;
}

/* The task that a record is of, and how many records such a task has. */
struct Part {
    std::string task;
    std::size_t records = 1;
};

// Files are edited by hand, too: a record that lacks what its kind has ends what is kept.
std::optional<Part> part_of(const Json& record, std::size_t ranks) {
    const auto has = [&record](const char *key, bool (Json::*is)() const) {
        return record.contains(key) && (record[key].*is)();
    };
    if (!has("record", &Json::is_string) || !has("message_bytes", &Json::is_number_unsigned))
        return std::nullopt;
    const auto bytes = record["message_bytes"].get<std::uint64_t>();
    if (record["record"] == "polling" && has("interval_s", &Json::is_number))
        return Part{polling_key(bytes, record["interval_s"].get<double>())};
    if (record["record"] == "waiting") return Part{waiting_key(bytes), post_work_wait_amounts};
    if (record["record"] != "point" || !has("operation", &Json::is_string)) return std::nullopt;
    const auto operation = record["operation"].get<std::string>();
    return Part{task_key(operation, bytes, record.value("definition", "")),
                task_points(operation, ranks)};
}

/* Files from before there were several launches have one. */
int launch_of(const Json& record) {
    const auto found = record.find("launch");
    return found != record.end() && found->is_number_integer() ? found->get<int>() : 1;
}

// The tasks of a file, up to the first record that is of none.
void take_in(const JsonLines& lines, std::size_t ranks, int launch, Unfinished& unfinished) {
    std::size_t in_task = 0;
    unfinished.keep_bytes = lines.ends.front();
    for (std::size_t i = 1; i < lines.records.size(); ++i) {
        const auto& record = lines.records[i];
        const auto part = part_of(record, ranks);
        if (!part) break;
        if (++in_task < part->records) continue;
        // A task that was cut off within is measured again as a whole.
        if (record["record"] == "point") unfinished.points += in_task;
        in_task = 0;
        unfinished.keep_bytes = lines.ends[i];
        if (launch_of(record) == launch) unfinished.tasks.insert(part->task);
    }
}

const char *stop_name(lw_stop stop) {
    switch (stop) {
        case LW_STOP_INTERVAL: return "interval";
        case LW_STOP_MAXIMUM: return "maximum";
        case LW_STOP_TIME_LIMIT: return "time_limit";
        case LW_STOP_FIXED: return "fixed";
    }
    return "";
}

/* Version 1 called the launcher fabric. */
Json as_version_2(Json context) {
    if (context.value("version", Json()) != 1 || !context.contains("fabric")) return context;
    context["version"] = schema_version;
    context["launcher"] = context["fabric"];
    return context;
}

}  // namespace

Json how_measured(const Arguments& arguments) {
    const auto& options = arguments.options;
    return {{"method", lw_timing_name(options.timing)},
            {"start", lw_start_name(options.start)},
            {"stopping", stopping(options)},
            {"pipeline_length", options.pipeline_length},
            {"root", arguments.root},
            {"weights", arguments.weights},
            {"reply", arguments.reply},
            {"window", arguments.window},
            {"buffers", buffers_record(options.buffers)},
            {"order", arguments.order == LW_ORDER_PARALLEL ? "parallel" : "sequential"},
            {"seed", options.seed}};
}

Json mpi_record() {
    auto mpi = mpi_library();
    if (const auto device = mpi_device(); !device.empty()) mpi["device"] = device;
    return mpi;
}

Json context_record(const Arguments& arguments, const measure::Bench& bench) {
    const auto host = this_host();
    Json record = {
        {"record", "context"},
        {"schema", "lanewise-samples"},
        {"version", schema_version},
        {"lanewise", lw_version()},
        {"mpi", mpi_record()},
        {"launcher", arguments.launcher.empty() ? LANEWISE_MPI_FAMILY : arguments.launcher},
        {"launcher_args", arguments.launcher_args},
        {"ranks", bench.harness().size()},
        {"placement", placement(bench.harness())},
        {"cores", host.cores},
        {"kernel", host.kernel},
        {"governor", host.governor},
        {"clocksource", host.clocksource},
        {"clock", bench.clock().name}};
    record.update(how_measured(arguments));
    record["launches"] = arguments.launches;
    record["started"] = utc_now();
    record["arguments"] = arguments.words;
    if (!arguments.transport.empty()) record["transport"] = arguments.transport;
    if (arguments.definition) record["definition"] = arguments.definition->name;
    if (arguments.subject == Subject::polling) record["work_s"] = arguments.work_s;
    return record;
}

Json point_record(const std::string& operation, int launch, const measure::Measured& measured,
                  const measure::Definition *definition) {
    const auto& point = measured.point;
    Json record = {{"record", "point"},
                   {"operation", operation},
                   {"launch", launch},
                   {"root", point.root},
                   {"message_bytes", point.message_bytes}};
    if (point.peer >= 0) {
        record["peer"] = point.peer;
        record["reply_bytes"] = point.reply_bytes;
    }
    if (point.second_peer >= 0) record["second_peer"] = point.second_peer;
    if (definition) {
        record["definition"] = definition->name;
        record["calls"] = measured.calls;
        record["min_s"] = median(measured.least_s);
        record["max_s"] = median(measured.most_s);
    }
    if (!measured.pure_s.empty()) {
        record["pure_s"] = median(measured.pure_s);
        record["work_s"] = median(measured.work_s);
    }
    record["median_s"] = number(point.median_s);
    record["low_s"] = number(point.low_s);
    record["high_s"] = number(point.high_s);
    record["mean_s"] = number(point.mean_s);
    record["repetitions"] = point.repetitions;
    record["late_count"] = point.late_count;
    record["outlier_count"] = point.outlier_count;
    record["batches"] = point.batch_count;
    record["stopped"] = stop_name(point.stop);
    record["elapsed_s"] = point.elapsed_s;
    record["samples_s"] = rounded(measured.values_s);
    return record;
}

Json clock_record(const lw_clock_report& report) {
    return {{"record", "clock"},
            {"residual_s", number(report.residual_s)},
            {"uncertainty_s", number(report.uncertainty_s)},
            {"span_s", number(report.span_s)},
            {"error_s", number(report.error_s)}};
}

Json polling_record(const measure::PollingPlan& plan, const measure::Polled& polled) {
    return {{"record", "polling"},
            {"message_bytes", plan.message_bytes},
            {"interval_s", plan.interval_s},
            {"depth", plan.depth},
            {"availability", polled.availability},
            {"rate_bytes_per_s", polled.rate_bytes_per_s}};
}

Json post_work_wait_record(const measure::PostWorkWaitPoint& point) {
    return {{"record", "waiting"},
            {"message_bytes", point.message_bytes},
            {"over_base", point.over_base},
            {"alone_s", rounded(point.alone_s)},
            {"loop_s", rounded(point.loop_s)},
            {"post_s", rounded(point.post_s)},
            {"wait_s", rounded(point.wait_s)}};
}

Json end_record(std::size_t points, double elapsed_s) {
    return {{"record", "end"}, {"points", points}, {"elapsed_s", elapsed_s}};
}

std::string task_key(const std::string& operation, std::uint64_t message_bytes,
                     const std::string& definition) {
    const auto key = operation + ' ' + std::to_string(message_bytes);
    return definition.empty() ? key : key + ' ' + definition;
}

std::string polling_key(std::uint64_t message_bytes, double interval_s) {
    return task_key("polling every " + json_text(Json(interval_s)), message_bytes);
}

std::string waiting_key(std::uint64_t message_bytes) {
    return task_key("post-work-wait", message_bytes);
}

std::size_t task_points(const std::string& operation, std::size_t ranks) {
    const auto *round_trip = measure::find_round_trip(operation);
    if (!round_trip) return 1;
    return ranks * (ranks - 1) * (round_trip->peers == 2 ? ranks - 2 : 1) / 2;
}

Result<Unfinished> read_unfinished(const std::string& path, const Json& context, int launch) {
    const auto lines = read_json_lines(path);
    if (!lines) return lines.failure();
    Unfinished unfinished;
    unfinished.truncated = lines->truncated;
    if (lines->records.empty()) return unfinished;
    const auto before = as_version_2(lines->records.front());
    for (const char *key :
         {"record",    "schema",     "version",      "mpi",   "launcher", "ranks",
          "clock",     "definition", "method",       "start", "stopping", "pipeline_length",
          "root",      "weights",    "reply",        "order", "window",   "buffers",
          "transport", "work_s",     "launcher_args"}) {
        if (before.contains(key) == context.contains(key) &&
            before.value(key, Json()) == context.value(key, Json()))
            continue;
        // Files from before there were windows hold nothing that streams.
        if (std::string(key) == "window" && !before.contains(key)) continue;
        // Files from before arguments of the launcher were recorded do not tell them.
        if (std::string(key) == "launcher_args" && !before.contains(key)) continue;
        // Those from before there was a choice have plain buffers.
        const bool chosen = std::string(key) != "buffers" || before.contains(key);
        if (!chosen && context[key] == buffers_record(measure::plain_buffers)) continue;
        const auto was = before.contains(key) ? json_text(before[key]) : std::string("absent");
        const auto now = context.contains(key) ? json_text(context[key]) : std::string("absent");
        return Failure{LW_ERR_ARGUMENT, path + " was measured with " + key + " " + was + ", not " +
                                            now + "; name another file or the same conditions"};
    }
    const auto placed = refuse_other_hosts(path, before, context);
    if (!placed) return placed.failure();
    take_in(*lines, context["ranks"].get<std::size_t>(), launch, unfinished);
    return unfinished;
}

}  // namespace lanewise::measure::session
