// SPDX-License-Identifier: BSD-3-Clause
//
// The list of all operations.

#include <algorithm>
#include <set>

#include "base/nearest.hpp"
#include "measure/benchmarks/benchmark.hpp"

namespace lanewise::measure {
namespace {

std::vector<Entry> build() {
    std::vector<Entry> all;
    const auto append = [&all](std::span<const Entry> entries) {
        all.insert(all.end(), entries.begin(), entries.end());
    };
    const auto blocking = blocking_operations();
    append(blocking);
    append(nonblocking_operations(blocking));
    append(benchmarks());
    return all;
}

}  // namespace

std::vector<Entry> blocking_operations() {
    std::vector<Entry> all(rooted_operations().begin(), rooted_operations().end());
    const auto symmetric = symmetric_operations();
    all.insert(all.end(), symmetric.begin(), symmetric.end());
    return all;
}

// Names outlive the entries that point to them.
Entry derived(const std::string& prefix, const Entry& from) {
    static std::set<std::string> names;
    Entry entry = from;
    entry.name = names.insert(prefix + from.name).first->c_str();
    entry.own = nullptr;
    return entry;
}

const std::vector<Entry>& registry() {
    static const std::vector<Entry> entries = build();
    return entries;
}

const Entry *find_entry(const std::string& name) {
    const auto& entries = registry();
    const auto found = std::find_if(entries.begin(), entries.end(),
                                    [&](const Entry& entry) { return name == entry.name; });
    return found == entries.end() ? nullptr : &*found;
}

std::string suggest_operation(const std::string& name) {
    std::vector<std::string> known;
    for (const auto& entry : registry()) known.emplace_back(entry.name);
    return nearest_name(name, known);
}

}  // namespace lanewise::measure
