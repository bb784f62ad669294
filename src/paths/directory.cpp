// SPDX-License-Identifier: BSD-3-Clause
#include "paths/directory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

namespace lanewise::paths {
namespace {

using nlohmann::json;

// Thrown inside of this file only: a sentence without the file's name.
struct Wrong {
    std::string what;
};

void check_keys(const json& object, const std::string& place,
                std::initializer_list<const char *> known,
                std::initializer_list<const char *> needed) {
    if (!object.is_object()) throw Wrong{fmt::format("{} is not an object", place)};
    for (const auto& [key, value] : object.items()) {
        if (std::find(known.begin(), known.end(), key) == known.end()) {
            throw Wrong{fmt::format("{} has an unknown key '{}'", place, key)};
        }
    }
    for (const char *key : needed) {
        if (!object.contains(key)) throw Wrong{fmt::format("{} lacks '{}'", place, key)};
    }
}

std::string text(const json& object, const char *key, const std::string& place) {
    if (!object[key].is_string() || object[key].get<std::string>().empty()) {
        throw Wrong{fmt::format("{}: '{}' is not a text", place, key)};
    }
    return object[key].get<std::string>();
}

std::uint16_t number(const json& object, const char *key, unsigned least, unsigned most,
                     const std::string& place) {
    const json& value = object[key];
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() < least ||
        value.get<std::uint64_t>() > most) {
        throw Wrong{fmt::format("{}: '{}' is not between {} and {}", place, key, least, most)};
    }
    return value.get<std::uint16_t>();
}

const json& list(const json& object, const char *key, const std::string& place) {
    if (!object[key].is_array()) throw Wrong{fmt::format("{}: '{}' is not a list", place, key)};
    return object[key];
}

ListedPort read_port(const json& from, const std::string& place) {
    check_keys(from, place, {"device", "port", "rail", "gids", "lid"}, {"device", "port"});
    ListedPort made;
    made.device = text(from, "device", place);
    made.number = static_cast<std::uint8_t>(number(from, "port", 1, 255, place));
    made.rail = from.contains("rail") ? text(from, "rail", place) : std::to_string(made.number);
    if (from.contains("lid")) made.lid = number(from, "lid", 1, 0xbfff, place);
    if (from.contains("gids")) {
        for (const json& gid : list(from, "gids", place)) {
            Gid read{};
            if (!gid.is_string() || !read_gid(gid.get<std::string>(), read)) {
                throw Wrong{fmt::format("{}: {} is not a GID; write it as an IPv6 address", place,
                                        gid.dump())};
            }
            made.gids.push_back(read);
        }
    }
    if (made.gids.empty() && made.lid == 0) {
        throw Wrong{fmt::format("{} has neither 'gids' nor 'lid'", place)};
    }
    return made;
}

std::vector<ListedHost> read_hosts(const json& root) {
    check_keys(root, "the file", {"schema", "version", "hosts"}, {"schema", "version", "hosts"});
    if (root["schema"] != "lanewise-paths" || root["version"] != 1) {
        throw Wrong{"this is not version 1 of schema lanewise-paths"};
    }
    std::vector<ListedHost> hosts;
    std::set<std::string> names;
    std::set<Gid> gids;
    for (const json& from : list(root, "hosts", "the file")) {
        const std::string place = fmt::format("host {}", hosts.size() + 1);
        check_keys(from, place, {"name", "ports"}, {"name", "ports"});
        ListedHost host{text(from, "name", place), {}};
        if (!names.insert(host.name).second) {
            throw Wrong{fmt::format("host '{}' is there twice", host.name)};
        }
        for (const json& port : list(from, "ports", place)) {
            host.ports.push_back(read_port(
                port, fmt::format("host '{}', port {}", host.name, host.ports.size() + 1)));
            for (const Gid& gid : host.ports.back().gids) {
                if (!gids.insert(gid).second) {
                    throw Wrong{fmt::format("GID {} is there twice", text_of(gid))};
                }
            }
        }
        hosts.push_back(std::move(host));
    }
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
    const json root = json::parse(text, nullptr, false);
    if (root.is_discarded()) return Failure{LW_ERR_ARGUMENT, name + ": this is not JSON"};
    try {
        return Directory(read_hosts(root));
    } catch (const Wrong& wrong) {
        return Failure{LW_ERR_ARGUMENT, fmt::format("{}: {}", name, wrong.what)};
    }
}

Result<Directory> load_directory(const std::string& name) {
    std::ifstream stream(name);
    if (!stream) return Failure{LW_ERR_IO, name + " cannot be read"};
    const std::string text{std::istreambuf_iterator<char>(stream), {}};
    return read_directory(text, name);
}

}  // namespace lanewise::paths
