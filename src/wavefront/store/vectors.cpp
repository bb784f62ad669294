// SPDX-License-Identifier: BSD-3-Clause
//
// See vectors.hpp.

#include "wavefront/store/vectors.hpp"

#include "wavefront/store/checksum.hpp"

namespace lanewise::wavefront {

Result<Vector> read_vector(const Store& store, std::uint32_t vector) {
    const auto& entry = store.manifest().vectors[vector];
    if (entry.sum.empty())
        return Failure{LW_ERR_NOT_FOUND, store.folder() + ": " + entry.name +
                                             " is empty; fill it with lanewise wavefront import"};
    const auto own = shape_of(store.shape(), store.shape().matrix_count() + vector);
    Vector values(own.rows * own.columns * element_bytes(own.element));
    const auto path = store.vector_path(vector, entry.sum);
    const auto read = store.read_file(path, values.data(), values.size(), entry.sum);
    if (!read) return read.failure();
    return values;
}

Result<std::vector<Vector>> read_vectors(const Store& store) {
    std::vector<Vector> vectors;
    for (std::uint32_t v = 0; v < store.shape().vector_count(); ++v) {
        auto values = read_vector(store, v);
        if (!values) return values.failure();
        vectors.push_back(std::move(*values));
    }
    return vectors;
}

void add_vector_names(const MatrixShape& shape, std::vector<std::string>& names) {
    for (std::uint32_t v = 0; v < shape.row_coefficient_count; ++v)
        names.push_back("row" + std::to_string(v));
    for (std::uint32_t v = 0; v < shape.column_coefficient_count; ++v)
        names.push_back("column" + std::to_string(v));
}

Outcome write_vector(Store& store, std::uint32_t vector, const Vector& values) {
    const auto changing = store.check_changing();
    if (!changing) return changing;
    const auto sum = checksum_text(checksum(values.data(), values.size()));
    const auto written =
        store.write_file(store.vector_path(vector, sum), values.data(), values.size());
    if (!written) return written;
    auto manifest = store.manifest();
    const auto former = manifest.vectors[vector].sum;
    manifest.vectors[vector].sum = sum;
    manifest.run.reset();
    const auto committed = store.commit(manifest);
    if (committed) store.drop_vector(vector, former);
    return committed;
}

}  // namespace lanewise::wavefront
