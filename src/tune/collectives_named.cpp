// SPDX-License-Identifier: BSD-3-Clause
//
// See collectives_named.hpp.

#include "tune/collectives_named.hpp"

#include <algorithm>

#include "measure/harness/operation.hpp"

namespace lanewise::tune {

using collectives::Collective;
using collectives::Operation;

std::vector<Collective> measured_collectives() {
    std::vector<Collective> found;
    for (int i = 0; i < collectives::collective_count; ++i) {
        const auto collective = static_cast<Collective>(i);
        if (!is_neighborhood(collective)) found.push_back(collective);
    }
    return found;
}

namespace {

Collective collective_of(Collective collective) {
    return collective;
}
Collective collective_of(Operation operation) {
    return operation.collective;
}

/* "use one of barrier, bcast, ..." */
std::string remedy() {
    std::string names;
    for (const auto collective : measured_collectives()) {
        names += (names.empty() ? "" : ", ") + std::string(name_of(collective));
    }
    return "use one of " + names;
}

std::string why_unmeasured(const std::string& name) {
    return name +
           " depends on the topology of the program's communicator, so it is not tuned; write its "
           "rule by hand: docs/tune.md shows how";
}

/* What `named` makes of each name. */
template <typename Named, typename Find>
Result<std::vector<Named>> all_named(const std::vector<std::string>& names, const Find& find) {
    std::vector<Named> found;
    for (const auto& name : names) {
        const auto one = find(name);
        if (!one) {
            const auto near = measure::suggest_operation(name);
            return Failure{LW_ERR_ARGUMENT,
                           "unknown collective \"" + name + "\"; " +
                               (find(near) ? "did you mean " + near + "?" : remedy())};
        }
        if (is_neighborhood(collective_of(*one)))
            return Failure{LW_ERR_ARGUMENT, why_unmeasured(name)};
        if (std::find(found.begin(), found.end(), *one) != found.end())
            return Failure{LW_ERR_ARGUMENT,
                           "collective \"" + name + "\" is named twice; name it once"};
        found.push_back(*one);
    }
    if (!found.empty()) return found;
    const auto all = measured_collectives();
    return std::vector<Named>(all.begin(), all.end());
}

}  // namespace

Result<std::vector<Collective>> collectives_named(const std::vector<std::string>& names) {
    return all_named<Collective>(names, collectives::collective_named);
}

Result<std::vector<Operation>> operations_named(const std::vector<std::string>& names) {
    return all_named<Operation>(names, collectives::operation_named);
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

}  // namespace lanewise::tune
