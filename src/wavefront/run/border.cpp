// SPDX-License-Identifier: BSD-3-Clause
//
// See border.hpp.

#include "wavefront/run/border.hpp"

#include <cstring>

#include "wavefront/store/layout.hpp"

namespace lanewise::wavefront {

Border::Border(Frontiers *frontiers, const Shape& shape, std::uint64_t band_rows,
               const Kernel& kernel)
    : frontiers_(frontiers),
      shape_(shape),
      band_rows_(band_rows),
      thickness_(kernel.thickness),
      reading_(kernel.reading) {}

bool Border::meets_upper(std::uint64_t band) const {
    return frontiers_ && band == 0 && frontiers_->has(Side::upper);
}

// The band of the first row that reads a row of the lower neighbour.
bool Border::meets_lower(std::uint64_t band) const {
    return frontiers_ && frontiers_->has(Side::lower) &&
           band == (shape_.rows - 2 * thickness_) / band_rows_;
}

bool Border::ready(std::uint64_t iteration, std::uint64_t band) const {
    if (meets_upper(band) && !frontiers_->ready(Side::upper, read_above(iteration))) return false;
    return !meets_lower(band) || frontiers_->ready(Side::lower, iteration - 1);
}

void Border::before(std::uint64_t iteration, std::uint64_t band, const Locate& locate) {
    if (!meets_upper(band) && !meets_lower(band)) return;
    std::vector<std::byte> rows(thickness_ * shape_.columns * element_bytes(shape_.element));
    if (meets_upper(band)) {
        frontiers_->take(Side::upper, read_above(iteration), rows.data());
        move(0, rows.data(), Move::in, locate);
    }
    if (meets_lower(band)) {
        frontiers_->take(Side::lower, iteration - 1, rows.data());
        move(shape_.rows - thickness_, rows.data(), Move::in, locate);
    }
}

void Border::after(std::uint64_t iteration, std::uint64_t band, const Locate& locate) {
    if (!frontiers_) return;
    const bool first_done =
        frontiers_->has(Side::upper) && band == (2 * thickness_ - 1) / band_rows_;
    const bool last_done =
        frontiers_->has(Side::lower) && band == (shape_.rows - thickness_ - 1) / band_rows_;
    if (!first_done && !last_done) return;
    std::vector<std::byte> rows(thickness_ * shape_.columns * element_bytes(shape_.element));
    if (first_done) {
        move(thickness_, rows.data(), Move::out, locate);
        frontiers_->give(Side::upper, iteration, rows.data());
    }
    if (last_done) {
        move(shape_.rows - 2 * thickness_, rows.data(), Move::out, locate);
        frontiers_->give(Side::lower, iteration, rows.data());
    }
}

void Border::move(std::uint64_t first_row, std::byte *rows, Move way, const Locate& locate) const {
    const auto bytes = element_bytes(shape_.element);
    for (std::uint64_t r = 0; r < thickness_; ++r) {
        const auto row = first_row + r;
        auto *const strip = locate(row / shape_.strip_rows);
        for (std::uint64_t column = 0; column < shape_.columns; ++column, rows += bytes) {
            auto *const cell = strip + offset_in_strip(shape_, row % shape_.strip_rows, column);
            if (way == Move::in)
                std::memcpy(cell, rows, bytes);
            else
                std::memcpy(rows, cell, bytes);
        }
    }
}

}  // namespace lanewise::wavefront
