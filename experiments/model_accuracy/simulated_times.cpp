// SPDX-License-Identifier: BSD-3-Clause
//
// lanewise-simulated-times: the times of Lanewise's algorithms on a simulated cluster, where all
// ranks have one clock and can start at the same instant.
//
//     lanewise-simulated-times SIZES COLLECTIVE:ALGORITHM...
//
// Prints one JSON object: `times`, each {collective, algorithm, message_bytes, time_s}, from the
// common start until the last rank has finished. It is built for SMPI only; elsewhere use `lanewise
// measure`.

#include <fmt/format.h>
#include <mpi.h>
#include <smpi/smpi_helpers_internal.h>

#include <cmath>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "base/sizes.hpp"
#include "collectives/execute/execute.hpp"
#include "measure/harness/harness.hpp"

namespace {

using namespace lanewise;
using collectives::Algorithm;
using collectives::Collective;
using measure::Harness;

/* More than any barrier leaves ranks apart. */
constexpr double slack_s = 1e-3;

struct Memory {
    std::vector<std::byte> send;
    std::vector<std::byte> receive;
};

collectives::Call call_of(Collective collective, const Harness& harness, int bytes,
                          Memory& memory) {
    const auto all = static_cast<std::size_t>(bytes) * static_cast<std::size_t>(harness.size());
    memory.send.resize(all);
    memory.receive.resize(all);
    collectives::Call call;
    call.collective = collective;
    call.send = memory.send.data();
    call.send_count = bytes;
    call.send_type = MPI_BYTE;
    call.receive = memory.receive.data();
    call.receive_count = bytes;
    call.receive_type = MPI_BYTE;
    call.comm = harness.comm();
    return call;
}

// From one instant, until which all ranks sleep, to the end of the last of them.
double time_s(const Harness& harness, const Algorithm& algorithm, const collectives::Call& call) {
    double start_s = MPI_Wtime() + slack_s;
    harness.maximum({&start_s, 1});
    const double wait_s = start_s - MPI_Wtime();
    const timespec pause{0, std::lround(wait_s * 1e9)};
    smpi_nanosleep(&pause, nullptr);
    const double begin_s = MPI_Wtime();
    bool served = false;
    const int code = collectives::execute(call, {&algorithm, 0, 1}, served);
    double end_s = MPI_Wtime();
    double earliest_s = -begin_s;
    harness.maximum({&end_s, 1});
    harness.maximum({&earliest_s, 1});
    return code == MPI_SUCCESS && served ? end_s + earliest_s : std::nan("");
}

int complain(int rank, const std::string& sentence) {
    if (rank == 0) fmt::print(stderr, "lanewise-simulated-times: {}\n", sentence);
    MPI_Finalize();
    return 2;
}

}  // namespace

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    const Harness harness(MPI_COMM_WORLD);
    const auto sizes = parse_sizes(argc > 1 ? argv[1] : "");
    if (!sizes) return complain(harness.rank(), sizes.failure().sentence);
    Json times = Json::array();
    for (int i = 2; i < argc; ++i) {
        const std::string word = argv[i];
        const auto colon = word.find(':');
        const auto collective = collectives::collective_named(word.substr(0, colon));
        const auto name = colon == std::string::npos ? "" : word.substr(colon + 1);
        const auto *algorithm =
            collective ? collectives::find_algorithm(*collective, name) : nullptr;
        if (!algorithm)
            return complain(harness.rank(), "no algorithm " + word + "; write scatter:binomial");
        for (const auto bytes : *sizes) {
            Memory memory;
            const auto call = call_of(*collective, harness, static_cast<int>(bytes), memory);
            time_s(harness, *algorithm, call);  // the first call builds and keeps the schedule
            times.push_back({{"collective", collectives::name_of(*collective)},
                             {"algorithm", name},
                             {"message_bytes", bytes},
                             {"time_s", time_s(harness, *algorithm, call)}});
        }
    }
    if (harness.rank() == 0) fmt::print("{}\n", Json{{"times", times}}.dump());
    MPI_Finalize();
    return 0;
}
