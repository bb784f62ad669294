// SPDX-License-Identifier: BSD-3-Clause
//
// See tuning.hpp.

#include "tune/tuning.hpp"

#include <cstdlib>
#include <memory>
#include <set>

#include "collectives/balanced_choice.hpp"
#include "collectives/execute/execute.hpp"
#include "collectives/execute/rank_placement.hpp"
#include "collectives/execute/request.hpp"
#include "collectives/lanes/plan.hpp"
#include "model/platform/platform.hpp"
#include "tune/candidates.hpp"
#include "tune/collectives_named.hpp"
#include "tune/prediction.hpp"

namespace lanewise::tune {
namespace {

using collectives::Calling;
using collectives::Operation;

// Predictions beyond this multiple of the best are not worth thirty repetitions.
constexpr double dominated_prediction_ratio = 3.0;

Json candidate_record(const Candidate& candidate, const Figures& figures) {
    Json record = {{"origin", candidate.origin == Origin::lanewise ? "lanewise" : "mpi"},
                   {"algorithm", candidate.algorithm},
                   {"segment_bytes", candidate.segment_bytes},
                   {"lanes", candidate.lanes}};
    record.update(figures_record(figures));
    return record;
}

Json point_record(Operation operation, std::uint64_t message_bytes,
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
                   {"default", figures_record(verdict.compared.front())},
                   {"candidates", std::move(list)}};
    if (verdict.confirmation.size() < 2) return record;
    Json confirmed = Json::array();
    for (const auto& [contender, figures] : verdict.confirmation) {
        if (contender > 0)
            confirmed.push_back(candidate_record(candidates[contender - 1], figures));
    }
    record["confirmation"] = {{"root", verdict.confirmation_root},
                              {"default", figures_record(verdict.confirmation.front().figures)},
                              {"candidates", std::move(confirmed)}};
    return record;
}

/* `reference` takes the place of the MPI's default, where there is one. */
std::vector<Contender> blocking_contenders(collectives::Collective collective,
                                           const std::vector<Candidate>& candidates,
                                           const collectives::Algorithm *reference,
                                           MpiAlgorithms& own) {
    std::vector<Contender> contenders;
    contenders.push_back({"default",
                          reference ? algorithm_implementation(*reference, 0, 1)
                                    : default_implementation(name_of(collective)),
                          0, false});
    for (const auto& candidate : candidates) {
        const auto segment = candidate.segment_bytes;
        const auto implementation =
            candidate.lanewise
                ? algorithm_implementation(*candidate.lanewise, segment, candidate.lanes)
                : own.implementation(collective, candidate.own, static_cast<int>(segment));
        contenders.push_back({candidate.algorithm, implementation,
                              static_cast<int>(candidate.origin), candidate.pruned});
    }
    return contenders;
}

/* Each waits at once in the comparison; in the confirmation there is work to be done before. */
std::vector<Contender> nonblocking_contenders(Operation operation,
                                              const std::vector<Candidate>& candidates,
                                              const collectives::Algorithm *reference) {
    const auto name = name_of(operation);
    const auto own = [name, reference](double work_s) {
        return reference ? algorithm_request(*reference, 0, 1, work_s)
                         : default_request(name, work_s);
    };
    std::vector<Contender> contenders;
    contenders.push_back({"default", own(0.0), 0, false, own});
    for (const auto& candidate : candidates) {
        const auto implementation = [candidate](double work_s) {
            return algorithm_request(*candidate.lanewise, candidate.segment_bytes, candidate.lanes,
                                     work_s);
        };
        contenders.push_back({candidate.algorithm, implementation(0.0),
                              static_cast<int>(candidate.origin), candidate.pruned,
                              implementation});
    }
    return contenders;
}

/* What is there to be measured: of nonblocking ones only what can go on here by itself. */
std::vector<Candidate> candidates_of(Operation operation, std::uint64_t message_bytes,
                                     const collectives::CallTraits& call, MpiAlgorithms& own) {
    const auto collective = operation.collective;
    if (operation.calling == Calling::blocking) {
        return candidates(collective, message_bytes, call, own.of(collective, call.ranks));
    }
    auto list = candidates(collective, message_bytes, call, {});
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
    std::shared_ptr<const model::Network> network;

    collectives::CallTraits call() const {
        const collectives::CallShape shape{.ranks = ranks, .sites = located.sites};
        return {.ranks = ranks,
                .platform = network != nullptr,
                .sites = located.site_count() > 1,
                .lanes_max = collectives::lanes_max(shape)};
    }
};

Task task_of(Operation operation, std::uint64_t message_bytes, MpiAlgorithms& own,
             const std::shared_ptr<const Field>& field) {
    const auto collective = operation.collective;
    auto list = std::make_shared<std::vector<Candidate>>();
    return {.key = name_of(operation) + " " + std::to_string(message_bytes),
            .message_bytes = message_bytes,
            .rooted = is_rooted(collective),
            .contenders =
                [=, &own] {
                    *list = candidates_of(operation, message_bytes, field->call(), own);
                    keep_named(*list, field->algorithms);
                    const auto *reference =
                        field->in_one_order
                            ? collectives::balanced_choice(operation, field->ranks, message_bytes)
                            : nullptr;
                    if (reference) keep_balanced(*list, reference);
                    if (field->network) {
                        predict(*list, collective, message_bytes, field->located, *field->network);
                    }
                    prune(*list, dominated_prediction_ratio);
                    return operation.calling == Calling::blocking
                               ? blocking_contenders(collective, *list, reference, own)
                               : nonblocking_contenders(operation, *list, reference);
                },
            .record =
                [=](const Verdict& verdict) {
                    return point_record(operation, message_bytes, *list, verdict);
                }};
}

/* Refuses a name that no candidate has, for any of the operations at any of the sizes. */
Outcome check_names(const TuneArguments& arguments, const Field& field, MpiAlgorithms& own) {
    if (arguments.algorithms.empty()) return Done{};
    std::set<std::string> known;
    for (const auto operation : arguments.operations) {
        for (const auto bytes : sizes_for(operation.collective, arguments.session.sizes_bytes)) {
            for (const auto& candidate : candidates_of(operation, bytes, field.call(), own)) {
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
    measure::Bench bench(MPI_COMM_WORLD, settings.measure_options());
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
        const auto read = model::read_network(arguments.platform, field->ranks);
        if (bench.harness().any(!read))
            return read ? Failure{LW_ERR_IO, arguments.platform + " cannot be read on every rank"}
                        : read.failure();
        field->network = *read;
        collectives::set_network(field->network);
    }
    MpiAlgorithms own;
    const auto checked = check_names(arguments, *field, own);
    if (!checked) return checked;
    std::vector<Task> tasks;
    std::vector<lw_operation> operations(arguments.operations.size());
    std::vector<measure::Point> points;
    for (std::size_t i = 0; i < operations.size(); ++i) {
        const auto operation = arguments.operations[i];
        operations[i].name = name_of(operation);
        operations[i].entry = measure::find_entry(operations[i].name);
        for (const auto bytes : sizes_for(operation.collective, settings.sizes_bytes)) {
            points.push_back({&operations[i], 0, bytes});
            tasks.push_back(task_of(operation, bytes, own, field));
        }
    }
    const auto prepared = bench.prepare(points);
    if (!prepared) return prepared;
    return run_session(bench, settings, "tune", tasks);
}

}  // namespace lanewise::tune
