// SPDX-License-Identifier: BSD-3-Clause

#include "paths/directory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/file.hpp"
#include "base/json_object.hpp"

namespace lanewise::paths {
namespace {

std::string name_from(JsonObject& from, const char *key) {
    auto name = from.string(key);
    if (name.empty()) from.refuse(key, "is empty");
    return name;
}

std::vector<Gid> read_gids(JsonObject& port) {
    std::vector<Gid> gids;
    for (const std::string& text : port.strings("gids")) {
        Gid gid{};
        if (!read_gid(text, gid)) {
            port.refuse("gids", fmt::format("holds \"{}\", which is not a GID; write it as an IPv6 "
                                            "address",
                                            text));
        }
        gids.push_back(gid);
    }
    return gids;
}

ListedPort read_port(JsonObject& from) {
    constexpr std::uint16_t lid_max = 0xbfff;
    ListedPort made;
    made.device = name_from(from, "device");
    made.number = from.count<std::uint8_t>("port", 1);
    made.rail = from.has("rail") ? name_from(from, "rail") : std::to_string(made.number);
    if (from.has("lid")) made.lid = from.count<std::uint16_t>("lid", 1);
    if (made.lid > lid_max) from.refuse("lid", fmt::format("is above {}", lid_max));
    if (from.has("gids")) made.gids = read_gids(from);
    if (made.gids.empty() && made.lid == 0) from.refuse("has neither 'gids' nor 'lid'");
    return made;
}

std::vector<ListedHost> read_hosts(JsonObject& top) {
    top.expect_schema("lanewise-paths", 1);
    std::vector<ListedHost> hosts;
    std::set<std::string> names;
    std::set<Gid> gids;
    top.each("hosts", [&](JsonObject& from) {
        ListedHost host{name_from(from, "name"), {}};
        if (!names.insert(host.name).second) {
            from.refuse("name", fmt::format("is '{}', which another host has too", host.name));
        }
        from.each("ports", [&](JsonObject& port) {
            host.ports.push_back(read_port(port));
            for (const Gid& gid : host.ports.back().gids) {
                if (!gids.insert(gid).second) {
                    port.refuse(fmt::format("GID {} is there twice", text_of(gid)));
                }
            }
        });
        hosts.push_back(std::move(host));
    });
    return hosts;
}

// The host and the port that `is_it` says yes to.
template <typename Condition>
std::pair<const ListedHost *, const ListedPort *> find(const std::vector<ListedHost>& hosts,
                                                       const Condition& is_it) {
    for (const ListedHost& host : hosts) {
        for (const ListedPort& port : host.ports) {
            if (is_it(port)) return {&host, &port};
        }
    }
    return {nullptr, nullptr};
}

auto has_gid(const Gid& gid) {
    return [gid](const ListedPort& port) {
        return std::find(port.gids.begin(), port.gids.end(), gid) != port.gids.end();
    };
}

auto has_lid(std::uint16_t lid) {
    return [lid](const ListedPort& port) { return lid != 0 && port.lid == lid; };
}

}  // namespace

std::optional<Gid> Directory::peer_gid(const Gid& peer, const Gid& mine) const {
    const ListedHost *host = find(hosts_, has_gid(peer)).first;
    const ListedPort *own = find(hosts_, has_gid(mine)).second;
    if (!host || !own) return std::nullopt;
    for (const ListedPort& port : host->ports) {
        if (port.rail != own->rail) continue;
        for (const Gid& gid : port.gids) {
            if (gid == peer || is_ipv4(gid) != is_ipv4(mine)) continue;
            if (is_link_local(gid) == is_link_local(mine)) return gid;
        }
    }
    return std::nullopt;
}

std::optional<std::uint16_t> Directory::peer_lid(std::uint16_t peer, std::uint16_t mine) const {
    const ListedHost *host = find(hosts_, has_lid(peer)).first;
    const ListedPort *own = find(hosts_, has_lid(mine)).second;
    if (!host || !own) return std::nullopt;
    for (const ListedPort& port : host->ports) {
        if (port.rail == own->rail && port.lid != 0 && port.lid != peer) return port.lid;
    }
    return std::nullopt;
}

Result<Directory> read_directory(const std::string& text, const std::string& name) {
    return read_json_object(std::string_view(text), {name, ""},
                            [](JsonObject& top) { return Directory(read_hosts(top)); });
}

Result<Directory> load_directory(const std::string& name) {
    const Result<std::string> text = read_file(name);
    if (!text) return text.failure();
    return read_directory(*text, name);
}

}  // namespace lanewise::paths
