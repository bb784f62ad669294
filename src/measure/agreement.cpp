// SPDX-License-Identifier: BSD-3-Clause

#include "measure/agreement.hpp"

#include <array>
#include <string>

#include "measure/harness/harness.hpp"
#include "measure/harness/operation.hpp"

namespace lanewise::measure {
namespace {

// A failure as one rank tells it to the others.
struct Told {
    int status = LW_OK;
    std::array<char, 1020> sentence{};
};

Told told(const Failure& failure) {
    Told made;
    made.status = failure.status;
    failure.sentence.copy(made.sentence.data(), made.sentence.size() - 1);
    return made;
}

}  // namespace

// Where a clock is skewed, each rank says by how much; where it reports to is its own affair too.
void Digest::add(const lw_measure_options& options) {
    for (const int choice :
         {int{options.timing}, int{options.start}, int{options.clock}, int{options.rule},
          int{options.buffers.pages}, int{options.buffers.caches}}) {
        add(static_cast<std::uint64_t>(choice));
    }
    for (const std::uint32_t count :
         {options.repetitions_min, options.repetitions_max, options.warmup_repetitions,
          options.pipeline_length, options.buffers.rotating_sets, options.buffers.offset_bytes}) {
        add(std::uint64_t{count});
    }
    add(options.seed);
    for (const double value :
         {options.confidence, options.error, options.time_limit_s, options.resync_s}) {
        add(value);
    }
}

void Digest::add(const lw_operation& operation) {
    add(std::string_view(operation.name));
    add(static_cast<std::uint64_t>(operation.window));
    add(std::uint64_t{operation.weights.size()});
    for (const double weight : operation.weights) add(weight);
}

Outcome agree(MPI_Comm comm, const Outcome& admitted, std::uint64_t digest) {
    int rank = 0;
    int size = 0;
    check(MPI_Comm_rank(comm, &rank));
    check(MPI_Comm_size(comm, &size));
    // One reduction tells both. The largest digest and the largest complement are complements of
    // each other only if all digests are equal; the third is largest for the lowest failing rank.
    const auto failing = static_cast<std::uint64_t>(admitted ? 0 : size - rank);
    std::array<std::uint64_t, 3> most{digest, ~digest, failing};
    check(MPI_Allreduce(MPI_IN_PLACE, most.data(), static_cast<int>(most.size()), MPI_UINT64_T,
                        MPI_MAX, comm));
    if (most[2] == 0) {
        if (most[0] == ~most[1]) return Done{};
        return bad_argument("the ranks passed different arguments; pass the same on every rank");
    }
    const int first = size - static_cast<int>(most[2]);
    Told all = admitted ? Told{} : told(admitted.failure());
    check(MPI_Bcast(&all, sizeof all, MPI_BYTE, first, comm));
    const std::string sentence(all.sentence.data());
    return Failure{static_cast<lw_status>(all.status),
                   first == 0 ? sentence : "rank " + std::to_string(first) + ": " + sentence};
}

}  // namespace lanewise::measure
