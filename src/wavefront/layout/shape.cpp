// SPDX-License-Identifier: BSD-3-Clause
//
// See shape.hpp.

#include "wavefront/layout/shape.hpp"

#include <algorithm>
#include <limits>

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
};
constexpr ElementInfo elements[] = {{Element::f32, "f32", 4},
                                    {Element::f64, "f64", 8},
                                    {Element::c64, "c64", 8},
                                    {Element::c128, "c128", 16}};

constexpr const char *layout_names[] = {"row-major", "skewed", "block", "frontier", "slanted"};
constexpr std::size_t layouts_on_disk = 4;

const ElementInfo& info(Element element) {
    return elements[static_cast<std::size_t>(element)];
}

Failure refuse(const std::string& sentence) {
    return {LW_ERR_ARGUMENT, sentence};
}

std::uint64_t round_up(std::uint64_t value, std::uint64_t step) {
    return (value + step - 1) / step * step;
}

}  // namespace

std::uint64_t element_bytes(Element element) {
    return info(element).bytes;
}
const char *element_name(Element element) {
    return info(element).name;
}

Result<Element> element_named(const std::string& name) {
    for (const auto& known : elements) {
        if (name == known.name) return known.element;
    }
    return refuse("unknown element \"" + name + "\"; use f32, f64, c64 or c128");
}

const char *layout_name(Layout layout) {
    return layout_names[static_cast<std::size_t>(layout)];
}

Result<Layout> layout_named(const std::string& name) {
    const auto *const end = layout_names + layouts_on_disk;
    const auto *const found =
        std::find_if(layout_names, end, [&](const char *known) { return name == known; });
    if (found != end) return static_cast<Layout>(found - std::begin(layout_names));
    return refuse("unknown layout \"" + name + "\"; use row-major, skewed, block or frontier");
}

std::uint64_t strip_bytes(const Shape& shape) {
    const bool blocks = shape.layout == Layout::block || shape.layout == Layout::frontier;
    const auto count =
        blocks ? band_elements(blocks_of(shape), 0) : shape.strip_rows * shape.row_elements();
    return round_up(count * element_bytes(shape.element), disk_block_bytes);
}

Shape tile_of(const Shape& shape) {
    auto tile = shape;
    if (shape.tile_columns) tile.columns = shape.tile_columns;
    tile.tile_columns = 0;
    return tile;
}

std::uint64_t tile_bytes(const Shape& shape) {
    return strip_bytes(tile_of(shape));
}

BlockShape blocks_of(const Shape& shape) {
    return {.rows = shape.strip_rows,
            .columns = shape.columns,
            .block_rows = shape.strip_rows,
            .block_columns = std::min(shape.strip_rows, shape.columns),
            .layout = shape.layout == Layout::block ? BlockLayout::block : BlockLayout::frontier,
            .element_bytes = element_bytes(shape.element)};
}

std::uint64_t slanted_band_rows(const Shape& shape, std::uint64_t thickness) {
    const auto least = std::max(skew_lanes, thickness + 1);
    for (auto rows = least; rows < shape.strip_rows; ++rows) {
        if (shape.strip_rows % rows == 0) return rows;
    }
    return shape.strip_rows;
}

Shape with_layout(Shape shape, Layout layout, std::uint64_t skew) {
    shape.layout = layout;
    shape.skew = skew;
    return shape;
}

bool lie_alike(const Shape& one, const Shape& other) {
    return one.layout == other.layout && one.skew == other.skew;
}

std::uint64_t slot_bytes(const Shape& stored, const Shape& worked) {
    return std::max(strip_bytes(stored), strip_bytes(worked));
}

std::uint64_t rows_in_strip(const Shape& shape, std::uint64_t index) {
    return std::min(shape.strip_rows, shape.rows - index * shape.strip_rows);
}

std::uint64_t default_strip_rows(const Shape& shape) {
    const auto row_bytes = std::max<std::uint64_t>(shape.columns, 1) * element_bytes(shape.element);
    const auto wanted = (transfer_bytes_min + row_bytes - 1) / row_bytes;
    return round_up(std::clamp<std::uint64_t>(wanted, 1, std::max<std::uint64_t>(shape.rows, 1)),
                    skew_lanes);
}

Outcome check_shape(const Shape& shape) {
    const auto sides = std::to_string(shape.rows) + " x " + std::to_string(shape.columns);
    if (shape.rows < 1 || shape.columns < 1 || shape.rows > side_max || shape.columns > side_max)
        return refuse("a matrix of " + sides + " cannot be; both sides are from 1 to 2^40");
    if (shape.data_count < 1 || shape.matrix_count() > matrices_max)
        return refuse(std::to_string(shape.data_count) + " data and " +
                      std::to_string(shape.coefficient_count) +
                      " coefficient matrices cannot be; at least 1 data matrix, at most " +
                      std::to_string(matrices_max) + " in all");
    if (shape.strip_rows < 1) return refuse("a strip has at least 1 row");
    if (shape.tile_columns > shape.columns)
        return refuse("tiles of " + std::to_string(shape.tile_columns) +
                      " columns are wider than a row of " + std::to_string(shape.columns));
    if (shape.layout != Layout::skewed) return Done{};
    if (shape.strip_rows % skew_lanes != 0)
        return refuse("skewed strips are multiples of 8 rows, not " +
                      std::to_string(shape.strip_rows));
    if (shape.element != Element::f32 && shape.element != Element::f64)
        return refuse(std::string("the skewed layout holds f32 or f64, not ") +
                      element_name(shape.element) + "; use the row-major layout");
    return Done{};
}

}  // namespace lanewise::wavefront
