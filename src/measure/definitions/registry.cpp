// SPDX-License-Identifier: BSD-3-Clause
//
// The definitions, one line each.

#include "measure/definitions/families.hpp"

#define LANEWISE_DEFINITIONS(X) \
    X(imb_definition)           \
    X(netpipe_definition)       \
    X(osu_definition)           \
    /* the next one */

namespace lanewise::measure {

#define LANEWISE_DECLARE(definition) extern const Definition definition;
LANEWISE_DEFINITIONS(LANEWISE_DECLARE)
#undef LANEWISE_DECLARE

std::span<const Definition *const> definitions() {
#define LANEWISE_LIST(definition) &(definition),
    static constexpr const Definition *all[] = {LANEWISE_DEFINITIONS(LANEWISE_LIST)};
#undef LANEWISE_LIST
    return all;
}

std::string_view blocking_form(std::string_view operation) {
    for (const std::string_view prefix : {"persistent_", "i"}) {
        if (operation.starts_with(prefix)) return operation.substr(prefix.size());
    }
    return {};
}

}  // namespace lanewise::measure
