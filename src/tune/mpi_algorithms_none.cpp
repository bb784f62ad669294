// SPDX-License-Identifier: BSD-3-Clause
//
// See mpi_algorithms.hpp: an MPI whose algorithms cannot be forced within a run.

#include "tune/mpi_algorithms.hpp"

namespace lanewise::tune {

void MpiAlgorithms::announce() {}

MpiAlgorithms::MpiAlgorithms() = default;
MpiAlgorithms::~MpiAlgorithms() = default;

std::vector<MpiAlgorithm> MpiAlgorithms::of(collectives::Collective, int) const {
    return {};
}

int MpiAlgorithms::forced(collectives::Collective) const {
    return 0;
}

Implementation MpiAlgorithms::implementation(const SharedCalls& calls, collectives::Collective,
                                             const MpiAlgorithm&, int) {
    return call_under_rule(calls, {}, 0.0);
}

}  // namespace lanewise::tune
