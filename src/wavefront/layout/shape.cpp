// SPDX-License-Identifier: BSD-3-Clause
//
// See shape.hpp.

#include "wavefront/layout/shape.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace lanewise::wavefront {
namespace {

// Below this size of transfer the disk's latency shows (measured: 64 KiB 0.7, 1 MiB 1.8 GB/s).
constexpr std::uint64_t transfer_bytes_min = 1 << 20;
constexpr std::uint64_t side_max = std::uint64_t{1} << 40;
constexpr std::uint32_t matrices_max = 64;

struct ElementInfo {
    Element element;
    const char *name;
    std::uint64_t bytes;
    Numbers numbers;
};
constexpr ElementInfo elements[] = {
    {Element::f32, "f32", 4, Numbers::real},    {Element::f64, "f64", 8, Numbers::real},
    {Element::c64, "c64", 8, Numbers::complex}, {Element::c128, "c128", 16, Numbers::complex},
    {Element::i32, "i32", 4, Numbers::whole},   {Element::i64, "i64", 8, Numbers::whole},
    {Element::f16, "f16", 2, Numbers::real},
};

const ElementInfo& info(Element element) {
    return elements[static_cast<std::size_t>(element)];
}

std::uint64_t round_up(std::uint64_t value, std::uint64_t step) {
    return (value + step - 1) / step * step;
}

Outcome check_planes(const MatrixShape& shape) {
    if (shape.columns % shape.line_columns != 0)
        return bad_argument("a plane of " + std::to_string(shape.columns) +
                            " cells is not made of lines of " + std::to_string(shape.line_columns));
    if (shape.layout != &layouts::row_major || shape.tile_columns)
        return bad_argument("three dimensions are stored row-major and in whole planes, not " +
                            std::string(shape.tile_columns ? "in tiles" : shape.layout->name) +
                            "; use --layout row-major without --tile-columns");
    if (shape.vector_count())
        return bad_argument(
            "coefficients by row or column are for two dimensions; give matrices in three");
    return Done{};
}

}  // namespace

std::uint64_t element_bytes(Element element) {
    return info(element).bytes;
}
const char *element_name(Element element) {
    return info(element).name;
}
Numbers numbers_of(Element element) {
    return info(element).numbers;
}

Result<Element> element_named(const std::string& name) {
    for (const auto& known : elements) {
        if (name == known.name) return known.element;
    }
    return bad_argument("unknown element \"" + name +
                        "\"; use f32, f64, c64, c128, i32, i64 or f16");
}

std::vector<std::string> element_names() {
    std::vector<std::string> names;
    for (const auto& known : elements) names.emplace_back(known.name);
    return names;
}

std::uint64_t strip_bytes(const MatrixShape& shape) {
    return round_up(shape.layout->strip_elements(shape) * element_bytes(shape.element),
                    disk_block_bytes);
}

MatrixShape tile_of(const MatrixShape& shape) {
    auto tile = shape;
    if (shape.tile_columns) tile.columns = shape.tile_columns;
    tile.tile_columns = 0;
    return tile;
}

std::uint64_t tile_bytes(const MatrixShape& shape) {
    return strip_bytes(tile_of(shape));
}

std::uint64_t slanted_rows_per_block(const MatrixShape& shape, std::uint64_t radius) {
    const auto least = std::max(skew_lanes, radius + 1);
    for (auto rows = least; rows < shape.strip_rows; ++rows) {
        if (shape.strip_rows % rows == 0) return rows;
    }
    return shape.strip_rows;
}

MatrixShape shape_of(const MatrixShape& shape, std::uint32_t number) {
    if (!shape.is_vector(number)) return shape;
    const bool by_row = number - shape.matrix_count() < shape.row_coefficient_count;
    const auto rows = by_row ? shape.rows : 1;
    return {.rows = rows,
            .columns = by_row ? 1 : shape.columns,
            .element = shape.element,
            .strip_rows = rows};
}

std::uint64_t vectors_bytes(const MatrixShape& shape) {
    return (shape.row_coefficient_count * shape.rows +
            shape.column_coefficient_count * shape.columns) *
           element_bytes(shape.element);
}

MatrixShape with_layout(MatrixShape shape, const Layout *layout, std::uint64_t skew) {
    shape.layout = layout;
    shape.skew = skew;
    return shape;
}

MatrixShape with_facing(MatrixShape stored, const Direction& facing) {
    stored.facing = facing;
    const auto rows = stored.strip_count() * stored.strip_rows;
    if (facing.up) stored.rows_before = rows - std::exchange(stored.rows, rows);
    const auto columns = stored.tiles_in_strip() * stored.tile_columns;
    if (facing.left && columns > 0)
        stored.columns_before = columns - std::exchange(stored.columns, columns);
    return stored;
}

bool lie_alike(const MatrixShape& one, const MatrixShape& other) {
    return one.layout == other.layout && one.skew == other.skew;
}

// From buffer to buffer it is an odd number of steps, so that the row blocks of one matrix begin at
// different places, too.
Slots slots_of(const MatrixShape& stored, const MatrixShape& worked, Placement placement) {
    const auto step = placement == Placement::staggered ? stagger_bytes : 0;
    const auto matrix_bytes = std::max(strip_bytes(stored), strip_bytes(worked)) + step;
    const auto count = stored.matrix_count();
    const auto more = count % 2 == 0 ? step : 0;
    return {.matrix_bytes = matrix_bytes, .buffer_bytes = count * matrix_bytes + more};
}

std::uint64_t rows_in_strip(const MatrixShape& shape, std::uint64_t index) {
    return std::min(shape.strip_rows, shape.rows - index * shape.strip_rows);
}

std::uint64_t default_strip_rows(const MatrixShape& shape) {
    const auto row_bytes = std::max<std::uint64_t>(shape.columns, 1) * element_bytes(shape.element);
    const auto wanted = (transfer_bytes_min + row_bytes - 1) / row_bytes;
    const auto rows = std::clamp<std::uint64_t>(wanted, 1, std::max<std::uint64_t>(shape.rows, 1));
    // Planes are large, and kernels take them one by one.
    return shape.line_columns ? rows : round_up(rows, skew_lanes);
}

namespace {

/* Numbers of bytes are far from wrapping: files are shorter than this. */
constexpr double bytes_max = 1ULL << 62;

Outcome check_bytes(const MatrixShape& shape) {
    const auto element = static_cast<double>(element_bytes(shape.element));
    const auto row = static_cast<double>(shape.row_elements()) * element;
    const auto strip = row * static_cast<double>(shape.strip_rows);
    if (shape.strip_rows > side_max || strip > bytes_max)
        return bad_argument("strips of " + std::to_string(shape.strip_rows) +
                            " rows are too large; leave their number out");
    const auto rows = static_cast<double>(shape.rows) + static_cast<double>(shape.strip_rows);
    // Data are there twice.
    if (2.0 * row * rows * shape.number_count() > bytes_max)
        return bad_argument("the matrices have more bytes than a disk can have");
    return Done{};
}

}  // namespace

Outcome check_shape(const MatrixShape& shape) {
    const auto sides = std::to_string(shape.rows) + " x " + std::to_string(shape.columns);
    if (shape.rows < 1 || shape.columns < 1 || shape.rows > side_max || shape.columns > side_max)
        return bad_argument("a matrix of " + sides + " cannot be; both sides are from 1 to 2^40");
    if (shape.row_coefficient_count > matrices_max || shape.column_coefficient_count > matrices_max)
        return bad_argument("there are at most " + std::to_string(matrices_max) +
                            " coefficients by row, and as many by column");
    const auto matrices = std::uint64_t{shape.data_count} + shape.coefficient_count;
    if (shape.data_count < 1 || matrices > matrices_max)
        return bad_argument(std::to_string(shape.data_count) + " data and " +
                            std::to_string(shape.coefficient_count) +
                            " coefficient matrices cannot be; at least 1 data matrix, at most " +
                            std::to_string(matrices_max) + " in all");
    if (shape.strip_rows < 1) return bad_argument("a strip has at least 1 row");
    const auto counted = check_bytes(shape);
    if (!counted) return counted;
    if (shape.tile_columns > shape.columns)
        return bad_argument("tiles of " + std::to_string(shape.tile_columns) +
                            " columns are wider than a row of " + std::to_string(shape.columns));
    if (shape.line_columns) {
        const auto planes = check_planes(shape);
        if (!planes) return planes;
    }
    return shape.layout->check ? shape.layout->check(shape) : Outcome(Done{});
}

void pack_strip(const MatrixShape& shape, const std::byte *rows, std::uint64_t row_count,
                std::byte *strip) {
    const auto used =
        shape.layout->pack(shape, rows, row_count, strip) * element_bytes(shape.element);
    std::memset(strip + used, 0, strip_bytes(shape) - used);
}

void unpack_strip(const MatrixShape& shape, const std::byte *strip, std::uint64_t row_count,
                  std::byte *rows) {
    shape.layout->unpack(shape, strip, row_count, rows);
}

}  // namespace lanewise::wavefront
