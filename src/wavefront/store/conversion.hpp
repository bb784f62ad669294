// SPDX-License-Identifier: BSD-3-Clause
//
// Conversion: a store copied into another layout, or into strips or tiles of other sizes.

#pragma once

#include <string>
#include <vector>

#include "wavefront/store/rows_io.hpp"
#include "wavefront/store/store.hpp"

namespace lanewise::wavefront {

struct Conversion {
    const Layout *layout = &layouts::row_major;
    std::uint64_t strip_rows = 0; /* 0: as before */
    std::uint64_t tile_columns = 0;
    std::vector<std::string> disks{};
    std::uint64_t memory_bytes = 0;
    Watch watch{};
};

struct Converted {
    MatrixShape shape;
    std::uint64_t bytes = 0; /* of the matrices */
};

/* Makes the new store `folder` with all that `from` holds, an unfinished run and the kernel that it
 * was made for included. Leaves nothing where that fails. */
Result<Converted> convert_store(const Store& from, const std::string& folder,
                                const Conversion& wanted);

}  // namespace lanewise::wavefront
