// SPDX-License-Identifier: BSD-3-Clause
//
// See configuration.hpp.

#include "testbed/configuration.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <iterator>
#include <string_view>

namespace lanewise::testbed {
namespace {

/* Thrown and caught in this file only: the JSON library throws as well. */
struct Refused {
    std::string sentence;
};

void require_known(const Json& object, std::initializer_list<std::string_view> known,
                   const std::string& where) {
    if (!object.is_object()) throw Refused{where + " is not an object"};
    for (const auto& [key, value] : object.items()) {
        bool found = false;
        for (const auto name : known) found = found || name == key;
        if (!found) throw Refused{where + " has the unknown key \"" + key + "\""};
    }
}

double number(const Json& value, const std::string& key, double least, double most) {
    if (!value.is_number()) throw Refused{key + " is not a number"};
    const double found = value.get<double>();
    if (found >= least && found <= most) return found;
    throw Refused{key + " = " + value.dump() + " is out of range"};
}

void set(LinkSettings& settings, const std::string& key, const Json& value) {
    if (key == "up") {
        settings.carrier = value.get<bool>() ? Carrier::up : Carrier::cut;
        return;
    }
    const auto *found = std::ranges::find(setting_table, key, &Setting::key);
    if (found == std::end(setting_table))
        throw Refused{"settings have the unknown key \"" + key + "\""};
    const double read = number(value, key, 0, found->most);
    if (const auto *real = std::get_if<double LinkSettings::*>(&found->member)) {
        settings.**real = read;
    } else {
        settings.*std::get<std::int64_t LinkSettings::*>(found->member) = std::llround(read);
    }
}

LinkSettings with(LinkSettings settings, const Json& values) {
    if (!values.is_object()) throw Refused{"settings are not an object"};
    for (const auto& [key, value] : values.items()) set(settings, key, value);
    if (settings.jitter_ns > settings.delay_ns) throw Refused{"jitter_ns is larger than delay_ns"};
    return settings;
}

Link link_of(const Json& object) {
    require_known(object, {"name", "kind", "seed", "ends", "settings"}, "a link");
    Link link;
    link.name = object.at("name").get<std::string>();
    const auto kind = object.value("kind", std::string("tun"));
    if (kind != "tun" && kind != "tap") throw Refused{"kind is tun or tap, not \"" + kind + "\""};
    link.layer = kind == "tun" ? Layer::ip : Layer::ethernet;
    link.seed = object.value("seed", std::uint64_t{1});
    const auto& ends = object.at("ends");
    if (ends.size() != link.ends.size()) throw Refused{"a link has two ends"};
    for (std::size_t i = 0; i < link.ends.size(); ++i) {
        require_known(ends[i], {"namespace", "device"}, "an end");
        link.ends[i] = {ends[i].value("namespace", std::string()),
                        ends[i].at("device").get<std::string>()};
    }
    link.settings = with(LinkSettings{}, object.value("settings", Json::object()));
    return link;
}

Configuration configuration_of(const Json& object) {
    require_known(object, {"control", "links"}, "the configuration");
    Configuration configuration;
    configuration.control = object.value("control", std::string());
    for (const auto& link : object.at("links")) configuration.links.push_back(link_of(link));
    if (configuration.links.empty()) throw Refused{"there is no link"};
    return configuration;
}

template <typename Make>
auto guarded(const std::string& text, Make make) -> Result<decltype(make(Json()))> {
    try {
        return make(Json::parse(text));
    } catch (const Refused& refused) {
        return Failure{LW_ERR_ARGUMENT, refused.sentence};
    } catch (const Json::exception& error) {
        return Failure{LW_ERR_ARGUMENT, error.what()};
    }
}

}  // namespace

Result<Configuration> read_configuration(const std::string& text) {
    return guarded(text, configuration_of);
}

Result<Request> read_request(const std::string& text) {
    return guarded(text, [](const Json& object) {
        require_known(object, {"status", "link", "direction", "settings"}, "a request");
        Request request;
        request.link = object.value("link", std::string());
        if (object.contains("direction")) {
            request.direction =
                static_cast<std::size_t>(number(object.at("direction"), "direction", 0, 1));
        }
        request.settings = object.value("settings", Json::object());
        return request;
    });
}

Result<LinkSettings> changed(LinkSettings settings, const Json& values) {
    try {
        return with(settings, values);
    } catch (const Refused& refused) {
        return Failure{LW_ERR_ARGUMENT, refused.sentence};
    } catch (const Json::exception& error) {
        return Failure{LW_ERR_ARGUMENT, error.what()};
    }
}

Json as_json(const LinkSettings& settings) {
    Json json = {{"up", settings.carrier == Carrier::up}};
    for (const auto& setting : setting_table) {
        std::visit([&](auto member) { json[std::string(setting.key)] = settings.*member; },
                   setting.member);
    }
    return json;
}

Json as_json(const Counters& counters) {
    return {{"offered", counters.offered},
            {"delivered", counters.delivered},
            {"delivered_bytes", counters.delivered_bytes},
            {"lost", counters.lost},
            {"held", counters.held},
            {"dropped_by_queue", counters.dropped_by_queue},
            {"dropped_by_cut", counters.dropped_by_cut}};
}

}  // namespace lanewise::testbed
