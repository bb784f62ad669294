// SPDX-License-Identifier: BSD-3-Clause

#include "verbs/faults/census.hpp"

#include <fmt/format.h>

#include <vector>

namespace lanewise::verbs::faults {

void Census::saw(Place place, std::string_view name) {
    ++counts_[std::string(name_of(place))].try_emplace(std::string(name)).first->second;
}

void Census::left(std::string_view kind, std::uint64_t count) {
    counts_["left"].try_emplace(std::string(kind)).first->second += count;
}

std::string Census::line() const {
    std::vector<std::string> parts;
    for (const auto& [place, counts] : counts_) {
        std::vector<std::string> entries;
        for (const auto& [name, count] : counts) {
            entries.push_back(fmt::format("\"{}\": {}", name, count));
        }
        parts.push_back(fmt::format("\"{}\": {{{}}}", place, fmt::join(entries, ", ")));
    }
    return fmt::format("{{{}}}\n", fmt::join(parts, ", "));
}

}  // namespace lanewise::verbs::faults
