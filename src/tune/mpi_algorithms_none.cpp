// SPDX-License-Identifier: BSD-3-Clause
//
// See own.hpp: an MPI whose algorithms cannot be forced within a run.

#include "tune/mpi_algorithms.hpp"

namespace lanewise::tools {

void OwnAlgorithms::announce() {}

OwnAlgorithms::OwnAlgorithms() = default;
OwnAlgorithms::~OwnAlgorithms() = default;

std::vector<OwnAlgorithm> OwnAlgorithms::of(collectives::Collective, int) const {
    return {};
}

int OwnAlgorithms::forced(collectives::Collective) const {
    return 0;
}

Way OwnAlgorithms::way(collectives::Collective collective, const OwnAlgorithm&, int) {
    return default_way(name_of(collective));
}

}  // namespace lanewise::tools
