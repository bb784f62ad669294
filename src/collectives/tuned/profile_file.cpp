// SPDX-License-Identifier: BSD-3-Clause

#include "collectives/tuned/profile_file.hpp"

#include <algorithm>
#include <cstdlib>
#include <set>
#include <string_view>

#include "base/file.hpp"
#include "base/json.hpp"

namespace lanewise::tuned {
namespace {

double seconds(std::int64_t ns) {
    return 1e-9 * static_cast<double>(ns);
}

Json site_of(const CallSite& site) {
    Json entry = {{"object", site.object}, {"offset", site.offset}};
    if (!site.symbol.empty()) entry["symbol"] = site.symbol;
    return entry;
}

Json processes_of(const std::vector<ProcessSummary>& all) {
    Json entries = Json::array();
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
        const auto& one = all[rank];
        entries.push_back({{"rank", rank},
                           {"host", one.host.data()},
                           {"elapsed_s", seconds(one.elapsed_ns)},
                           {"in_calls_s", seconds(one.in_calls_ns)}});
    }
    return entries;
}

Json clock_of(const std::vector<ProcessSummary>& all) {
    std::set<std::string_view> hosts;
    std::int64_t drift_ns = 0;
    for (const auto& one : all) {
        hosts.insert(one.host.data());
        drift_ns = std::max(drift_ns, std::abs(one.drift_ns));
    }
    return {{"hosts", hosts.size()}, {"drift_s", seconds(drift_ns)}};
}

Json counts_of(const ProfileContent& content) {
    std::uint64_t recorded = 0;
    std::uint64_t unplaced = 0;
    Unrecorded sum;
    for (const auto& one : content.processes) {
        recorded += one.recorded;
        unplaced += one.unplaced;
        sum.nonblocking += one.unrecorded.nonblocking;
        sum.between_groups += one.unrecorded.between_groups;
        sum.forgotten += one.unrecorded.forgotten;
    }
    const auto left_out = content.incomplete_records + content.mismatched_records;
    return {{"attributed", recorded - left_out},
            {"one_in", std::uint64_t{1} << content.halvings},
            {"forgotten", sum.forgotten},
            {"nonblocking", sum.nonblocking},
            {"intercommunicator", sum.between_groups},
            {"incomplete", content.incomplete_records},
            {"mismatched", content.mismatched_records},
            {"unplaced", unplaced}};
}

Json part_of(const profile::Part& part, const profile::Sums& sums) {
    return {{"rank", part.rank},
            {"site", part.site},
            {"calls", sums.calls},
            {"bytes", sums.bytes},
            {"waiting_s", seconds(sums.waiting_ns)},
            {"transfer_s", seconds(sums.transfer_ns)},
            {"lateness_s", seconds(sums.lateness_ns)},
            {"awaited_s", seconds(sums.awaited_ns)},
            {"last_calls", sums.last_calls}};
}

/* Parts are in the order of their places. */
Json places_of(const std::map<profile::Part, profile::Sums>& parts) {
    Json places = Json::array();
    const profile::Place *latest = nullptr;
    for (const auto& [part, sums] : parts) {
        if (!latest || *latest != part.place) {
            places.push_back(
                {{"operation", profile::name_of(part.place.collective, part.place.form)},
                 {"site", part.place.site},
                 {"ranks", Json::array()}});
        }
        latest = &part.place;
        places.back()["ranks"].push_back(part_of(part, sums));
    }
    return places;
}

}  // namespace

lanewise::Outcome write_profile(const std::string& path, const ProfileContent& content) {
    Json sites = Json::array();
    for (const auto& site : content.sites) sites.push_back(site_of(site));
    const Json file = {{"schema", "lanewise-profile"},
                       {"version", 1},
                       {"lanewise", LANEWISE_VERSION},
                       {"clock", clock_of(content.processes)},
                       {"calls", counts_of(content)},
                       {"processes", processes_of(content.processes)},
                       {"sites", sites},
                       {"places", places_of(content.parts)}};
    return write_file(path, json_text(file, 1) + "\n");
}

}  // namespace lanewise::tuned
