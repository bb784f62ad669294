// SPDX-License-Identifier: BSD-3-Clause
//
// Tables of loops: which operations are measured by the same one.

#pragma once

#include <algorithm>
#include <array>
#include <string_view>

#include "measure/definitions/definition.hpp"

namespace lanewise::measure {

/* Operations that a tool measures alike; the names after the last are empty. */
struct Family {
    const Loop *loop;
    std::array<std::string_view, 16> operations;
};

template <typename Families>
const Loop *loop_in(const Families& families, std::string_view operation) {
    if (operation.empty()) return nullptr;
    for (const auto& family : families) {
        const auto& names = family.operations;
        if (std::find(names.begin(), names.end(), operation) != names.end()) return family.loop;
    }
    return nullptr;
}

/* The collective of which `operation` is the nonblocking or persistent form, else nothing. */
std::string_view blocking_form(std::string_view operation);

}  // namespace lanewise::measure
