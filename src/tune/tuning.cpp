// SPDX-License-Identifier: BSD-3-Clause
//
// See tuning.hpp.

#include "tune/tuning.hpp"

#include <cstdlib>
#include <list>
#include <memory>
#include <set>
#include <span>

#include "base/file.hpp"
#include "collectives/balanced_choice.hpp"
#include "collectives/execute/execute.hpp"
#include "collectives/execute/prepare.hpp"
#include "collectives/execute/rank_placement.hpp"
#include "collectives/execute/request.hpp"
#include "collectives/lanes/plan.hpp"
#include "collectives/predict.hpp"
#include "tune/candidates.hpp"
#include "tune/collectives_named.hpp"
#include "tune/finalists.hpp"
#include "tune/preloaded.hpp"
#include "tune/program_calls.hpp"
#include "tune/promise.hpp"

namespace lanewise::tune {
namespace {

using collectives::Calling;
using collectives::Operation;

// Predictions beyond this multiple of the best are not worth thirty repetitions.
constexpr double dominated_prediction_ratio = 3.0;
// Another number of lanes than a power of two is tried if it is predicted to be nearly the best
// one: what the model does not know of an algorithm, it does not know for any number of lanes.
constexpr double open_lanes_ratio = 1.25;

Json choice_record(const Candidate& candidate) {
    return {{"origin", candidate.origin == Origin::lanewise ? "lanewise" : "mpi"},
            {"algorithm", candidate.algorithm},
            {"segment_bytes", candidate.segment_bytes},
            {"lanes", candidate.lanes}};
}

Json candidate_record(const Candidate& candidate, const Figures& figures) {
    auto record = choice_record(candidate);
    record.update(figures_record(figures));
    return record;
}

/* What the first launch found of a size; those that judge take turns in so many roots. */
Json point_record(Operation operation, std::uint64_t message_bytes, int roots,
                  const std::vector<Candidate>& candidates, const Verdict& verdict) {
    Json list = Json::array();
    for (std::size_t i = 0; i < candidates.size(); ++i) {
        const auto& figures = verdict.compared[i + 1];
        if (figures.repetitions == 0) continue;
        auto record = candidate_record(candidates[i], figures);
        if (candidates[i].predicted_s >= 0.0) record["predicted_s"] = candidates[i].predicted_s;
        record["pruned"] = verdict.states[i + 1] == CandidateState::dominated;
        list.push_back(std::move(record));
    }
    Json record = {{"record", "point"},
                   {"collective", name_of(operation)},
                   {"message_bytes", message_bytes},
                   {"roots", roots},
                   {"default", figures_record(verdict.compared.front())},
                   {"candidates", std::move(list)}};
    return record;
}

/* Which of the launches that screen or judge this is. */
struct StagedLaunch {
    Stage stage = Stage::judgement;
    int launch = 0;
};

/* What a launch found of the finalists of a size: a median of each, and which of them failed. */
Json finalists_record(const JudgedPoint& point, const StagedLaunch& staged,
                      const std::vector<Candidate>& candidates, const Verdict& verdict) {
    Json list = Json::array();
    std::set<std::size_t> ran;
    for (const auto& [contender, figures] : verdict.confirmation) {
        ran.insert(contender);
        if (contender > 0) list.push_back(candidate_record(candidates[contender - 1], figures));
    }
    Json failed = Json::array();
    for (std::size_t i = 0; i < candidates.size(); ++i) {
        if (!ran.contains(i + 1)) failed.push_back(choice_record(candidates[i]));
    }
    return {{"record", name_of(staged.stage)},
            {"launch", staged.launch},
            {"collective", name_of(point.operation)},
            {"message_bytes", point.message_bytes},
            {"root", verdict.confirmation_root},
            {"default", figures_record(verdict.confirmation.front().figures)},
            {"candidates", std::move(list)},
            {"failed", std::move(failed)}};
}

/* The calls by one of Lanewise's algorithms. Simulated ranks have no library to follow a rule. */
Implementation implementation_of(Operation operation, const SharedCalls& calls,
                                 const Candidate& candidate, double work_s) {
    const auto segment = candidate.segment_bytes;
    if (can_be_preloaded()) {
        return call_under_rule(calls, {candidate.lanewise, segment, candidate.lanes}, work_s);
    }
    if (operation.calling == Calling::blocking) {
        return algorithm_implementation(*candidate.lanewise, segment, candidate.lanes);
    }
    return algorithm_request(*candidate.lanewise, segment, candidate.lanes, work_s);
}

/* The MPI's own and the candidates. `reference` takes the place of the MPI's own, where there is
   one. Nonblocking ones do so much work before they wait. */
std::vector<Contender> contenders_of(Operation operation, std::uint64_t message_bytes,
                                     const std::vector<Candidate>& candidates,
                                     const collectives::Algorithm *reference, MpiAlgorithms& own,
                                     double work_s) {
    const auto calls = program_calls(operation, message_bytes);
    std::vector<Contender> contenders;
    const Candidate first{.origin = Origin::lanewise,
                          .algorithm = "default",
                          .segment_bytes = 0,
                          .lanes = 1,
                          .lanewise = reference,
                          .own = {}};
    contenders.push_back({"default",
                          reference ? implementation_of(operation, calls, first, work_s)
                                    : call_under_rule(calls, {}, work_s),
                          0, false});
    for (const auto& candidate : candidates) {
        const auto implementation =
            candidate.lanewise ? implementation_of(operation, calls, candidate, work_s)
                               : own.implementation(calls, operation.collective, candidate.own,
                                                    static_cast<int>(candidate.segment_bytes));
        contenders.push_back({candidate.algorithm, implementation,
                              static_cast<int>(candidate.origin), candidate.pruned,
                              candidate.promise_s});
    }
    return contenders;
}

/* What is there to be measured: of nonblocking ones only what can go on here by itself. */
std::vector<Candidate> candidates_of(Operation operation, std::uint64_t message_bytes,
                                     const collectives::CallTraits& call, MpiAlgorithms& own,
                                     const std::vector<std::string>& names) {
    const auto collective = operation.collective;
    if (operation.calling == Calling::blocking) {
        return candidates(collective, message_bytes, call, own.of(collective, call.ranks), names);
    }
    auto list = candidates(collective, message_bytes, call, {}, names);
    std::erase_if(list, [](const Candidate& candidate) {
        return !collectives::can_be_requested(*candidate.lanewise);
    });
    return list;
}

/* What a comparison is made among: the ranks, what is known of where they are, and the names of
   the algorithms that were asked for. */
struct Field {
    int ranks = 1;
    std::vector<std::string> algorithms;
    bool in_one_order = false;
    collectives::RankPlacement located;
    collectives::Networks networks;

    /* What candidates are compared with in place of the MPI's own; null: that. */
    const collectives::Algorithm *reference(Operation operation,
                                            std::uint64_t message_bytes) const {
        return in_one_order ? collectives::balanced_choice(operation, ranks, message_bytes)
                            : nullptr;
    }

    collectives::CallTraits call() const {
        const collectives::CallShape shape{.ranks = ranks, .sites = located.sites};
        return {.ranks = ranks,
                .platform = networks.best != nullptr,
                .hosts = located.host_count() > 1,
                .sites = located.site_count() > 1,
                .lanes_max = collectives::lanes_max(shape)};
    }
};

/* Fills in predicted_s where the schedule can be priced; the MPI's own have none. */
void predict(std::vector<Candidate>& candidates, collectives::Collective collective,
             std::uint64_t message_bytes, const Field& field) {
    for (auto& candidate : candidates) {
        if (!candidate.lanewise) continue;
        const auto priced = collectives::predict(
            *candidate.lanewise,
            {.collective = collective,
             .ranks = field.ranks,
             .message_bytes = message_bytes,
             .segment_bytes = static_cast<std::uint64_t>(candidate.segment_bytes),
             .lanes = candidate.lanes,
             .hosts = field.located.hosts,
             .sites = field.located.sites},
            field.networks.of(*candidate.lanewise));
        if (priced && priced->finished) candidate.predicted_s = priced->total_s;
    }
}

Task task_of(Operation operation, std::uint64_t message_bytes, MpiAlgorithms& own,
             const std::shared_ptr<const Field>& field) {
    const auto collective = operation.collective;
    auto list = std::make_shared<std::vector<Candidate>>();
    return {.key = name_of(operation) + " " + std::to_string(message_bytes),
            .collective = name_of(operation),
            .message_bytes = message_bytes,
            .rooted = is_rooted(collective),
            .kind = Task::Kind::compared,
            .contenders =
                [=, &own](FirstLook look) {
                    *list = candidates_of(operation, message_bytes, field->call(), own,
                                          field->algorithms);
                    keep_named(*list, field->algorithms);
                    const auto *reference = field->reference(operation, message_bytes);
                    if (reference) keep_balanced(*list, reference);
                    if (field->networks.best) predict(*list, collective, message_bytes, *field);
                    rule_out_lanes(*list, open_lanes_ratio);
                    prune(*list, dominated_prediction_ratio);
                    if (look == FirstLook::brief)
                        promise(*list, collective, field->ranks, message_bytes, field->located);
                    return contenders_of(operation, message_bytes, *list, reference, own, 0.0);
                },
            .record =
                [=](const Verdict& verdict) {
                    return point_record(operation, message_bytes,
                                        is_rooted(collective) ? field->ranks : 1, *list, verdict);
                }};
}

/* A finalist as a candidate that can be run here. */
Result<Candidate> candidate_named(const JudgedPoint& point, const Finalist& finalist,
                                  const Field& field, MpiAlgorithms& own) {
    Candidate candidate{.origin = finalist.origin,
                        .algorithm = finalist.algorithm,
                        .segment_bytes = finalist.segment_bytes,
                        .lanes = finalist.lanes,
                        .lanewise = nullptr,
                        .own = {}};
    const auto collective = point.operation.collective;
    if (finalist.origin == Origin::lanewise) {
        candidate.lanewise = collectives::find_algorithm(collective, finalist.algorithm);
        if (candidate.lanewise) return candidate;
    } else {
        for (const auto& algorithm : own.of(collective, field.ranks)) {
            if (algorithm.name != finalist.algorithm) continue;
            candidate.own = algorithm;
            return candidate;
        }
    }
    return Failure{LW_ERR_NOT_FOUND, "there is no " + finalist.algorithm + " of " +
                                         name_of(point.operation) + " any more; measure again"};
}

Result<Task> judging_task(const JudgedPoint& point, const StagedLaunch& staged, MpiAlgorithms& own,
                          const Field& field) {
    std::vector<Candidate> list;
    for (const auto& finalist : point.candidates) {
        auto candidate = candidate_named(point, finalist, field, own);
        if (!candidate) return candidate.failure();
        list.push_back(std::move(*candidate));
    }
    const auto collective = point.operation.collective;
    const bool works = point.operation.calling == Calling::nonblocking;
    const auto *reference = field.reference(point.operation, point.message_bytes);
    const std::string launch = staged.stage == Stage::screening ? " screening " : " launch ";
    return Task{
        .key = name_of(point.operation) + " " + std::to_string(point.message_bytes) + launch +
               std::to_string(staged.launch),
        .collective = name_of(point.operation),
        .message_bytes = point.message_bytes,
        .rooted = is_rooted(collective),
        .kind = Task::Kind::judged,
        .root = is_rooted(collective) ? staged.launch % field.ranks : 0,
        .expected_s = point.repetition_s,
        .contenders =
            [=, &own](FirstLook) {
                return contenders_of(point.operation, point.message_bytes, list, reference, own,
                                     works ? point.default_s : 0.0);
            },
        .record =
            [=](const Verdict& verdict) { return finalists_record(point, staged, list, verdict); }};
}

/* The first rank reads the file for all. */
Result<Finalists> read_finalists(const std::string& path, const measure::Harness& harness) {
    std::string text;
    bool read = true;
    if (harness.rank() == 0) {
        const auto content = read_file(path);
        read = static_cast<bool>(content);
        if (read) text = *content;
    }
    if (harness.any(!read)) return Failure{LW_ERR_IO, path + " cannot be read"};
    auto length = text.size();
    harness.broadcast_value(length);
    text.resize(length);
    harness.broadcast(std::as_writable_bytes(std::span(text)));
    return parse_finalists(text, path);
}

/* Refuses a name that no candidate has, for any of the operations at any of the sizes. */
Outcome check_names(const TuneArguments& arguments, const Field& field, MpiAlgorithms& own) {
    if (arguments.algorithms.empty()) return Done{};
    std::set<std::string> known;
    for (const auto operation : arguments.operations) {
        for (const auto bytes : sizes_for(operation.collective, arguments.session.sizes_bytes)) {
            for (const auto& candidate :
                 candidates_of(operation, bytes, field.call(), own, arguments.algorithms)) {
                known.insert(candidate.algorithm);
            }
        }
    }
    for (const auto& name : arguments.algorithms) {
        if (known.contains(name)) continue;
        std::string sentence = "no candidate is called \"" + name + "\"; use one of ";
        for (const auto& one : known) sentence += one == *known.begin() ? one : ", " + one;
        return Failure{LW_ERR_ARGUMENT, sentence};
    }
    return Done{};
}

/* Refuses what cannot be measured here. */
Outcome prepare(measure::Bench& bench, const std::vector<Task>& tasks) {
    std::list<lw_operation> operations;
    std::vector<measure::Point> points;
    for (const auto& task : tasks) {
        auto& operation = operations.emplace_back();
        operation.name = task.collective;
        operation.entry = measure::find_entry(operation.name);
        points.push_back({&operation, task.root, task.message_bytes});
    }
    return bench.prepare(points);
}

}  // namespace

std::size_t count_tasks(const TuneArguments& arguments) {
    std::size_t count = 0;
    for (const auto operation : arguments.operations) {
        count += sizes_for(operation.collective, arguments.session.sizes_bytes).size();
    }
    return count;
}

Outcome tune(const TuneArguments& arguments) {
    const auto& settings = arguments.session;
    auto options = settings.measure_options();
    // As many sets as the largest messages have, and one for the calls that come between.
    options.buffers.rotating_sets = 3;
    measure::Bench bench(MPI_COMM_WORLD, options);
    auto field = std::make_shared<Field>();
    field->ranks = bench.harness().size();
    field->algorithms = arguments.algorithms;
    field->in_one_order = !settings.same_bits.empty();
    // The platform may say sites as well; a placement that is set says them first.
    if (!arguments.platform.empty()) {
        setenv("LANEWISE_PLATFORM", arguments.platform.c_str(), 1);  // NOLINT: no thread yet
    }
    field->located = collectives::rank_placement(bench.harness().comm());
    if (!arguments.platform.empty()) {
        const auto read = collectives::read_networks(arguments.platform, field->ranks);
        if (bench.harness().any(!read))
            return read ? Failure{LW_ERR_IO, arguments.platform + " cannot be read on every rank"}
                        : read.failure();
        field->networks = *read;
        collectives::set_network(field->networks.best);
    }
    MpiAlgorithms own;
    const auto checked = check_names(arguments, *field, own);
    if (!checked) return checked;
    std::vector<Task> tasks;
    if (arguments.finalists.empty()) {
        for (const auto operation : arguments.operations) {
            for (const auto bytes : sizes_for(operation.collective, settings.sizes_bytes)) {
                tasks.push_back(task_of(operation, bytes, own, field));
            }
        }
    } else {
        const auto judged = read_finalists(arguments.finalists, bench.harness());
        if (!judged) return judged.failure();
        for (const auto& point : judged->points) {
            auto task = judging_task(point, {judged->stage, arguments.launch}, own, *field);
            if (!task) return task.failure();
            tasks.push_back(std::move(*task));
        }
    }
    const auto prepared = prepare(bench, tasks);
    if (!prepared) return prepared;
    return run_session(bench, settings, "tune", tasks);
}

}  // namespace lanewise::tune
