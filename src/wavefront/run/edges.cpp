// SPDX-License-Identifier: BSD-3-Clause
//
// See edges.hpp.

#include "wavefront/run/edges.hpp"

#include <cstring>
#include <utility>

#include "wavefront/store/rows_io.hpp"

namespace lanewise::wavefront {
Edges::Edges(const Borders& borders, const MatrixShape& shape, std::uint64_t radius, Locate locate)
    : borders_(borders),
      shape_(shape),
      radius_(radius),
      row_bytes_(shape.columns * element_bytes(shape.element)),
      locate_(std::move(locate)) {}

BorderKind Edges::kind(End end) const {
    const bool at_top = (end == End::first) != shape_.facing.up;
    return at_top ? borders_.top : borders_.bottom;
}

std::uint64_t Edges::border_row(End end, std::uint64_t n) const {
    return end == End::first ? shape_.rows_before + n : shape_.rows - radius_ + n;
}

std::uint64_t Edges::source_row(End end, std::uint64_t n) const {
    const bool first = end == End::first;
    const auto begin = shape_.rows_before;
    if (kind(end) == BorderKind::periodic)
        return first ? shape_.rows - 2 * radius_ + n : begin + radius_ + n;
    return first ? begin + 2 * radius_ - 1 - n : shape_.rows - radius_ - 1 - n;
}

std::uint64_t Edges::row_on_disk(std::uint64_t row) const {
    return shape_.facing.up ? shape_.rows - 1 - row : row;
}

Outcome Edges::begin(const Store& store) {
    for (const auto end : {End::first, End::last}) {
        auto& rows = begin_[end == End::first ? 0 : 1];
        rows.assign(shape_.data_count, {});
        if (kind(end) == BorderKind::fixed) continue;
        for (std::uint32_t m = 0; m < shape_.data_count; ++m) {
            const auto done = read(store, m, end, rows[m]);
            if (!done) return done;
        }
    }
    return Done{};
}

Outcome Edges::read(const Store& store, std::uint32_t matrix, End end, Rows& rows) const {
    const auto& stored = store.shape();
    auto source = strip_source(store, matrix, {.tiles_read = 1});
    if (!source) return source.failure();
    rows.resize(radius_ * row_bytes_);
    Rows strip(stored.strip_rows * row_bytes_);
    auto in_memory = stored.strip_count();
    for (std::uint64_t n = 0; n < radius_; ++n) {
        const auto row = row_on_disk(source_row(end, n));
        const auto wanted = row / stored.strip_rows;
        if (wanted != in_memory) {
            const auto filled = (*source)(wanted, strip.data());
            if (!filled) return filled;
            in_memory = wanted;
        }
        auto *const to = rows.data() + n * row_bytes_;
        std::memcpy(to, strip.data() + row % stored.strip_rows * row_bytes_, row_bytes_);
        set_border_columns(borders_, to, shape_.columns, shape_.line_columns, radius_,
                           element_bytes(shape_.element));
    }
    return Done{};
}

void Edges::set_strip(std::uint64_t strip, std::uint32_t matrix) {
    const auto first = strip * shape_.strip_rows;
    const auto end = first + rows_in_strip(shape_, strip);
    for (auto row = first; row < end; ++row) {
        if (row < shape_.rows_before) continue;
        const auto at = row - shape_.rows_before;
        const bool before = at < radius_;
        const bool behind = row >= shape_.rows - radius_;
        auto *const bytes = locate_(row, matrix);
        if (!before && !behind) {
            set_border_columns(borders_, bytes, shape_.columns, shape_.line_columns, radius_,
                               element_bytes(shape_.element));
            continue;
        }
        const auto& rows = begin_[before ? 0 : 1][matrix];
        const auto n = before ? at : row - (shape_.rows - radius_);
        if (!rows.empty()) std::memcpy(bytes, rows.data() + n * row_bytes_, row_bytes_);
    }
}

void Edges::after(std::uint64_t first, std::uint64_t end) {
    const auto has_left = [&](std::uint64_t row) { return row >= first && row < end; };
    if (has_left(shape_.rows_before + 2 * radius_ - 1)) {
        if (kind(End::first) == BorderKind::neumann) set_rows(End::first);
        if (kind(End::last) == BorderKind::periodic) keep_first_rows();
    }
    if (!has_left(shape_.rows - radius_ - 1)) return;
    if (kind(End::first) == BorderKind::periodic) set_rows(End::first);
    if (kind(End::last) != BorderKind::fixed) set_rows(End::last);
}

void Edges::keep_first_rows() {
    kept_.assign(shape_.data_count, Rows(radius_ * row_bytes_));
    for (std::uint32_t m = 0; m < shape_.data_count; ++m) {
        for (std::uint64_t n = 0; n < radius_; ++n)
            std::memcpy(kept_[m].data() + n * row_bytes_, locate_(source_row(End::last, n), m),
                        row_bytes_);
    }
}

void Edges::set_rows(End end) {
    const bool kept = end == End::last && kind(end) == BorderKind::periodic;
    for (std::uint32_t m = 0; m < shape_.data_count; ++m) {
        for (std::uint64_t n = 0; n < radius_; ++n) {
            const auto *const from =
                kept ? kept_[m].data() + n * row_bytes_ : locate_(source_row(end, n), m);
            std::memcpy(locate_(border_row(end, n), m), from, row_bytes_);
        }
    }
}

}  // namespace lanewise::wavefront
