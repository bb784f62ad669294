// SPDX-License-Identifier: BSD-3-Clause
//
// The layouts that a store may have, one line each.

#include <vector>

#include "base/nearest.hpp"
#include "wavefront/layout/layout.hpp"

#define LANEWISE_STORE_LAYOUTS(LAYOUT) \
    LAYOUT(row_major)                  \
    LAYOUT(skewed)                     \
    LAYOUT(block)                      \
    LAYOUT(frontier)                   \
    /* the next one */

namespace lanewise::wavefront {
namespace layouts {
#define DECLARE(layout) extern const Layout layout;
LANEWISE_STORE_LAYOUTS(DECLARE)
}  // namespace layouts

namespace {

#define POINT_AT(layout) &layouts::layout,
constexpr const Layout *all[] = {LANEWISE_STORE_LAYOUTS(POINT_AT)};

}  // namespace

std::span<const Layout *const> store_layouts() {
    return all;
}

std::string store_layout_names() {
    std::string names;
    for (const auto *const layout : all) {
        if (layout != *std::begin(all)) names += layout == *std::rbegin(all) ? " or " : ", ";
        names += layout->name;
    }
    return names;
}

Result<const Layout *> layout_named(const std::string& name) {
    std::vector<std::string> known;
    for (const auto *const layout : all) {
        if (name == layout->name) return layout;
        known.emplace_back(layout->name);
    }
    const auto near = nearest_name(name, known);
    return Failure{LW_ERR_ARGUMENT, "unknown layout \"" + name + "\"; " +
                                        (near.empty() ? "use " + store_layout_names()
                                                      : "did you mean " + near + "?")};
}

}  // namespace lanewise::wavefront
