// SPDX-License-Identifier: BSD-3-Clause

#include "testbed/configuration.hpp"

#include <cmath>
#include <string_view>

#include "base/json.hpp"
#include "base/json_object.hpp"

namespace lanewise::testbed {
namespace {

/* `settings` with what `changes` says otherwise. */
LinkSettings changed_by(LinkSettings settings, JsonObject& changes) {
    for (const auto& setting : setting_table) {
        const std::string key(setting.key);
        if (!changes.has(key)) continue;
        const double read = changes.number(key, 0, setting.most);
        if (const auto *real = std::get_if<double LinkSettings::*>(&setting.member)) {
            settings.**real = read;
        } else {
            settings.*std::get<std::int64_t LinkSettings::*>(setting.member) = std::llround(read);
        }
    }
    if (changes.has("up")) settings.carrier = changes.boolean("up") ? Carrier::up : Carrier::cut;
    if (settings.jitter_ns > settings.delay_ns) changes.refuse("jitter_ns is larger than delay_ns");
    return settings;
}

Link read_link(JsonObject& from) {
    Link link;
    link.name = from.string("name");
    const auto kind = from.has("kind") ? from.string("kind") : "tun";
    if (kind != "tun" && kind != "tap")
        from.refuse("kind", "is \"" + kind + "\", neither \"tun\" nor \"tap\"");
    link.layer = kind == "tun" ? Layer::ip : Layer::ethernet;
    link.seed = from.has("seed") ? from.count<std::uint64_t>("seed") : 1;
    std::size_t ends = 0;
    from.each("ends", [&](JsonObject& end) {
        const auto space = end.has("namespace") ? end.string("namespace") : "";
        const auto device = end.string("device");
        if (ends < link.ends.size()) link.ends[ends] = {space, device};
        ++ends;
    });
    if (ends != link.ends.size()) from.refuse("a link has two ends");
    if (from.has("settings")) {
        link.settings = from.object(
            "settings", [](JsonObject& settings) { return changed_by(LinkSettings{}, settings); });
    }
    return link;
}

}  // namespace

Result<Configuration> read_configuration(const std::string& text) {
    const std::string name = "the configuration";
    const auto read = [](JsonObject& top) {
        Configuration configuration;
        if (top.has("control")) configuration.control = top.string("control");
        top.each("links",
                 [&](JsonObject& link) { configuration.links.push_back(read_link(link)); });
        return configuration;
    };
    auto configuration = read_json_object(std::string_view(text), {name, ""}, read);
    if (configuration && configuration->links.empty())
        return Failure{LW_ERR_ARGUMENT, name + ": there is no link"};
    return configuration;
}

Result<Request> read_request(const std::string& text) {
    return read_json_object(std::string_view(text), {"the request", ""}, [](JsonObject& top) {
        Request request;
        top.has("status");
        if (top.has("link")) request.link = top.string("link");
        if (top.has("direction"))
            request.direction = static_cast<std::size_t>(top.number("direction", 0, 1));
        request.settings = top.has("settings") ? top.value("settings") : Json::object();
        return request;
    });
}

Result<LinkSettings> changed(LinkSettings settings, const Json& values) {
    return read_json_object(values, {"settings", ""},
                            [&](JsonObject& changes) { return changed_by(settings, changes); });
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
            {"marked", counters.marked},
            {"dropped_by_queue", counters.dropped_by_queue},
            {"dropped_by_cut", counters.dropped_by_cut}};
}

}  // namespace lanewise::testbed
