// SPDX-License-Identifier: BSD-3-Clause
//
// See arguments.hpp.

#include "measure/session/arguments.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "base/json_lines.hpp"
#include "base/quantities.hpp"
#include "base/sizes.hpp"
#include "measure/bench.hpp"
#include "measure/definitions/definition.hpp"
#include "measure/names.hpp"
#include "measure/round_trips.hpp"
#include "measure/session/buffer_words.hpp"
#include "options/options.hpp"

namespace lanewise::measure::session {
namespace {

using measure::find_entry;

struct Texts {
    std::vector<std::string> operations;
    std::string intervals = "1us:10ms:9";
    std::string buffers = "warm";
    Option *window = nullptr;
};

template <typename Id>
struct Choice {
    Id id;
    const char *name;
};

constexpr Choice<lw_clock> clocks[] = {{LW_CLOCK_AUTO, "auto"},
                                       {LW_CLOCK_MONOTONIC, "monotonic"},
                                       {LW_CLOCK_WTIME, "wtime"},
                                       {LW_CLOCK_SKEWED, "skewed"}};
constexpr Choice<lw_rule> rules[] = {{LW_RULE_MEDIAN, "median"}, {LW_RULE_STUDENT, "student"}};
constexpr Choice<lw_order> orders[] = {{LW_ORDER_PARALLEL, "parallel"},
                                       {LW_ORDER_SEQUENTIAL, "sequential"}};

void declare_what(Options& options, Texts& texts, Arguments& arguments) {
    options.group("What is measured");
    options.texts("operations", "OPERATION", texts.operations,
                  "Operations to measure, by the names that --list prints");
    options.texts("--operation", "LIBRARY.so:SYMBOL", arguments.libraries,
                  "An operation of your own from a shared library; repeatable");
    options.sizes("--sizes", "1:1M:x2", arguments.sizes_bytes,
                  "Message sizes in bytes: 8,1K or 1:1M:x2 or 0:100K:1K");
    options
        .share("--adaptive", arguments.tolerance,
               "Add sizes where linear interpolation is off by more than this")
        .without_default();
    options.size("--stride", "BYTES", arguments.stride_bytes_min,
                 "Smallest distance between two sizes that --adaptive adds");
    options.text("--reply", "same|BYTES", arguments.reply,
                 "Size of the reply in pairs and triplets");
    options.choice("--order", orders, arguments.order,
                   "Whether disjoint pairs and triplets are measured at the same time");
    options.number("--root", "RANK", arguments.root, "Root of rooted operations");
    options
        .numbers("--weights", "A,B,...", arguments.weights,
                 "Share of the size that each rank gets in v-operations (default: equal)")
        .separated_by_commas();
    texts.window = &options.number("--window", "N", arguments.window,
                                   "Messages in flight in streaming benchmarks");
    options.text("--intervals", "FIRST:LAST:COUNT", texts.intervals,
                 "Times between two polls in the polling benchmark");
    options.duration("--work", arguments.work_s, "Work per repetition in the polling benchmark");
    options.duration("--wait", arguments.wait_s,
                     "Time between synchronisation and check in the clock benchmark");
    options.text(
        "--buffers", "WORDS", texts.buffers,
        "State of the buffers: cold, unaligned[=BYTES], rotating[=SETS], huge, or their opposites "
        "warm, aligned, one, small");
    options.flag("--validate", arguments.validate,
                 "Check the data that arrives before measuring each point");
}

void declare_how(Options& options, Arguments& arguments) {
    auto& method = arguments.options;
    options.group("How it is measured");
    options
        .choice(
            "--as", names_of(definitions()), 0,
            [&arguments](std::size_t i) { arguments.definition = definitions()[i]; },
            "Also run the loop of another tool, print its table, and compare the two")
        .without_default();
    options.choice(
        "--method", names_of(timing_methods()), method.timing,
        [&method](std::size_t i) { method.timing = static_cast<lw_timing>(i); },
        "Clock readings that give the time of one execution");
    options.choice(
        "--start", names_of(start_methods()), method.start,
        [&method](std::size_t i) { method.start = static_cast<lw_start>(i); },
        "How the ranks start each execution together");
    options.choice("--clock", clocks, method.clock, "Clock that each rank reads");
    options.duration("--skew-offset", method.skew_offset_s,
                     "Offset between the clocks of neighbouring ranks, with --clock skewed");
    options.number("--skew-drift", "X", method.skew_drift,
                   "Drift in seconds per second, alternating in sign, with --clock skewed");
    options.choice("--rule", rules, method.rule,
                   "Confidence interval that decides when a point is done");
    options.share("--confidence", method.confidence, "Confidence level of the interval");
    options.share("--error", method.error,
                  "Relative half-width of the interval at which a point is done");
    options.repetitions("--repetitions", method.repetitions_min, method.repetitions_max,
                        "Repetitions per point: a fixed number, or bounds");
    options.number("--warmup", "N", method.warmup_repetitions,
                   "Executions before each batch that are not counted");
    options.duration("--time-limit", method.time_limit_s,
                     "Time limit for each point; 0 means none");
    options.number("--pipeline", "N", method.pipeline_length,
                   "Executions per sample; 1 isolates each");
    options.duration("--resync", method.resync_s,
                     "Age at which the global clock is synchronised again");
    options.number(
        "--seed", "N", method.seed,
        "Seed for the order in which points are interleaved; each further launch adds 1");
}

void declare_output(Options& options, Arguments& arguments) {
    options.group("Output");
    options.text("-o,--output", "FILE", arguments.output,
                 "File to which every sample is written (.jsonl)");
    options.flag("--resume", arguments.resume,
                 "Measure only the points that the output file lacks");
    options
        .number("--ranks", "N", arguments.ranks_expected,
                "Refuse to run on another number of ranks")
        .without_default();
    options.number("--launch", "K", arguments.launch, "Number of this launch, from 1");
    options.number("--launches", "N", arguments.launches,
                   "Launches that write the output together");
    options.text("--launcher", "NAME", arguments.launcher, "Launcher to record in the output");
    options.text("--transport", "NAME", arguments.transport, "Transport to record in the output");
    options.text("--launcher-args", "TEXT", arguments.launcher_args,
                 "Further arguments of the launcher to record in the output, with %20 for a space");
    options.flag("--events", arguments.events, "Print JSON events instead of the table");
    options.flag("--plan", arguments.plan,
                 "Check the arguments and print the points without measuring");
    options.flag("--list", arguments.list, "List the operations");
}

// Subjects besides operations and pairings.
const Choice<Subject> *find_alone(const std::string& name) {
    static constexpr Choice<Subject> subjects[] = {{Subject::clock, "clock"},
                                                   {Subject::polling, "polling"},
                                                   {Subject::post_work_wait, "post-work-wait"}};
    const auto *found = std::find_if(std::begin(subjects), std::end(subjects),
                                     [&](const auto& subject) { return name == subject.name; });
    return found == std::end(subjects) ? nullptr : found;
}

Outcome read_intervals(const std::string& text, Arguments& arguments) {
    const auto first = text.find(':');
    const auto last = text.rfind(':');
    const auto refusal = bad_argument("intervals \"" + text +
                                      "\" are not FIRST:LAST:COUNT; "
                                      "write 1us:10ms:9");
    if (first == std::string::npos || first == last) return refusal;
    const std::string_view whole = text;
    const auto first_s = parse_duration(whole.substr(0, first));
    const auto last_s = parse_duration(whole.substr(first + 1, last - first - 1));
    const auto count = whole.substr(last + 1);
    const auto [end, error] =
        std::from_chars(count.data(), count.data() + count.size(), arguments.interval_count);
    if (!first_s || !last_s || error != std::errc{} || end != count.data() + count.size())
        return refusal;
    arguments.interval_first_s = *first_s;
    arguments.interval_last_s = *last_s;
    const bool ordered = *first_s > 0.0 && *last_s >= *first_s;
    return ordered && arguments.interval_count > 0 ? Outcome(Done{}) : refusal;
}

Outcome choose_subject(const Texts& texts, Arguments& arguments) {
    for (const auto& name : texts.operations) {
        arguments.round_trip = measure::find_round_trip(name);
        const auto *alone = find_alone(name);
        if (arguments.round_trip || alone) {
            if (texts.operations.size() > 1 || !arguments.libraries.empty())
                return bad_argument("\"" + name +
                                    "\" cannot be combined with others; run it separately");
            arguments.subject = arguments.round_trip ? Subject::pair_rounds : alone->id;
            return Done{};
        }
        if (find_entry(name)) continue;
        const auto near = measure::suggest_operation(name);
        return bad_argument("unknown operation \"" + name + "\"; " +
                            (near.empty() ? "--list names them" : "did you mean " + near + "?"));
    }
    auto names = texts.operations;
    std::sort(names.begin(), names.end());
    const auto twice = std::adjacent_find(names.begin(), names.end());
    if (twice != names.end())
        return bad_argument("operation \"" + *twice + "\" is named twice; name it once");
    arguments.operations = texts.operations;
    const bool nothing = arguments.operations.empty() && arguments.libraries.empty();
    if (nothing && !arguments.list)
        return bad_argument("no operation; name one that --list prints, such as pingpong");
    return Done{};
}

/* An option that changes nothing but where it `applies`, which is with `what`. */
struct Special {
    const char *name;
    const char *what;
    bool (*applies)(const Arguments&);
};

Outcome refuse_idle(const Options& options, const Arguments& arguments) {
    static constexpr auto in_pairings = [](const Arguments& a) {
        return a.subject == Subject::pair_rounds;
    };
    static constexpr auto polls = [](const Arguments& a) { return a.subject == Subject::polling; };
    static constexpr auto checks = [](const Arguments& a) { return a.subject == Subject::clock; };
    static constexpr auto adapts = [](const Arguments& a) { return a.tolerance > 0.0; };
    static constexpr auto skews = [](const Arguments& a) {
        return a.options.clock == LW_CLOCK_SKEWED;
    };
    static constexpr Special specials[] = {
        {"--reply", "pairs or triplets", in_pairings},
        {"--order", "pairs or triplets", in_pairings},
        {"--intervals", "polling", polls},
        {"--work", "polling", polls},
        {"--wait", "clock", checks},
        {"--stride", "--adaptive", adapts},
        {"--skew-offset", "--clock skewed", skews},
        {"--skew-drift", "--clock skewed", skews},
    };
    for (const auto& special : specials) {
        if (!options.given(special.name) || special.applies(arguments)) continue;
        return bad_argument(fmt::format("{0} changes nothing without {1}; leave {0} out",
                                        special.name, special.what));
    }
    return Done{};
}

// What an operation must deliver is known of those of the registry, with equal blocks.
Outcome refuse_unchecked(const Texts& texts, const Arguments& arguments) {
    if (!arguments.validate) return Done{};
    const bool exchanges =
        arguments.subject == Subject::pair_rounds || arguments.subject == Subject::clock;
    if (exchanges)
        return bad_argument("--validate cannot check \"" + texts.operations.front() +
                            "\"; leave --validate out");
    if (!arguments.libraries.empty())
        return bad_argument(
            "--validate cannot check an operation of your own; measure it without --validate");
    if (!arguments.weights.empty())
        return bad_argument(
            "--validate cannot check the blocks of --weights; leave one of them out");
    return Done{};
}

// A launcher that is a shell script, such as smpirun, tears words apart at spaces, so they are
// escaped as in a URL.
std::string unescaped(std::string_view text) {
    std::string plain;
    for (std::size_t at = 0; at < text.size(); ++at) {
        unsigned char byte = 0;
        const char *code = text.data() + at + 1;
        const bool escaped = text[at] == '%' && text.size() - at > 2 &&
                             std::from_chars(code, code + 2, byte, 16).ptr == code + 2;
        plain += escaped ? static_cast<char>(byte) : text[at];
        if (escaped) at += 2;
    }
    return plain;
}

Outcome check_resume(const Arguments& arguments) {
    if (!arguments.resume) return Done{};
    if (arguments.output.empty())
        return bad_argument("--resume needs the file to go on with; add -o FILE");
    if (arguments.tolerance > 0.0)
        return bad_argument(
            "--resume cannot go on with --adaptive sizes; measure into another file");
    return Done{};
}

// What another tool has a loop for, and which of our options that loop leaves no room for.
Outcome choose_definition(const Texts& texts, Arguments& arguments) {
    if (!arguments.definition) return Done{};
    const std::string as = std::string("--as ") + arguments.definition->name;
    const std::string tool = arguments.definition->tool;
    if (arguments.subject != Subject::operations || !arguments.libraries.empty())
        return bad_argument(as + " is for operations that " + tool + " has; leave it out");
    for (const auto& name : arguments.operations) {
        if (!arguments.definition->loop_of(name))
            return bad_argument(tool + " has no benchmark of \"" + name +
                                "\"; leave it out, or measure it without " + as);
    }
    if (arguments.tolerance > 0.0 || arguments.options.pipeline_length > 1 ||
        !arguments.weights.empty() || texts.buffers != "warm")
        return bad_argument(tool +
                            " has neither --adaptive, --pipeline, --weights nor --buffers; "
                            "leave them out with " +
                            as);
    if (!texts.window->given()) arguments.window = arguments.definition->window;
    return Done{};
}

Outcome check_values(const Texts& texts, Arguments& arguments) {
    const auto reply = arguments.reply == "same" ? 0 : parse_size(arguments.reply);
    if (!reply) return reply.failure();
    if (arguments.root < 0) {
        return bad_argument("root " + std::to_string(arguments.root) +
                            " is negative; ranks begin at 0");
    }
    if (!(arguments.tolerance >= 0.0))
        return bad_argument("--adaptive " + fmt::format("{}", arguments.tolerance) +
                            " is negative; 10 % is 0.1");
    if (!(arguments.wait_s >= 0.0 && arguments.wait_s <= 1e9))
        return bad_argument("--wait " + fmt::format("{}", arguments.wait_s) +
                            " is not a time from 0 to 1e9 s; 0 means at once");
    if (!(arguments.work_s > 0.0))
        return bad_argument("--work " + fmt::format("{}", arguments.work_s) +
                            " is not a time; try 0.02");
    if (arguments.window < 1)
        return bad_argument("window " + std::to_string(arguments.window) +
                            " holds no message; use 1 or more");
    if (arguments.launch < 1 || arguments.launch > arguments.launches)
        return bad_argument(fmt::format("launch {} is none of {}; they count from 1",
                                        arguments.launch, arguments.launches));
    const auto buffers = read_buffers(texts.buffers);
    if (!buffers) return buffers.failure();
    arguments.options.buffers = *buffers;
    const bool own =
        arguments.subject == Subject::pair_rounds || arguments.subject == Subject::clock;
    if (own && !measure::are_plain(*buffers))
        return bad_argument("\"" + texts.operations.front() +
                            "\" uses buffers of the harness; leave out "
                            "--buffers");
    return measure::Bench::admit(arguments.options);
}

}  // namespace

Result<std::variant<Arguments, Leave>> parse_arguments(int argc, char **argv) {
    Arguments arguments;
    Texts texts;
    arguments.words.assign(argv + 1, argv + argc);
    Options options(
        "lanewise-measure",
        "Measures MPI operations. Started by an MPI launcher:\n"
        "  mpirun -n 4 lanewise-measure scatter gather --sizes 1:1M:x2 -o samples.jsonl\n");
    declare_what(options, texts, arguments);
    declare_how(options, arguments);
    declare_output(options, arguments);
    const auto parsed = options.parse(argc, argv);
    if (!parsed) return parsed.failure();
    if (*parsed) return {**parsed};
    arguments.launcher_args = unescaped(arguments.launcher_args);
    using Step = Outcome (*)(const Texts&, Arguments&);
    static constexpr Step steps[] = {
        [](const Texts& t, Arguments& a) { return read_intervals(t.intervals, a); },
        choose_subject,
        choose_definition,
        check_values,
        [](const Texts& t, Arguments& a) { return refuse_unchecked(t, a); },
        [](const Texts&, Arguments& a) { return check_resume(a); },
    };
    for (const auto step : steps) {
        const auto outcome = step(texts, arguments);
        if (!outcome) return outcome.failure();
    }
    const auto idle = refuse_idle(options, arguments);
    if (!idle) return idle.failure();
    return {std::move(arguments)};
}

Outcome check_output(const Arguments& arguments) {
    namespace fs = std::filesystem;
    if (arguments.output.empty()) return Done{};
    const fs::path path(arguments.output);
    std::error_code error;
    if (fs::is_directory(path, error))
        return bad_argument(arguments.output + " is a folder; name a file");
    if (fs::exists(path, error)) {
        if (!arguments.resume && has_lines_to_resume(arguments.output))
            return bad_argument(arguments.output +
                                " exists; add --resume to go on with it, or name another file");
        if (::access(path.c_str(), R_OK | W_OK) != 0)
            return bad_argument(arguments.output + " cannot be written; change its permissions");
        return Done{};
    }
    const auto folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
    if (!fs::is_directory(folder, error))
        return bad_argument("folder " + folder.string() + " does not exist; make it first");
    if (::access(folder.c_str(), W_OK) != 0)
        return bad_argument("folder " + folder.string() + " cannot be written; name another");
    return Done{};
}

std::vector<std::uint64_t> sizes_of(const Arguments& arguments, const std::string& operation,
                                    int ranks, std::string& note) {
    const auto *entry = find_entry(operation);
    if (!entry) return arguments.sizes_bytes;
    const auto none = measure::Blocks::none;
    if (entry->shape.send_root == none && entry->shape.receive_root == none) return {0};
    if (entry->element == measure::Element::byte) return arguments.sizes_bytes;
    const auto *loop = arguments.definition ? arguments.definition->loop_of(operation) : nullptr;
    const auto blocks = static_cast<std::uint64_t>(loop && loop->whole_vector ? ranks : 1);
    const auto step_bytes = 4 * blocks;
    std::vector<std::uint64_t> kept;
    std::string dropped;
    for (const auto bytes : arguments.sizes_bytes) {
        if (bytes % step_bytes == 0) {
            kept.push_back(bytes / blocks);
        } else {
            dropped += (dropped.empty() ? "" : ", ") + format_size(bytes);
        }
    }
    if (!dropped.empty())
        note = operation + " adds floats; left out the sizes that are not multiples of " +
               std::to_string(step_bytes) + ": " + dropped;
    return kept;
}

}  // namespace lanewise::measure::session
