// SPDX-License-Identifier: BSD-3-Clause

#include "collectives/tuned/testing/prepared.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <limits>

#include "base/json.hpp"
#include "collectives/execute/request.hpp"
#include "collectives/tuned/next_mpi.hpp"

namespace lanewise::tuned::testing {
namespace {

using namespace collectives;

template <auto member, typename Function>
struct Counting;

template <auto member, typename... Arguments>
struct Counting<member, int (*)(Arguments...)> {
    static inline int (*own)(Arguments...) = nullptr;
    static int call(Arguments... arguments) {
        ++passed_on;
        return own(arguments...);
    }
};

template <auto member>
void count() {
    using Way = Counting<member, std::remove_reference_t<decltype(next_mpi.*member)>>;
    Way::own = next_mpi.*member;
    next_mpi.*member = Way::call;
}

Json file_for_all_sizes() {
    Json rules = Json::object();
    for (int c = 0; c < collective_count; ++c) {
        for (const auto calling : {Calling::blocking, Calling::nonblocking}) {
            const Operation operation(static_cast<Collective>(c), calling);
            const auto *algorithm = first_of(operation);
            if (!algorithm) continue;
            const bool limited = operation == Operation(Collective::bcast);
            const Json rule = {{"from_bytes", 0},
                               {"to_bytes", limited ? ruled_bcast_bytes
                                                    : std::numeric_limits<std::uint64_t>::max()},
                               {"algorithm", algorithm->name}};
            rules[name_of(operation)] = {{"rules", Json::array({rule})}};
        }
    }
    return {{"schema", "lanewise-tuning"},
            {"version", 1},
            {"lanewise", "0.1.0"},
            {"created", "2026-11-21T15:00:00Z"},
            {"mpi", {{"family", LANEWISE_MPI_FAMILY}, {"library", ""}}},
            {"ranks", world_size()},
            {"layout", {world_size()}},
            {"margin", 0.03},
            {"confidence", 0.95},
            {"collectives", rules}};
}

class Prepared : public ::testing::Environment {
  public:
    void SetUp() override {
        if (world_rank() == 0) {
            std::ofstream(std::getenv("LANEWISE_TUNING")) << file_for_all_sizes().dump();
        }
        PMPI_Barrier(MPI_COMM_WORLD);
#define LANEWISE_COUNT(name, lower, ...) count<&NextMpi::name>(), count<&NextMpi::I##lower>();
        LANEWISE_FUNCTIONS(LANEWISE_COUNT)
#undef LANEWISE_COUNT
#ifdef LANEWISE_HAS_LARGE_COUNTS
#define LANEWISE_COUNT(name, lower, ...) \
    count<&NextMpi::name##_c>(), count<&NextMpi::I##lower##_c>();
        LANEWISE_COUNTED_FUNCTIONS(LANEWISE_COUNT)
#undef LANEWISE_COUNT
#endif
    }
};

const auto *const prepared = ::testing::AddGlobalTestEnvironment(new Prepared);

}  // namespace

std::atomic<int> passed_on{0};

int world_rank() {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
}

int world_size() {
    int size = 1;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    return size;
}

const Algorithm *first_of(Operation operation) {
    const CallTraits world{.ranks = world_size()};
    const Algorithm *first = nullptr;
    for (const auto *algorithm : algorithms()) {
        if (algorithm->collective != operation.collective) continue;
        if (!refusal(*algorithm, world).empty()) continue;
        if (operation.calling == Calling::blocking) return algorithm;
        if (!can_be_requested(*algorithm)) continue;
        if (!first || (first->posts_at_once && !algorithm->posts_at_once)) first = algorithm;
    }
    return first;
}

}  // namespace lanewise::tuned::testing
