// SPDX-License-Identifier: BSD-3-Clause
//
// Vectors: coefficients of a store that are one value for each row, or one for each column.
//
// They are short beside the matrices, so that a run has all of them in memory. Each is a file named
// after its checksum: a new one is written beside it, and the manifest then names that.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "wavefront/store/store.hpp"

namespace lanewise::wavefront {

using Vector = std::vector<std::byte>;

/* Vector `vector` of those of the store, the first being 0; checked against its checksum. */
Result<Vector> read_vector(const Store& store, std::uint32_t vector);
/* All of them. */
Result<std::vector<Vector>> read_vectors(const Store& store);

/* Adds row0, ..., column0, ..., as vectors are called that nobody named. */
void add_vector_names(const MatrixShape& shape, std::vector<std::string>& names);

/* Replaces a vector by `values`, which are as many as it has. */
Outcome write_vector(Store& store, std::uint32_t vector, const Vector& values);

}  // namespace lanewise::wavefront
