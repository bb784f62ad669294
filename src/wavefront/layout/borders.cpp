// SPDX-License-Identifier: BSD-3-Clause
//
// See borders.hpp.

#include "wavefront/layout/borders.hpp"

#include <algorithm>
#include <vector>

#include "base/nearest.hpp"

namespace lanewise::wavefront {
namespace {

struct Kind {
    BorderKind kind;
    const char *name;
};
constexpr Kind kinds[] = {{BorderKind::fixed, "fixed"},
                          {BorderKind::neumann, "neumann"},
                          {BorderKind::periodic, "periodic"}};

using Sides = std::vector<BorderKind Borders::*>;
struct Place {
    const char *name;
    Sides sides;
    Dimensions least = Dimensions::two;
};
const std::vector<Place>& places() {
    static const std::vector<Place> known = {
        {"top", {&Borders::top}},
        {"bottom", {&Borders::bottom}},
        {"left", {&Borders::left}},
        {"right", {&Borders::right}},
        {"rows", {&Borders::top, &Borders::bottom}},
        {"columns", {&Borders::left, &Borders::right}},
        {"front", {&Borders::front}, Dimensions::three},
        {"back", {&Borders::back}, Dimensions::three},
        {"lines", {&Borders::front, &Borders::back}, Dimensions::three},
    };
    return known;
}

Sides all_sides(Dimensions dimensions) {
    Sides sides;
    for (const auto& place : places()) {
        if (place.sides.size() == 1 && place.least <= dimensions) sides.push_back(place.sides[0]);
    }
    return sides;
}

const char *kind_name(BorderKind kind) {
    for (const auto& known : kinds) {
        if (kind == known.kind) return known.name;
    }
    return "";
}

/* One of `names`, by the index at which it stands there. */
Result<std::size_t> index_of(const char *what, const std::string& name,
                             const std::vector<std::string>& names) {
    std::string all;
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (name == names[i]) return i;
        all += (all.empty() ? "" : ", ") + names[i];
    }
    const auto near = nearest_name(name, names);
    return bad_argument("unknown " + std::string(what) + " \"" + name + "\"; " +
                        (near.empty() ? "use one of " + all : "did you mean " + near + "?"));
}

Result<Sides> sides_named(const std::string& name, Dimensions dimensions) {
    std::vector<std::string> names;
    for (const auto& place : places()) names.emplace_back(place.name);
    const auto side = index_of("side", name, names);
    if (!side) return side.failure();
    const auto& place = places()[*side];
    if (place.least <= dimensions) return place.sides;
    return bad_argument("the border at " + name +
                        " is one of three dimensions; this store has two, use top, bottom, left, "
                        "right, rows or columns");
}

// "left=neumann", or "neumann" for all sides.
Outcome set(const std::string& word, Dimensions dimensions, Borders& borders) {
    const auto equals = word.find('=');
    const bool all = equals == std::string::npos;
    const auto sides = all ? Result<Sides>(all_sides(dimensions))
                           : sides_named(word.substr(0, equals), dimensions);
    if (!sides) return sides.failure();
    std::vector<std::string> kind_names;
    for (const auto& known : kinds) kind_names.emplace_back(known.name);
    const auto kind = index_of("border", all ? word : word.substr(equals + 1), kind_names);
    if (!kind) return kind.failure();
    for (const auto side : *sides) borders.*side = kinds[*kind].kind;
    return Done{};
}

// A side that follows the opposite one has to be followed by it.
Outcome check_pair(BorderKind one, BorderKind other, const char *names) {
    const bool periodic = one == BorderKind::periodic;
    if (periodic == (other == BorderKind::periodic)) return Done{};
    return bad_argument(std::string("borders at ") + names +
                        " are periodic both or neither, as each is the continuation of the other");
}

Outcome check_side(const char *what, std::uint64_t cells, std::uint64_t radius) {
    if (cells >= 3 * radius) return Done{};
    return bad_argument("borders that are not fixed need " + std::to_string(3 * radius) + " " +
                        what + " or more at a stencil radius of " + std::to_string(radius) +
                        "; the store has " + std::to_string(cells));
}

}  // namespace

bool are_fixed(const Borders& borders) {
    return borders == Borders{};
}

bool rows_are_periodic(const Borders& borders) {
    return borders.top == BorderKind::periodic;
}

Result<Borders> parse_borders(const std::string& text, Dimensions dimensions) {
    Borders borders;
    for (std::size_t begin = 0; begin <= text.size();) {
        const auto comma = std::min(text.find(',', begin), text.size());
        const auto known = set(text.substr(begin, comma - begin), dimensions, borders);
        if (!known) return known.failure();
        begin = comma + 1;
    }
    const auto rows = check_pair(borders.top, borders.bottom, "the top and the bottom");
    if (!rows) return rows.failure();
    const auto columns = check_pair(borders.left, borders.right, "the left and the right");
    if (!columns) return columns.failure();
    const auto lines = check_pair(borders.front, borders.back, "the front and the back");
    if (!lines) return lines.failure();
    return borders;
}

std::string borders_text(const Borders& borders, Dimensions dimensions) {
    const auto sides = all_sides(dimensions);
    const bool alike = std::all_of(sides.begin(), sides.end(), [&](BorderKind Borders::*side) {
        return borders.*side == borders.top;
    });
    if (alike) return kind_name(borders.top);
    std::string text;
    for (const auto& place : places()) {
        const auto kind = borders.*place.sides.front();
        if (place.sides.size() > 1 || kind == BorderKind::fixed) continue;
        if (!text.empty()) text += ',';
        text += place.name;
        text += '=';
        text += kind_name(kind);
    }
    return text;
}

Outcome check_borders(const Borders& borders, const MatrixShape& stored, std::uint64_t radius) {
    if (are_fixed(borders)) return Done{};
    if (stored.tile_columns)
        return bad_argument(
            "borders of a store in tiles are fixed, as a parallelogram does not hold both ends of "
            "a row; convert the store with --tile-columns 0");
    const bool planes = stored.line_columns > 0;
    const auto rows = check_side(planes ? "planes" : "rows", stored.rows, radius);
    if (!rows) return rows;
    if (planes) {
        const auto lines = check_side("lines", stored.columns / stored.line_columns, radius);
        if (!lines) return lines;
    }
    const auto line = planes ? stored.line_columns : stored.columns;
    const auto columns = check_side("columns", line, radius);
    if (!columns) return columns;
    if (stored.strip_rows >= 2 * radius) return Done{};
    return bad_argument("borders that are not fixed need strips of " + std::to_string(2 * radius) +
                        (planes ? " planes" : " rows") + " or more at a stencil radius of " +
                        std::to_string(radius) + "; convert the store with --strip-rows " +
                        std::to_string(2 * radius));
}

std::uint64_t iterations_of_pass(const Borders& borders, std::uint64_t otherwise) {
    return rows_are_periodic(borders) ? 1 : otherwise;
}

// Where waves go up, padding may leave one of the border rows for the second strip.
std::uint64_t held_strips(const Borders& borders, const MatrixShape& shape) {
    constexpr std::uint64_t reached = 2;
    return rows_are_periodic(borders) ? std::min(reached, shape.strip_count()) : 0;
}

// Border rows at both ends and what is kept of those beside them, and while they are read a strip
// as it lies on disk and as rows.
std::uint64_t edges_bytes(const Borders& borders, const MatrixShape& stored, std::uint64_t radius) {
    if (are_fixed(borders)) return 0;
    const auto rows = radius * 3 * stored.data_count + stored.strip_rows;
    return rows * stored.columns * element_bytes(stored.element) + 2 * strip_bytes(stored);
}

}  // namespace lanewise::wavefront
