// SPDX-License-Identifier: BSD-3-Clause
//
// npy: the header of numpy's file format, versions 1 to 3 (NEP 1).
//
//     \x93NUMPY 1 0 <length, 2 bytes> {'descr': '<f8', 'fortran_order': False, 'shape': (4, 3), }

#pragma once

#include <string>

#include "base/result.hpp"
#include "wavefront/layout/shape.hpp"

namespace lanewise::wavefront::commands {

/* Checks that the array in the file is one of `shape`; returns where its values begin. */
Result<std::size_t> read_npy_header(std::FILE *file, const std::string& path,
                                    const wavefront::MatrixShape& shape);
std::string npy_header(const wavefront::MatrixShape& shape);

}  // namespace lanewise::wavefront::commands
