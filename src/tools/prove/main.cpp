// SPDX-License-Identifier: BSD-3-Clause
//
// lanewise-prove: how the MPI answers calls under a file of rules.
//
// For each COLLECTIVE:BYTES:RANKS it calls with every argument given and, with
// --sparse, once more with insignificant arguments empty and MPI_IN_PLACE, and
// prints a JSON line: whether the result was right, or the call refused (a rule
// that names no algorithm is refused: so it can be seen where rules apply), and
// what the MPI's own algorithms are.

#include <mpi.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "base/sizes.hpp"
#include "measure/harness.hpp"
#include "tune/mpi_algorithms.hpp"
#include "tools/program.hpp"
#include "tune/proof_calls.hpp"

namespace {

using namespace lanewise;
using namespace lanewise::tools;
using collectives::Collective;

constexpr const char *program = "lanewise-prove";

struct Request {
    Collective collective = Collective::barrier;
    std::uint64_t message_bytes = 0;
    int ranks = 0;
};

Result<Request> read_request(const std::string& text) {
    const auto first = text.find(':');
    const auto second = text.find(':', first + 1);
    const auto collective = collectives::collective_named(text.substr(0, first));
    if (!collective || first == text.npos || second == text.npos)
        return Failure{LW_ERR_ARGUMENT, "\"" + text + "\" is not COLLECTIVE:BYTES:RANKS"};
    const auto bytes = parse_size(text.substr(first + 1, second - first - 1));
    if (!bytes) return bytes.failure();
    return Request{*collective, *bytes, std::atoi(text.c_str() + second + 1)};
}

const char *name_of_worst(const measure::Harness& harness, Answer mine) {
    if (harness.any(mine == Answer::wrong)) return "wrong";
    return harness.any(mine == Answer::refused) ? "refused" : "right";
}

// What ranks outside the communicator of a request answer counts as right.
void prove(const Request& request, bool sparse, const OwnAlgorithms& own,
           const measure::Harness& harness) {
    MPI_Comm comm = MPI_COMM_NULL;
    const int color = harness.rank() < request.ranks ? 0 : MPI_UNDEFINED;
    measure::check(MPI_Comm_split(harness.comm(), color, harness.rank(), &comm));
    const auto ask = [&](Manner manner) {
        const bool takes_part = comm != MPI_COMM_NULL;
        const auto answer =
            takes_part ? call_and_check(request.collective, request.message_bytes, manner, comm)
                       : Answer::right;
        return name_of_worst(harness, answer);
    };
    Json line = {{"event", "proof"},
                 {"collective", name_of(request.collective)},
                 {"message_bytes", request.message_bytes},
                 {"ranks", request.ranks}};
    line["full"] = ask(Manner::full);
    if (sparse) line["sparse"] = ask(Manner::sparse);
    line["forced"] = own.forced(request.collective);
    line["algorithms"] = Json::object();
    for (const auto& algorithm : own.of(request.collective, request.ranks)) {
        line["algorithms"][algorithm.name] = algorithm.number;
    }
    if (comm != MPI_COMM_NULL) MPI_Comm_free(&comm);
    if (harness.rank() != 0) return;
    std::puts(line.dump().c_str());
    std::fflush(stdout);
}

}  // namespace

int main(int argc, char **argv) {
    std::vector<std::string> texts;
    bool sparse = false;
    CLI::App app("Calls collectives and says how the MPI answers.", program);
    app.add_option("requests", texts)->option_text("COLLECTIVE:BYTES:RANKS...");
    app.add_flag("--sparse", sparse, "call with insignificant arguments empty, too");
    CLI11_PARSE(app, argc, argv);
    std::vector<Request> requests;
    for (const auto& text : texts) {
        const auto request = read_request(text);
        if (!request) return complain(program, request.failure());
        requests.push_back(*request);
    }
    return run_under_mpi(program, 0, [&]() -> Outcome {
        const measure::Harness harness(MPI_COMM_WORLD);
        const OwnAlgorithms own;
        for (const auto& request : requests) prove(request, sparse, own, harness);
        return Done{};
    });
}
