// SPDX-License-Identifier: BSD-3-Clause
//
// See guideline_check.hpp.

#include "tune/guideline_check.hpp"

#include <list>

#include "tune/collectives_named.hpp"
#include "tune/session.hpp"

namespace lanewise::tune {
namespace {

Json record_of(const Guideline& guideline, const Verdict& verdict) {
    Json record = {{"record", "guideline"},
                   {"kind", guideline.kind},
                   {"guideline", guideline.text},
                   {"collective", name_of(guideline.collective)},
                   {"message_bytes", guideline.message_bytes},
                   {"left", figures_record(verdict.compared[0])},
                   {"right", figures_record(verdict.compared[1])}};
    if (verdict.confirmation.size() == 2) {
        record["confirmation"] = {{"root", verdict.confirmation_root},
                                  {"left", figures_record(verdict.confirmation[0].figures)},
                                  {"right", figures_record(verdict.confirmation[1].figures)}};
    }
    return record;
}

Task task_of(const Guideline& guideline) {
    return {
        .key = guideline.text + " " + std::to_string(guideline.message_bytes),
        .collective = guideline.text,
        .message_bytes = guideline.message_bytes,
        .rooted = is_rooted(guideline.collective),
        .contenders =
            [guideline](FirstLook) {
                const std::string name = name_of(guideline.collective);
                return std::vector<Contender>{
                    {name, sequence({{name, guideline.message_bytes}}), 0, false},
                    {guideline.text, sequence(guideline.parts), 0, false}};
            },
        .record = [guideline](const Verdict& verdict) { return record_of(guideline, verdict); }};
}

}  // namespace

Outcome check_guidelines(const CheckArguments& arguments) {
    const auto& settings = arguments.session;
    measure::Bench bench(MPI_COMM_WORLD, settings.measure_options());
    std::list<lw_operation> operations;
    std::vector<measure::Point> points;
    std::vector<Task> tasks;
    const auto all =
        guidelines(arguments.collectives, settings.sizes_bytes, bench.harness().size());
    for (const auto& guideline : all) {
        tasks.push_back(task_of(guideline));
        for (const auto& part : guideline.parts) {
            auto& operation = operations.emplace_back();
            operation.name = part.operation;
            operation.entry = measure::find_entry(part.operation);
            points.push_back({&operation, 0, part.message_bytes});
        }
    }
    if (tasks.empty())
        return Failure{LW_ERR_ARGUMENT, "no guideline concerns these collectives and sizes"};
    const auto prepared = bench.prepare(points);
    if (!prepared) return prepared;
    return run_session(bench, settings, "check", tasks);
}

}  // namespace lanewise::tune
