// SPDX-License-Identifier: BSD-3-Clause

#include "collectives/placement_file.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "base/json.hpp"

namespace lanewise::collectives {
namespace {

constexpr int version_read = 1;

struct Fault {
    std::string sentence;
};

[[noreturn]] void refuse(const std::string& sentence) {
    throw Fault{sentence};
}

void expect_keys(const Json& object, std::vector<std::string> known, const std::string& where) {
    if (!object.is_object()) refuse(where + " is not an object");
    for (const auto& [key, value] : object.items()) {
        if (std::find(known.begin(), known.end(), key) == known.end()) {
            refuse(where + " has an unknown key '" + key + "'");
        }
    }
}

std::string text_at(const Json& object, const char *key, const std::string& where) {
    const auto found = object.find(key);
    if (found == object.end() || !found->is_string()) {
        refuse(where + "." + key + " is not a text");
    }
    return *found;
}

void read_hosts(const Json& list, Whereabouts& read) {
    if (!list.is_array()) refuse("hosts is not a list");
    for (std::size_t i = 0; i < list.size(); ++i) {
        const auto where = "hosts[" + std::to_string(i) + "]";
        expect_keys(list[i], {"host", "site", "address"}, where);
        const auto host = text_at(list[i], "host", where);
        if (!read.site_of_host.emplace(host, text_at(list[i], "site", where)).second) {
            refuse(where + " names host '" + host + "' again");
        }
    }
}

void read_ranks(const Json& list, Whereabouts& read) {
    if (!list.is_array()) refuse("ranks is not a list");
    for (std::size_t i = 0; i < list.size(); ++i) {
        const auto where = "ranks[" + std::to_string(i) + "]";
        expect_keys(list[i], {"rank", "host", "site"}, where);
        const auto rank = list[i].find("rank");
        if (rank == list[i].end() || !rank->is_number_unsigned()) {
            refuse(where + ".rank is not a number from 0");
        }
        const Whereabout about{text_at(list[i], "host", where), text_at(list[i], "site", where)};
        if (!read.of_rank.emplace(rank->get<int>(), about).second) {
            refuse(where + " names rank " + rank->dump() + " again");
        }
    }
}

/* Hosts and sites of ranks; none where nobody has measured lanes or written sites by hand. */
Whereabouts read_platform(const Json& file) {
    Whereabouts found;
    const auto hosts = file.value("hosts", Json::array());
    const auto sites = file.value("sites", Json::array());
    if (!sites.empty() && sites.size() != hosts.size()) refuse("sites is not a site for each host");
    for (std::size_t rank = 0; rank < sites.size(); ++rank) {
        const Whereabout about{hosts[rank].get<std::string>(), sites[rank].get<std::string>()};
        found.of_rank.emplace(static_cast<int>(rank), about);
        const auto [at, first] = found.site_of_host.emplace(about.host, about.site);
        if (!first && at->second != about.site) refuse("host '" + about.host + "' has two sites");
    }
    return found;
}

Whereabouts read(const Json& file) {
    if (file.is_object() && file.value("schema", "") == "lanewise-platform") {
        return read_platform(file);
    }
    expect_keys(file, {"schema", "version", "testbed", "hosts", "ranks"}, "the file");
    if (file.value("schema", "") != "lanewise-placement") {
        refuse("schema is not lanewise-placement");
    }
    if (file.value("version", Json()) != version_read) {
        refuse("version is not " + std::to_string(version_read));
    }
    Whereabouts found;
    read_hosts(file.value("hosts", Json::array()), found);
    read_ranks(file.value("ranks", Json::array()), found);
    return found;
}

}  // namespace

std::optional<Whereabout> Whereabouts::find(const std::string& host, int rank) const {
    if (const auto found = site_of_host.find(host); found != site_of_host.end()) {
        return Whereabout{host, found->second};
    }
    const auto found = of_rank.find(rank);
    if (found == of_rank.end()) return std::nullopt;
    return found->second;
}

std::string whereabouts_path() {
    for (const char *name : {"LANEWISE_PLACEMENT", "LANEWISE_PLATFORM"}) {
        const char *value = std::getenv(name);
        if (value && *value != '\0') return value;
    }
    return "";
}

Result<Whereabouts> parse_whereabouts(std::string_view text, const std::string& name) {
    const auto file = parse_json(text);
    const auto failure = [&](const std::string& fault) {
        return Failure{LW_ERR_ARGUMENT, name + ": " + fault + "; see schema/placement.schema.json"};
    };
    if (file.is_discarded()) return failure("is not JSON, or only part of it");
    try {
        return read(file);
    } catch (const Fault& fault) {
        return failure(fault.sentence);
    } catch (const Json::exception&) {
        return failure("is not JSON of this kind");
    }
}

Result<Whereabouts> read_whereabouts(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) {
        return Failure{LW_ERR_IO, path +
                                      " cannot be read; LANEWISE_PLACEMENT names it, or else "
                                      "LANEWISE_PLATFORM"};
    }
    std::ostringstream text;
    text << file.rdbuf();
    return parse_whereabouts(text.view(), path);
}

}  // namespace lanewise::collectives
