// SPDX-License-Identifier: BSD-3-Clause
//
// See attribution.hpp. One pass finds who came first and who came last; these decide the shares of
// all ranks. Where each rank waits for those before it, or for its neighbors, they are others for
// each.

#include "collectives/profile/attribution.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

namespace lanewise::profile {
namespace {

bool waits(WaitsFor rule, bool is_root) {
    switch (rule) {
        case WaitsFor::everybody: return true;
        case WaitsFor::the_root: return !is_root;
        case WaitsFor::the_others: return is_root;
        case WaitsFor::the_lower:
        case WaitsFor::its_sources: break;
    }
    return false;
}

bool is_waited_for(WaitsFor rule, bool is_root) {
    return rule == WaitsFor::everybody || !waits(rule, is_root);
}

auto call_of(const Record& record) {
    return std::tie(record.communicator, record.call);
}

bool is_whole(std::span<const Record> call) {
    const auto members = static_cast<std::size_t>(call.front().member_count);
    if (call.size() != members) return false;
    for (std::size_t m = 0; m < members; ++m) {
        if (call[m].member != static_cast<std::int32_t>(m)) return false;
    }
    return true;
}

bool agrees(std::span<const Record> call) {
    const auto& first = call.front();
    return std::ranges::all_of(call, [&](const Record& one) {
        return one.collective == first.collective && one.form == first.form &&
               one.root == first.root && one.member_count == first.member_count;
    });
}

/* The site of most members; of several that are as frequent, the one that comes first. */
std::uint32_t usual_site(std::span<const Record> call) {
    std::map<std::uint32_t, std::size_t> counts;
    for (const auto& record : call) ++counts[record.site];
    const auto fewer = [&](const Record& a, const Record& b) {
        return counts[a.site] < counts[b.site];
    };
    return std::ranges::max_element(call, fewer)->site;
}

/* The finalizer of SplitMix64 (Steele, Lea and Flood, 2014): neighbours come out unrelated. */
std::uint64_t mixed(std::uint64_t number) {
    number += 0x9e3779b97f4a7c15U;
    number = (number ^ (number >> 30)) * 0xbf58476d1ce4e5b9U;
    number = (number ^ (number >> 27)) * 0x94d049bb133111ebU;
    return number ^ (number >> 31);
}

std::vector<Share> shares_of(std::span<const Record> call, const Neighborhoods& neighborhoods) {
    std::vector<CallTimes> times;
    for (const auto& record : call) times.push_back(record.times);
    const auto& first = call.front();
    const auto rule = waits_for(first.collective);
    if (rule != WaitsFor::its_sources) return attribute(rule, first.root, times);
    const auto known = neighborhoods.find(first.communicator);
    return attribute(known == neighborhoods.end() ? Sources() : known->second, times);
}

void add_call(std::span<const Record> call, const Neighborhoods& neighborhoods,
              std::map<Part, Sums>& parts) {
    const auto& first = call.front();
    const auto shares = shares_of(call, neighborhoods);
    const Place place{first.collective, usual_site(call), first.form};
    for (std::size_t m = 0; m < call.size(); ++m) {
        const auto& share = shares[m];
        parts[{place, call[m].rank, call[m].site}] += {1,
                                                       share.awaited_ns > 0 ? 1U : 0U,
                                                       call[m].bytes,
                                                       share.waiting_ns,
                                                       share.transfer_ns,
                                                       share.lateness_ns,
                                                       share.awaited_ns};
    }
}

/* What a rank waits in a call, for one that entered at a time; the rest is transfer. */
std::int64_t divide(const CallTimes& times, std::int64_t awaited_entry_ns, Share& share) {
    const auto asked_ns = times.entry_ns + times.asked_after_ns;
    const auto open_ns = std::max<std::int64_t>(0, times.exit_ns - asked_ns);
    const auto in_calls_ns = std::max<std::int64_t>(0, open_ns - times.computing_ns);
    const auto until_ns = std::min(times.exit_ns, awaited_entry_ns);
    share.waiting_ns = std::max<std::int64_t>(0, until_ns - asked_ns);
    if (in_calls_ns < open_ns) {
        const double part = static_cast<double>(in_calls_ns) / static_cast<double>(open_ns);
        share.waiting_ns = std::llround(part * static_cast<double>(share.waiting_ns));
    }
    share.transfer_ns = times.starting_ns + in_calls_ns - share.waiting_ns;
    return share.waiting_ns;
}

std::vector<Share> attribute_to_lower(std::span<const CallTimes> times) {
    std::vector<Share> shares(times.size());
    std::size_t last = 0; /* of those before */
    for (std::size_t m = 0; m < times.size(); ++m) {
        const auto awaited_ns = m > 0 ? times[last].entry_ns : times[m].entry_ns;
        shares[last].awaited_ns += divide(times[m], awaited_ns, shares[m]);
        if (times[m].entry_ns > times[last].entry_ns) last = m;
    }
    for (auto m = times.size(), first = m; m-- > 0;) {
        // Ranks after this one wait for it.
        if (first < times.size()) {
            shares[m].lateness_ns =
                std::max<std::int64_t>(0, times[m].entry_ns - times[first].entry_ns);
        }
        if (first == times.size() || times[m].entry_ns < times[first].entry_ns) first = m;
    }
    return shares;
}

}  // namespace

std::string name_of(collectives::Collective collective, Form form) {
    const std::string name = collectives::name_of(collective);
    switch (form) {
        case Form::blocking: return name;
        case Form::nonblocking: return "i" + name;
        case Form::persistent: break;
    }
    return "persistent_" + name;
}

std::vector<Share> attribute(WaitsFor rule, int root, std::span<const CallTimes> times) {
    if (rule == WaitsFor::the_lower) return attribute_to_lower(times);
    const auto is_root = [&](std::size_t m) { return m == static_cast<std::size_t>(root); };
    const auto none = times.size();
    std::size_t first = none; /* of those that wait */
    std::size_t last = none;  /* of those that are waited for */
    for (std::size_t m = 0; m < times.size(); ++m) {
        const auto entry_ns = times[m].entry_ns;
        if (waits(rule, is_root(m)) && (first == none || entry_ns < times[first].entry_ns)) {
            first = m;
        }
        if (is_waited_for(rule, is_root(m)) && (last == none || entry_ns > times[last].entry_ns)) {
            last = m;
        }
    }
    std::vector<Share> shares(times.size());
    for (std::size_t m = 0; m < times.size(); ++m) {
        const auto& own = times[m];
        auto& share = shares[m];
        const bool waiting = last != none && waits(rule, is_root(m));
        const auto waited_ns = divide(own, waiting ? times[last].entry_ns : own.entry_ns, share);
        if (waiting) shares[last].awaited_ns += waited_ns;
        if (first != none && is_waited_for(rule, is_root(m))) {
            share.lateness_ns = std::max<std::int64_t>(0, own.entry_ns - times[first].entry_ns);
        }
    }
    return shares;
}

std::vector<Share> attribute(const Sources& sources, std::span<const CallTimes> times) {
    std::vector<Share> shares(times.size());
    constexpr auto never = std::numeric_limits<std::int64_t>::max();
    std::vector<std::int64_t> first_entry_ns(times.size(), never); /* of those that wait for it */
    for (std::size_t m = 0; m < times.size(); ++m) {
        const auto& own = times[m];
        std::size_t last = m;
        for (const auto source : m < sources.size() ? sources[m] : std::vector<std::int32_t>()) {
            const auto s = static_cast<std::size_t>(source);
            if (s == m) continue;
            first_entry_ns[s] = std::min(first_entry_ns[s], own.entry_ns);
            const auto later_ns = times[s].entry_ns - times[last].entry_ns;
            if (last == m || later_ns > 0 || (later_ns == 0 && s < last)) last = s;
        }
        const auto waited_ns = divide(own, times[last].entry_ns, shares[m]);
        if (last != m) shares[last].awaited_ns += waited_ns;
    }
    for (std::size_t m = 0; m < times.size(); ++m) {
        if (first_entry_ns[m] == never) continue;
        shares[m].lateness_ns = std::max<std::int64_t>(0, times[m].entry_ns - first_entry_ns[m]);
    }
    return shares;
}

Sums& Sums::operator+=(const Sums& other) {
    calls += other.calls;
    last_calls += other.last_calls;
    bytes += other.bytes;
    waiting_ns += other.waiting_ns;
    transfer_ns += other.transfer_ns;
    lateness_ns += other.lateness_ns;
    awaited_ns += other.awaited_ns;
    return *this;
}

Attribution attribute(std::vector<Record> records, const Neighborhoods& neighborhoods) {
    std::ranges::sort(records, [](const Record& a, const Record& b) {
        return std::tie(a.communicator, a.call, a.member) <
               std::tie(b.communicator, b.call, b.member);
    });
    Attribution found;
    for (auto begin = records.begin(); begin != records.end();) {
        const auto end = std::find_if(begin, records.end(), [&](const Record& record) {
            return call_of(record) != call_of(*begin);
        });
        const std::span call(begin, end);
        if (!agrees(call)) {
            found.mismatched_records += call.size();
        } else if (!is_whole(call)) {
            found.incomplete_records += call.size();
        } else {
            add_call(call, neighborhoods, found.parts);
        }
        begin = end;
    }
    return found;
}

bool is_chosen(std::uint64_t communicator, std::uint64_t call, int halvings) {
    return (mixed(communicator + call) & ((std::uint64_t{1} << halvings) - 1)) == 0;
}

}  // namespace lanewise::profile
