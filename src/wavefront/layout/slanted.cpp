// SPDX-License-Identifier: BSD-3-Clause
//
// The slanted layout: row blocks of rows, each row beginning `skew` columns further right
// than the one above. In memory only: tiles become windows of it (run/parallelogram_pass).

#include "wavefront/layout/shape.hpp"

namespace lanewise::wavefront {

const Layout layouts::slanted{
    .name = "slanted", .rows_lag = true, .strip_elements = [](const MatrixShape& shape) {
        return shape.strip_rows * shape.row_elements();
    }};

}  // namespace lanewise::wavefront
