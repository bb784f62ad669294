// SPDX-License-Identifier: BSD-3-Clause
//
// See collectives_named.hpp.

#include "tools/contest/collectives_named.hpp"

#include <algorithm>

#include "measure/operation.hpp"

namespace lanewise::tools {

using collectives::Collective;

Result<std::vector<Collective>> collectives_named(const std::vector<std::string>& names) {
    std::vector<Collective> found;
    for (const auto& name : names) {
        const auto collective = collectives::collective_named(name);
        if (!collective) {
            const auto near = measure::suggest_operation(name);
            const bool known = collectives::collective_named(near).has_value();
            return Failure{LW_ERR_ARGUMENT,
                           "unknown collective \"" + name + "\"; " +
                               (known ? "did you mean " + near + "?" : "--list names them")};
        }
        if (std::find(found.begin(), found.end(), *collective) != found.end())
            return Failure{LW_ERR_ARGUMENT,
                           "collective \"" + name + "\" is named twice; once will do"};
        found.push_back(*collective);
    }
    if (!found.empty()) return found;
    for (int i = 0; i < collectives::collective_count; ++i) {
        found.push_back(static_cast<Collective>(i));
    }
    return found;
}

bool is_reduction(Collective collective) {
    return collective == Collective::reduce || collective == Collective::allreduce ||
           collective == Collective::reduce_scatter;
}

bool is_rooted(Collective collective) {
    switch (collective) {
        case Collective::bcast:
        case Collective::scatter:
        case Collective::scatterv:
        case Collective::gather:
        case Collective::gatherv:
        case Collective::reduce:
            return true;
        default:
            return false;
    }
}

std::vector<std::uint64_t> sizes_for(Collective collective,
                                     const std::vector<std::uint64_t>& sizes_bytes) {
    if (collective == Collective::barrier) return {0};
    std::vector<std::uint64_t> found;
    for (const auto bytes : sizes_bytes) {
        if (!is_reduction(collective) || bytes % 4 == 0) found.push_back(bytes);
    }
    return found;
}

}  // namespace lanewise::tools
