// SPDX-License-Identifier: BSD-3-Clause
//
// See names.hpp.

#include "measure/names.hpp"

namespace lanewise::measure {

std::string listed(std::span<const std::string> names) {
    std::string text;
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (i > 0) text += i + 1 < names.size() ? ", " : " or ";
        text += names[i];
    }
    return text;
}

}  // namespace lanewise::measure
