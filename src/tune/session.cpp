// SPDX-License-Identifier: BSD-3-Clause
//
// See session.hpp.

#include "tune/session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <limits>
#include <optional>
#include <set>

#include "base/host.hpp"
#include "base/json.hpp"
#include "base/json_lines.hpp"
#include "measure/session/conditions.hpp"

namespace lanewise::tune {
namespace {

constexpr int schema_version = 3;

void print_event(const char *name, Json event) {
    event["event"] = name;
    fmt::print("{}\n", json_text(event));
    std::fflush(stdout);
}

Json context_record(const measure::Bench& bench, const SessionOptions& settings,
                    const std::string& subject) {
    const auto host = this_host();
    Json record = {
        {"record", "context"},
        {"schema", "lanewise-evidence"},
        {"version", schema_version},
        {"subject", subject},
        {"lanewise", lw_version()},
        {"mpi", measure::mpi_library()},
        {"launcher", settings.launcher.empty() ? LANEWISE_MPI_FAMILY : settings.launcher},
        {"ranks", bench.harness().size()},
        {"placement", measure::placement(bench.harness())},
        {"cores", host.cores},
        {"processor", host.processor},
        {"kernel", host.kernel},
        {"governor", host.governor},
        {"margin", settings.rule.margin},
        {"confidence", settings.rule.confidence},
        {"seed", settings.seed},
        {"started", utc_now()},
        {"arguments", settings.words}};
    if (!settings.transport.empty()) record["transport"] = settings.transport;
    if (!settings.same_bits.empty()) record["same_bits"] = settings.same_bits;
    return record;
}

struct Before {
    std::vector<std::string> keys;
    std::size_t keep_bytes = 0;
};

/* What is simulated does not depend on the machine. Evidence of an earlier version does not name
   the processor. */
Outcome refuse_other_machine(const std::string& path, const Json& first, const Json& context) {
    if (context["launcher"] == "smpi") return Done{};
    for (const char *key : {"cores", "processor"}) {
        if (!first.contains(key) || first[key] == context[key]) continue;
        return Failure{LW_ERR_ARGUMENT, path + " was measured on another machine, with " + key +
                                            " " + json_text(first[key]) + ", not " +
                                            json_text(context[key]) + "; name another file"};
    }
    return Done{};
}

Result<Before> read_before(const std::string& path, const Json& context) {
    const auto lines = read_json_lines(path);
    if (!lines) return lines.failure();
    Before before;
    if (lines->records.empty()) return before;
    const auto& first = lines->records.front();
    for (const char *key : {"record", "schema", "version", "subject", "mpi", "launcher", "ranks",
                            "margin", "confidence"}) {
        if (first.contains(key) && first[key] == context[key]) continue;
        const auto was = first.contains(key) ? json_text(first[key]) : std::string("absent");
        return Failure{LW_ERR_ARGUMENT, path + " was measured with " + key + " " + was + ", not " +
                                            json_text(context[key]) +
                                            "; name another file or the same conditions"};
    }
    const auto same_machine = refuse_other_machine(path, first, context);
    if (!same_machine) return same_machine.failure();
    for (const char *key : {"same_bits", "transport"}) {
        if (first.value(key, Json("")) == context.value(key, Json(""))) continue;
        const auto option = std::string(key) == "transport" ? "--transport" : "--same-bits";
        return Failure{LW_ERR_ARGUMENT, path + " was measured with another " + option +
                                            "; name another file or the same conditions"};
    }
    const auto placed = measure::refuse_other_hosts(path, first, context);
    if (!placed) return placed.failure();
    before.keep_bytes = lines->ends.front();
    for (std::size_t i = 1; i < lines->records.size(); ++i) {
        const auto& record = lines->records[i];
        // A run that ended well goes on as well as one that did not, with more sizes.
        if (record.contains("key") && record["key"].is_string()) {
            before.keys.push_back(record["key"].get<std::string>());
        } else if (!record.contains("record") || record["record"] != "end") {
            break;
        }
        before.keep_bytes = lines->ends[i];
    }
    return before;
}

class Session {
  public:
    Session(measure::Bench& bench, const SessionOptions& settings)
        : bench_(bench), settings_(settings) {}

    Outcome open(const Json& context) {
        Outcome opened = Done{};
        std::string keys;
        if (speaks()) opened = open_file(context, keys);
        const auto agreed = agree(opened);
        if (!agreed) return agreed;
        share(keys);
        return Done{};
    }

    bool speaks() const { return bench_.harness().rank() == 0; }
    bool has(const std::string& key) const { return done_.contains(key); }

    Outcome keep(const Json& record) {
        return agree(speaks() && file_ ? file_->write(record) : Outcome(Done{}));
    }

  private:
    Outcome open_file(const Json& context, std::string& keys) {
        const auto& path = settings_.output;
        if (path.empty()) return Done{};
        Before before;
        const bool resumes = settings_.resume && has_lines_to_resume(path);
        if (resumes) {
            const auto read = read_before(path, context);
            if (!read) return read.failure();
            before = *read;
        }
        auto writer = resumes ? JsonLinesWriter::resume(path, before.keep_bytes)
                              : JsonLinesWriter::create(path);
        if (!writer) return writer.failure();
        file_.emplace(std::move(*writer));
        for (const auto& key : before.keys) keys += key + '\n';
        return before.keep_bytes == 0 ? file_->write(context) : Outcome(Done{});
    }

    // Rank 0's verdict, known to all ranks.
    Outcome agree(const Outcome& outcome) const {
        int status = outcome ? LW_OK : outcome.failure().status;
        bench_.harness().broadcast_value(status);
        if (status == LW_OK) return Done{};
        if (!outcome) return outcome;
        return Failure{static_cast<lw_status>(status), ""};
    }

    void share(std::string keys) {
        auto length = keys.size();
        bench_.harness().broadcast_value(length);
        keys.resize(length);
        bench_.harness().broadcast(std::as_writable_bytes(std::span(keys)));
        for (std::size_t at = 0; at < keys.size();) {
            const auto end = keys.find('\n', at);
            done_.insert(keys.substr(at, end - at));
            at = end + 1;
        }
    }

    measure::Bench& bench_;
    const SessionOptions& settings_;
    std::optional<JsonLinesWriter> file_;
    std::set<std::string> done_;
};

/* What a repetition will take at a size, from the size before of the same collective. */
class Expectation {
  public:
    double of(const Task& task) const {
        if (task.expected_s > 0.0) return task.expected_s;
        if (task.collective != collective_) return 0.0;
        const auto more = static_cast<double>(task.message_bytes) /
                          static_cast<double>(std::max<std::uint64_t>(1, message_bytes_));
        return median_s_ * std::max(1.0, more);
    }

    void learn(const Task& task, const Verdict& verdict) {
        if (verdict.compared.empty()) return;
        collective_ = task.collective;
        message_bytes_ = task.message_bytes;
        median_s_ = verdict.compared.front().interval.center;
    }

  private:
    std::string collective_;
    std::uint64_t message_bytes_ = 0;
    double median_s_ = 0.0;
};

Result<Verdict> run(measure::Bench& bench, const Task& task, const ComparisonOptions& options) {
    const auto contenders = task.contenders(options.look);
    if (task.kind == Task::Kind::judged) {
        return run_judgement(bench, contenders, task.message_bytes, options);
    }
    return run_comparison(bench, contenders, task.message_bytes, options);
}

/* Says on the first rank what is about to run, about once a second. */
class Reporter {
  public:
    explicit Reporter(measure::Bench& bench) : bench_(bench) {}

    std::function<void(const Trial&)> of(const Task& task) {
        if (bench_.harness().rank() != 0) return {};
        return [this, &task](const Trial& trial) { tell(task, trial); };
    }

  private:
    void tell(const Task& task, const Trial& trial) {
        constexpr double between_s = 1.0;
        const double now_s = bench_.clock().now_s();
        if (now_s - told_s_ < between_s) return;
        told_s_ = now_s;
        print_event("trial", {{"collective", task.collective},
                              {"message_bytes", task.message_bytes},
                              {"contender", trial.contender},
                              {"number", trial.number + 1},
                              {"contenders", trial.contenders}});
    }

    measure::Bench& bench_;
    double told_s_ = 0.0;
};

/* Whether a verdict for which the budget was too short is of use. */
bool counts(const Verdict& verdict, bool brief) {
    return brief ? verdict.has_looked() : !verdict.confirmation.empty();
}

Result<Verdict> out_of_budget() {
    Verdict verdict;
    verdict.out_of_budget = true;
    return verdict;
}

double since(const measure::Bench& bench, double begin_s) {
    double elapsed_s = bench.clock().now_s() - begin_s;
    bench.harness().broadcast_value(elapsed_s);
    return elapsed_s;
}

}  // namespace

Json figures_record(const Figures& figures) {
    return {{"median_s", figures.interval.center},
            {"low_s", figures.interval.low},
            {"high_s", figures.interval.high},
            {"repetitions", figures.repetitions}};
}

Outcome run_session(measure::Bench& bench, const SessionOptions& settings,
                    const std::string& subject, const std::vector<Task>& tasks) {
    const double begin_s = bench.clock().now_s();
    const auto context = context_record(bench, settings, subject);
    Session session(bench, settings);
    const auto opened = session.open(context);
    if (!opened) return opened;
    std::vector<const Task *> open;
    for (const auto& task : tasks) {
        if (!session.has(task.key)) open.push_back(&task);
    }
    const auto before = tasks.size() - open.size();
    if (session.speaks()) {
        print_event("start",
                    {{"points", tasks.size()}, {"points_done", before}, {"context", context}});
    }

    Expectation expectation;
    Reporter reporter(bench);
    for (std::size_t i = 0; i < open.size(); ++i) {
        const auto& task = *open[i];
        double left_s = std::numeric_limits<double>::infinity();
        if (settings.budget_s > 0.0) left_s = settings.budget_s - since(bench, begin_s);
        // What quick sizes leave over goes to the slow ones after them.
        const double share_s = std::max(0.0, left_s) / static_cast<double>(open.size() - i);
        // Whatever the budget is, a run gets on by a size: what chooses looks at what it has time
        // for, what confirms has no use for that.
        const bool brief = i == 0 && settings.budget_s > 0.0 && task.kind == Task::Kind::compared;
        if (i == 0 && task.kind == Task::Kind::confirmed) {
            left_s = std::numeric_limits<double>::infinity();
        }
        const ComparisonOptions options{.rule = settings.rule,
                                        .time_limit_s = std::min(settings.time_limit_s, share_s),
                                        .seed = settings.seed + i,
                                        .rooted = task.rooted,
                                        .confirms = task.kind == Task::Kind::confirmed,
                                        .root = task.root,
                                        .budget_s = left_s,
                                        .share_s = share_s,
                                        .look = brief ? FirstLook::brief : FirstLook::whole,
                                        .expected_s = expectation.of(task),
                                        .tell = reporter.of(task)};
        const auto verdict = left_s > 0.0 ? run(bench, task, options) : out_of_budget();
        if (!verdict) return verdict.failure();
        if (verdict->out_of_budget && !counts(*verdict, brief)) {
            const double elapsed_s = since(bench, begin_s);
            if (session.speaks()) {
                print_event("budget", {{"points_done", before + i},
                                       {"elapsed_s", elapsed_s},
                                       {"least_s", verdict->least_s}});
            }
            return Done{};
        }
        expectation.learn(task, *verdict);
        auto record = task.record(*verdict);
        record["key"] = task.key;
        record["elapsed_s"] = verdict->elapsed_s;
        const auto kept = session.keep(record);
        if (!kept) return kept;
        if (session.speaks()) {
            record["points_done"] = before + i + 1;
            print_event("point", record);
        }
    }
    const double elapsed_s = since(bench, begin_s);
    const auto kept = session.keep({{"record", "end"}, {"elapsed_s", elapsed_s}});
    if (session.speaks()) print_event("end", {{"elapsed_s", elapsed_s}});
    return kept;
}

}  // namespace lanewise::tune
