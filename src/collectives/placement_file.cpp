// SPDX-License-Identifier: BSD-3-Clause

#include "collectives/placement_file.hpp"

#include <cstdlib>

#include "base/file.hpp"
#include "base/json_object.hpp"

namespace lanewise::collectives {
namespace {

constexpr int placement_version = 1;

void read_hosts(JsonObject& top, PlacementFile& read) {
    top.each("hosts", [&](JsonObject& item) {
        const auto host = item.string("host");
        if (item.has("address")) item.string("address");
        if (!read.site_of_host.emplace(host, item.string("site")).second) {
            item.refuse("names host '" + host + "' again");
        }
    });
}

void read_ranks(JsonObject& top, PlacementFile& read) {
    top.each("ranks", [&](JsonObject& item) {
        const auto rank = item.count<int>("rank");
        const Location location{item.string("host"), item.string("site")};
        if (!read.of_rank.emplace(rank, location).second) {
            item.refuse("names rank " + std::to_string(rank) + " again");
        }
    });
}

/* Of a platform nothing else matters here. It has no sites unless somebody measured lanes or
   wrote them by hand. */
PlacementFile read_platform(JsonObject& top) {
    top.ignore_other_keys();
    PlacementFile found;
    if (!top.has("sites")) return found;
    const auto hosts = top.has("hosts") ? top.strings("hosts") : std::vector<std::string>{};
    const auto sites = top.strings("sites");
    if (!sites.empty() && sites.size() != hosts.size()) {
        top.refuse("sites", "does not have one site for each host");
    }
    for (std::size_t rank = 0; rank < sites.size(); ++rank) {
        const Location location{hosts[rank], sites[rank]};
        found.of_rank.emplace(static_cast<int>(rank), location);
        const auto [at, first] = found.site_of_host.emplace(location.host, location.site);
        if (!first && at->second != location.site) {
            top.refuse("host '" + location.host + "' has two sites");
        }
    }
    return found;
}

PlacementFile read_placement(JsonObject& top) {
    if (top.string("schema") == "lanewise-platform") return read_platform(top);
    top.expect_schema("lanewise-placement", placement_version);
    PlacementFile found;
    if (top.has("testbed")) top.string("testbed");
    read_hosts(top, found);
    read_ranks(top, found);
    return found;
}

}  // namespace

std::optional<Location> PlacementFile::find(const std::string& host, int rank) const {
    if (const auto found = site_of_host.find(host); found != site_of_host.end()) {
        return Location{host, found->second};
    }
    const auto found = of_rank.find(rank);
    if (found == of_rank.end()) return std::nullopt;
    return found->second;
}

std::string placement_file_path() {
    for (const char *name : {"LANEWISE_PLACEMENT", "LANEWISE_PLATFORM"}) {
        const char *value = std::getenv(name);
        if (value && *value != '\0') return value;
    }
    return "";
}

Result<PlacementFile> parse_placement_file(std::string_view text, const std::string& name) {
    return read_json_object(text, {name, "see schema/placement.schema.json"}, read_placement);
}

Result<PlacementFile> read_placement_file(const std::string& path) {
    const auto text = read_file(path);
    if (!text) {
        return Failure{LW_ERR_IO, text.failure().sentence +
                                      "; LANEWISE_PLACEMENT names it, or else LANEWISE_PLATFORM"};
    }
    return parse_placement_file(*text, path);
}

}  // namespace lanewise::collectives
