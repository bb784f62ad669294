// SPDX-License-Identifier: BSD-3-Clause
//
// See arguments.hpp.

#include "measure/session/arguments.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>

#include "base/nearest.hpp"
#include "base/sizes.hpp"
#include "measure/bench.hpp"
#include "measure/names.hpp"
#include "measure/round_trips.hpp"
#include "measure/session/buffer_words.hpp"

namespace lanewise::tools {
namespace {

using measure::find_entry;

struct Texts {
    std::vector<std::string> operations;
    std::string sizes = "1:1M:x2";
    std::string stride = "1K";
    std::string repetitions = "10:1000";
    std::string method = "max";
    std::string start = "barrier";
    std::string clock = "auto";
    std::string rule = "median";
    std::string order = "parallel";
    std::string intervals = "1e-6:1e-2:9";
    std::string buffers = "warm";
};

Failure usage(const std::string& sentence) {
    return {LW_ERR_ARGUMENT, sentence};
}

void declare(CLI::App& app, Texts& texts, Arguments& arguments) {
    auto& options = arguments.options;
    app.add_option("operations", texts.operations, "names from --list, one or more")
        ->option_text("OPERATION...");
    app.add_option("--operation", arguments.libraries, "a user operation, LIBRARY.so:SYMBOL");
    app.add_option("--sizes", texts.sizes, "8,1K or 1:1M:x2 or 0:100K:1K (1:1M:x2)");
    app.add_option("--adaptive", arguments.tolerance,
                   "add sizes where a line between points misses by more than this");
    app.add_option("--stride", texts.stride, "narrowest interval that --adaptive halves (1K)");
    app.add_option("--reply", arguments.reply, "pairs, triplets: bytes back, or same (same)");
    app.add_option("--order", texts.order, "pairs, triplets: parallel or sequential (parallel)");
    app.add_option("--root", arguments.root, "root rank (0)");
    using measure::listed;
    using measure::names_of;
    app.add_option("--method", texts.method,
                   listed(names_of(measure::timing_methods())) + " (max)");
    app.add_option("--start", texts.start,
                   listed(names_of(measure::start_methods())) + " (barrier)");
    app.add_option("--clock", texts.clock, "auto, monotonic, wtime or skewed (auto)");
    app.add_option("--skew-offset", options.skew_offset_s, "skewed: seconds between ranks (0)");
    app.add_option("--skew-drift", options.skew_drift, "skewed: seconds a second, by turns (0)");
    app.add_option("--rule", texts.rule, "stop by the interval of: median, student (median)");
    app.add_option("--confidence", options.confidence, "of the interval (0.95)");
    app.add_option("--error", options.error, "half-width of the interval over its centre (0.025)");
    app.add_option("--repetitions", texts.repetitions, "N, or MIN:MAX (10:1000)");
    app.add_option("--warmup", options.warmup_repetitions, "executions before each batch (2)");
    app.add_option("--time-limit", options.time_limit_s, "seconds a point, 0: none (10)");
    app.add_option("--pipeline", options.pipeline_length, "executions a sample; 1 isolates (1)");
    app.add_option("--intervals", texts.intervals,
                   "polling: seconds between looks, FIRST:LAST:COUNT (1e-6:1e-2:9)");
    app.add_option("--work", arguments.work_s, "polling: seconds of work a repetition (0.02)");
    app.add_option("--window", arguments.window, "streaming: messages on the way at once (160)");
    app.add_option("--buffers", texts.buffers,
                   "cold, unaligned[=BYTES], rotating[=SETS], huge, and their contraries (warm)");
    app.add_option("--weights", arguments.weights, "v-operations: share of each rank")
        ->delimiter(',');
    app.add_option("--resync", options.resync_s, "seconds a synchronised clock is trusted (10)");
    app.add_option("--seed", options.seed, "of the order in which points take turns (0)");
    app.add_option("--wait", arguments.wait_s, "clock: seconds before the check (0)");
    app.add_option("-o,--output", arguments.output, "samples.jsonl to write");
    app.add_flag("--validate", arguments.validate, "first check the data that each point delivers");
    app.add_flag("--resume", arguments.resume, "go on with the output file");
    app.add_option("--ranks", arguments.ranks_expected, "refuse to run on another number");
    app.add_option("--launcher", arguments.launcher, "name kept in the output");
    app.add_option("--transport", arguments.transport, "name kept in the output");
    app.add_flag("--events", arguments.events, "JSON events instead of the table");
    app.add_flag("--plan", arguments.plan,
                 "check the arguments, print the points, measure nothing");
    app.add_flag("--list", arguments.list, "print the operations");
}

Failure unknown(const std::string& what, const std::string& name,
                const std::vector<std::string>& known) {
    const auto near = nearest_name(name, known);
    return usage("unknown " + what + " \"" + name + "\"; " +
                 (near.empty() ? "use " : "did you mean " + near + "? Use ") +
                 measure::listed(known));
}

template <typename Id, typename Choices>
Outcome choose(const Choices& choices, const std::string& what, const std::string& name, Id& id) {
    std::vector<std::string> known;
    for (const auto& choice : choices) {
        known.emplace_back(choice.name);
        if (name != choice.name) continue;
        id = choice.id;
        return Done{};
    }
    return unknown(what, name, known);
}

template <typename Id, typename Method>
Outcome choose_method(std::span<const Method *const> methods, const std::string& what,
                      const std::string& name, Id& id) {
    if (measure::find_id(methods, name, id)) return Done{};
    return unknown(what, name, measure::names_of(methods));
}

template <typename Id>
struct Choice {
    Id id;
    const char *name;
};

// Subjects besides operations and meetings.
const Choice<Subject> *find_alone(const std::string& name) {
    static constexpr Choice<Subject> subjects[] = {{Subject::clock, "clock"},
                                                   {Subject::polling, "polling"},
                                                   {Subject::post_work_wait, "post-work-wait"}};
    const auto *found = std::find_if(std::begin(subjects), std::end(subjects),
                                     [&](const auto& subject) { return name == subject.name; });
    return found == std::end(subjects) ? nullptr : found;
}

Outcome read_intervals(const std::string& text, Arguments& arguments) {
    char end = 0;
    const int read = std::sscanf(text.c_str(), "%lf:%lf:%u%c", &arguments.interval_first_s,
                                 &arguments.interval_last_s, &arguments.interval_count, &end);
    const bool ordered =
        arguments.interval_first_s > 0.0 && arguments.interval_last_s >= arguments.interval_first_s;
    if (read == 3 && ordered && arguments.interval_count > 0) return Done{};
    return usage("intervals \"" + text +
                 "\" are not FIRST:LAST:COUNT in seconds; "
                 "write 1e-6:1e-2:9");
}

Outcome choose_methods(const Texts& texts, Arguments& arguments) {
    static constexpr Choice<lw_clock> clocks[] = {{LW_CLOCK_AUTO, "auto"},
                                                  {LW_CLOCK_MONOTONIC, "monotonic"},
                                                  {LW_CLOCK_WTIME, "wtime"},
                                                  {LW_CLOCK_SKEWED, "skewed"}};
    static constexpr Choice<lw_rule> rules[] = {{LW_RULE_MEDIAN, "median"},
                                                {LW_RULE_STUDENT, "student"}};
    static constexpr Choice<lw_order> orders[] = {{LW_ORDER_PARALLEL, "parallel"},
                                                  {LW_ORDER_SEQUENTIAL, "sequential"}};
    auto& options = arguments.options;
    const Outcome outcomes[] = {
        choose_method(measure::timing_methods(), "method", texts.method, options.timing),
        choose_method(measure::start_methods(), "start", texts.start, options.start),
        choose(clocks, "clock", texts.clock, options.clock),
        choose(rules, "rule", texts.rule, options.rule),
        choose(orders, "order", texts.order, arguments.order),
    };
    for (const auto& outcome : outcomes) {
        if (!outcome) return outcome;
    }
    return Done{};
}

Outcome read_repetitions(const std::string& text, lw_measure_options& options) {
    const auto number = [](std::string_view digits, std::uint32_t& value) {
        const auto [end, error] =
            std::from_chars(digits.data(), digits.data() + digits.size(), value);
        return error == std::errc{} && end == digits.data() + digits.size();
    };
    const auto colon = text.find(':');
    const auto first = text.substr(0, colon);
    const auto last = colon == std::string::npos ? first : text.substr(colon + 1);
    if (number(first, options.repetitions_min) && number(last, options.repetitions_max))
        return Done{};
    return usage("repetitions \"" + text + "\" are neither N nor MIN:MAX; write 100 or 10:1000");
}

Outcome choose_subject(const Texts& texts, Arguments& arguments) {
    for (const auto& name : texts.operations) {
        arguments.trip = measure::find_trip(name);
        const auto *alone = find_alone(name);
        if (arguments.trip || alone) {
            if (texts.operations.size() > 1 || !arguments.libraries.empty())
                return usage("\"" + name + "\" is measured by itself; run it separately");
            arguments.subject = arguments.trip ? Subject::meetings : alone->id;
            return Done{};
        }
        if (find_entry(name)) continue;
        const auto near = measure::suggest_operation(name);
        return usage("unknown operation \"" + name + "\"; " +
                     (near.empty() ? "--list names them" : "did you mean " + near + "?"));
    }
    auto names = texts.operations;
    std::sort(names.begin(), names.end());
    const auto twice = std::adjacent_find(names.begin(), names.end());
    if (twice != names.end())
        return usage("operation \"" + *twice + "\" is named twice; name it once");
    arguments.operations = texts.operations;
    const bool nothing = arguments.operations.empty() && arguments.libraries.empty();
    if (nothing && !arguments.list)
        return usage("no operation; try: lanewise-measure pingpong --sizes 1:1M:x2");
    return Done{};
}

Outcome check_output(const Arguments& arguments) {
    namespace fs = std::filesystem;
    if (arguments.output.empty()) {
        if (arguments.resume) return usage("--resume needs the file to go on with; add -o FILE");
        return Done{};
    }
    if (arguments.resume && arguments.tolerance > 0.0)
        return usage("--resume cannot go on with --adaptive sizes; measure into another file");
    const fs::path path(arguments.output);
    std::error_code error;
    if (fs::is_directory(path, error)) return usage(arguments.output + " is a folder; name a file");
    if (fs::exists(path, error)) {
        if (!arguments.resume)
            return usage(arguments.output +
                         " exists; add --resume to go on with it, or name another file");
        if (::access(path.c_str(), R_OK | W_OK) != 0)
            return usage(arguments.output + " cannot be written; change its permissions");
        return Done{};
    }
    const auto folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
    if (!fs::is_directory(folder, error))
        return usage("folder " + folder.string() + " does not exist; make it first");
    if (::access(folder.c_str(), W_OK) != 0)
        return usage("folder " + folder.string() + " cannot be written; name another");
    return Done{};
}

Outcome check_values(const Texts& texts, Arguments& arguments) {
    const auto sizes = parse_sizes(texts.sizes);
    if (!sizes) return sizes.failure();
    arguments.sizes_bytes = *sizes;
    const auto stride = parse_size(texts.stride);
    if (!stride) return stride.failure();
    arguments.stride_bytes_min = *stride;
    const auto reply = arguments.reply == "same" ? 0 : parse_size(arguments.reply);
    if (!reply) return reply.failure();
    if (arguments.root < 0) {
        return usage("root " + std::to_string(arguments.root) + " is negative; ranks begin at 0");
    }
    if (!(arguments.tolerance >= 0.0))
        return usage("--adaptive " + fmt::format("{}", arguments.tolerance) +
                     " is negative; 10 % is 0.1");
    if (!(arguments.wait_s >= 0.0))
        return usage("--wait " + fmt::format("{}", arguments.wait_s) + " is no time; 0 is at once");
    if (!(arguments.work_s > 0.0))
        return usage("--work " + fmt::format("{}", arguments.work_s) + " is no time; try 0.02");
    if (arguments.window < 1)
        return usage("window " + std::to_string(arguments.window) +
                     " holds no message; 160 is the paper's");
    const auto buffers = read_buffers(texts.buffers);
    if (!buffers) return buffers.failure();
    arguments.options.buffers = *buffers;
    const bool own = arguments.subject == Subject::meetings || arguments.subject == Subject::clock;
    if (own && !measure::are_plain(*buffers))
        return usage("\"" + texts.operations.front() +
                     "\" has messages of the harness; --buffers "
                     "are of operations and of what messages cost the processor");
    return measure::Bench::admit(arguments.options);
}

}  // namespace

Result<std::variant<Arguments, Leave>> parse_arguments(int argc, char **argv) {
    Arguments arguments;
    Texts texts;
    arguments.words.assign(argv + 1, argv + argc);
    CLI::App app(
        "Measures MPI operations. Started by an MPI launcher:\n"
        "  mpirun -n 4 lanewise-measure scatter gather --sizes 1:1M:x2 -o samples.jsonl\n",
        "lanewise-measure");
    app.set_version_flag("--version", std::string("lanewise-measure ") + lw_version());
    declare(app, texts, arguments);
    try {
        app.parse(argc, argv);
    } catch (const CLI::CallForHelp&) {
        return {Leave{app.help()}};
    } catch (const CLI::CallForVersion& version) {
        return {Leave{std::string(version.what()) + "\n"}};
    } catch (const CLI::ParseError& error) {
        return usage(std::string(error.what()) + "; --help lists the options");
    }
    using Step = Outcome (*)(const Texts&, Arguments&);
    static constexpr Step steps[] = {
        choose_methods,
        [](const Texts& t, Arguments& a) { return read_repetitions(t.repetitions, a.options); },
        [](const Texts& t, Arguments& a) { return read_intervals(t.intervals, a); },
        choose_subject,
        check_values,
        [](const Texts&, Arguments& a) { return check_output(a); },
    };
    for (const auto step : steps) {
        const auto outcome = step(texts, arguments);
        if (!outcome) return outcome.failure();
    }
    return {std::move(arguments)};
}

std::vector<std::uint64_t> sizes_of(const Arguments& arguments, const std::string& operation,
                                    std::string& note) {
    const auto *entry = find_entry(operation);
    if (!entry) return arguments.sizes_bytes;
    const auto none = measure::Blocks::none;
    if (entry->shape.send_root == none && entry->shape.receive_root == none) return {0};
    if (entry->element == measure::Element::byte) return arguments.sizes_bytes;
    std::vector<std::uint64_t> kept;
    std::string dropped;
    for (const auto bytes : arguments.sizes_bytes) {
        if (bytes % 4 == 0) {
            kept.push_back(bytes);
        } else {
            dropped += (dropped.empty() ? "" : ", ") + format_size(bytes);
        }
    }
    if (!dropped.empty())
        note = operation + " adds floats; left out the sizes that are no multiple of 4: " + dropped;
    return kept;
}

}  // namespace lanewise::tools
