// SPDX-License-Identifier: BSD-3-Clause
//
// The list of all operations, and the closest name to a mistyped one.

#include <algorithm>
#include <set>
#include <string_view>

#include "measure/benchmarks/benchmark.hpp"

namespace lanewise::measure {
namespace {

// Levenshtein's distance: fewest insertions, deletions and replacements.
std::size_t distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const auto replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
            diagonal = row[j];
            row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
        }
    }
    return row.back();
}

std::vector<Entry> build() {
    std::vector<Entry> all;
    const auto append = [&all](std::span<const Entry> entries) {
        all.insert(all.end(), entries.begin(), entries.end());
    };
    const auto blocking = blocking_operations();
    append(blocking);
    append(nonblocking_operations(blocking));
    append(kernels());
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
    std::string best;
    std::size_t nearest = name.size() / 3 + 2;
    for (const auto& entry : registry()) {
        const auto far = distance(name, entry.name);
        if (far >= nearest) continue;
        nearest = far;
        best = entry.name;
    }
    return best;
}

}  // namespace lanewise::measure
