// SPDX-License-Identifier: BSD-3-Clause
//
// See mpi_algorithms.hpp. Open MPI's component coll/tuned: forced algorithms are looked at
// only with coll_tuned_use_dynamic_rules, and then once for each communicator,
// when it is made (ompi_coll_tuned_forced_getvalues). A communicator made while
// nothing is forced decides by the compiled rules, as every other program's does.

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>

#include "measure/harness/harness.hpp"
#include "tune/control_variable.hpp"
#include "tune/mpi_algorithms.hpp"

namespace lanewise::tune {
namespace {

using collectives::Collective;

std::string variable(Collective collective) {
    return std::string("coll_tuned_") + name_of(collective) + "_algorithm";
}

// Those that look at coll_tuned_<collective>_algorithm_segmentsize.
bool is_segmented(Collective collective, std::string_view name) {
    constexpr std::array bcast = {"chain",       "pipeline", "split_binary_tree",
                                  "binary_tree", "binomial", "knomial"};
    constexpr std::array reduce = {"chain", "pipeline", "binary", "binomial", "in-order_binary"};
    const auto among = [name](const auto& names) {
        return std::find(names.begin(), names.end(), name) != names.end();
    };
    if (collective == Collective::bcast) return among(bcast);
    if (collective == Collective::reduce) return among(reduce);
    return collective == Collective::allreduce && name == "segmented_ring";
}

}  // namespace

void MpiAlgorithms::announce() {
    setenv("OMPI_MCA_coll_tuned_use_dynamic_rules", "1", 0);
}

MpiAlgorithms::MpiAlgorithms() = default;

MpiAlgorithms::~MpiAlgorithms() {
    for (auto& [key, duplicate] : duplicates_) MPI_Comm_free(&duplicate);
}

std::vector<MpiAlgorithm> MpiAlgorithms::of(Collective collective, int ranks) const {
    const ControlVariable control(variable(collective));
    std::vector<MpiAlgorithm> found;
    if (!control.usable()) return found;
    for (const auto& item : control.items()) {
        const bool two_only = item.name == "two_proc" || item.name == "two_proc_only";
        if (item.value == 0 || (two_only && ranks != 2)) continue;
        found.push_back({item.name, item.value, is_segmented(collective, item.name)});
    }
    return found;
}

int MpiAlgorithms::forced(Collective collective) const {
    return ControlVariable(variable(collective)).read();
}

Implementation MpiAlgorithms::implementation(const SharedCalls& calls, Collective collective,
                                             const MpiAlgorithm& algorithm, int segment_bytes) {
    return [this, calls, collective, algorithm, segment_bytes](MPI_Comm comm, int root,
                                                               std::uint64_t) -> Result<Execution> {
        auto& duplicate =
            duplicates_
                .try_emplace({comm, collective, algorithm.number, segment_bytes}, MPI_COMM_NULL)
                .first->second;
        if (duplicate == MPI_COMM_NULL) {
            ControlVariable choice(variable(collective));
            ControlVariable segment(variable(collective) + "_segmentsize");
            const int segment_before = segment.read();
            const bool chosen = choice.write(algorithm.number);
            if (segment_bytes > 0) segment.write(segment_bytes);
            measure::check(MPI_Comm_dup(comm, &duplicate));
            choice.write(0);
            if (segment_bytes > 0) segment.write(segment_before);
            if (!chosen)
                return Failure{LW_ERR_UNSUPPORTED, algorithm.name + " could not be forced"};
        }
        return call_on(calls, duplicate, root);
    };
}

}  // namespace lanewise::tune
