// SPDX-License-Identifier: BSD-3-Clause
//
// The methods of a registry by name and by number, and their names for a message.

#pragma once

#include <span>
#include <string>
#include <vector>

namespace lanewise::measure {

/* "max, root, global or tasks". */
std::string listed(std::span<const std::string> names);

/* The names of methods that are kept by pointer. */
template <typename Method>
std::vector<std::string> names_of(std::span<const Method *const> methods) {
    std::vector<std::string> names;
    for (const auto *method : methods) names.emplace_back(method->name);
    return names;
}

/* The method with this number; null where there is none. */
template <typename Method, typename Id>
const Method *method_of(std::span<const Method *const> methods, Id id) {
    const auto place = static_cast<std::size_t>(id);
    return place < methods.size() ? methods[place] : nullptr;
}

/* Sets `id` to the number of the method called `name`; false where there is none. */
template <typename Method, typename Id>
bool find_id(std::span<const Method *const> methods, const std::string& name, Id& id) {
    for (std::size_t place = 0; place < methods.size(); ++place) {
        if (name != methods[place]->name) continue;
        id = static_cast<Id>(place);
        return true;
    }
    return false;
}

}  // namespace lanewise::measure
