// SPDX-License-Identifier: BSD-3-Clause
//
// See arguments.hpp.

#include "tune/arguments.hpp"

#include "options/options.hpp"
#include "tune/collectives_named.hpp"

namespace lanewise::tune {
namespace {

/* Only reductions have an order. */
Outcome admit_same_bits(const std::string& same_bits, std::vector<std::string>& names) {
    if (same_bits.empty()) return Done{};
    if (same_bits != "order") {
        return bad_argument("--same-bits " + same_bits + ": say order; exact sums have no choice");
    }
    if (names.empty()) names = {"reduce", "allreduce", "reduce_scatter"};
    for (const auto& name : names) {
        const auto operation = collectives::operation_named(name);
        if (!operation || is_reduction(operation->collective)) continue;
        return bad_argument(name + " adds nothing; --same-bits order is for reductions");
    }
    return Done{};
}

}  // namespace

Result<std::variant<TuneArguments, Leave>> parse_tune_arguments(int argc, char **argv) {
    TuneArguments arguments;
    std::vector<std::string> names;
    arguments.session.words.assign(argv + 1, argv + argc);
    Options options(
        "lanewise-tune",
        "Finds where an algorithm is faster than the MPI's default. Started by an MPI launcher:\n"
        "  mpirun -n 4 lanewise-tune scatter --sizes 8,64K -o evidence.jsonl\n");
    options.group("What is tuned");
    options.texts("collectives", "COLLECTIVE", names,
                  "Collectives to tune (default: all blocking ones)");
    options
        .texts(
            "--algorithm", "NAME", arguments.algorithms,
            "Compare only this algorithm with the MPI's default; separated by commas, repeatable "
            "(default: all)")
        .separated_by_commas()
        .one_value_per_use();
    options.text("--same-bits", "order", arguments.session.same_bits,
                 "Choose among algorithms that add in one order, for lanewise run --same-bits");
    options.text(
        "--platform", "FILE", arguments.platform,
        "Platform file; candidates that it predicts to be far slower are measured only briefly");
    options.flag("--plan", arguments.plan,
                 "Check the arguments and print the points without measuring");
    options
        .text("--finalists", "FILE", arguments.finalists,
              "Screen or judge the candidates that this file names, which launches before have "
              "chosen")
        .without_default();
    options
        .number("--launch", "K", arguments.launch,
                "Which of the launches that screen or judge this is; the K-th has rank K as root")
        .without_default();
    options.flag("--list", arguments.list, "List the collectives");
    declare(options, arguments.session);
    const auto parsed = options.parse(argc, argv);
    if (!parsed) return parsed.failure();
    if (*parsed) return {**parsed};
    const auto ordered = admit_same_bits(arguments.session.same_bits, names);
    if (!ordered) return ordered.failure();
    const auto named = operations_named(names);
    if (!named) return named.failure();
    arguments.operations = *named;
    if (arguments.launch < 0) return bad_argument("launch " + std::to_string(arguments.launch));
    const auto admitted = admit(arguments.session);
    if (!admitted) return admitted.failure();
    for (const auto operation : arguments.operations) {
        if (!sizes_for(operation.collective, arguments.session.sizes_bytes).empty()) continue;
        return Failure{LW_ERR_ARGUMENT,
                       name_of(operation) + " adds floats; none of the sizes is a multiple of 4"};
    }
    return {std::move(arguments)};
}

}  // namespace lanewise::tune
