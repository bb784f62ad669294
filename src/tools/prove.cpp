// SPDX-License-Identifier: BSD-3-Clause
//
// lanewise-prove: how the MPI answers calls under a file of rules. For each COLLECTIVE:BYTES:RANKS
// it prints a JSON line: whether the result was right, or the call refused. A rule that names no
// algorithm is refused, which shows where rules apply.

#include <mpi.h>

#include <cstdio>
#include <string>
#include <vector>

#include "options/options.hpp"
#include "tools/mpi_program.hpp"
#include "tools/program.hpp"
#include "tools/subcommands.hpp"
#include "tune/proof.hpp"

namespace lanewise::tools {
namespace {

Outcome print_proofs(const std::vector<tune::ProofRequest>& requests, tune::Manners manners) {
    const measure::Harness harness(MPI_COMM_WORLD);
    const tune::MpiAlgorithms algorithms;
    for (const auto& request : requests) {
        const auto proof = prove(request, manners, algorithms, harness);
        if (harness.rank() != 0) continue;
        std::puts(proof.dump().c_str());
        std::fflush(stdout);
    }
    return Done{};
}

}  // namespace

int prove_main(int argc, char **argv) {
    constexpr const char *program = "lanewise-prove";
    std::vector<std::string> texts;
    tune::Manners manners;
    Options options(program, "Calls collectives and says how the MPI answers.");
    options.texts("requests", "COLLECTIVE:BYTES:RANKS", texts, "Calls to make");
    options.flag("--sparse", manners.sparse, "Also call with insignificant arguments empty");
    options.flag("--ordered", manners.ordered,
                 "Also reduce with an operator that does not commute");
    const auto parsed = options.parse(argc, argv);
    if (!parsed) return say_failure_once(program, parsed.failure());
    if (*parsed) return print(**parsed);
    std::vector<tune::ProofRequest> requests;
    for (const auto& text : texts) {
        const auto request = tune::read_proof_request(text);
        if (!request) return say_failure_once(program, request.failure());
        requests.push_back(*request);
    }
    return run_under_mpi(program, 0, [&] { return print_proofs(requests, manners); });
}

}  // namespace lanewise::tools
