// SPDX-License-Identifier: BSD-3-Clause
//
// Reading platform.json.

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "base/file.hpp"
#include "base/json_object.hpp"
#include "model/platform/platform.hpp"
#include "model/samples/experiments.hpp"

namespace lanewise::model {
namespace {

/* Two keys were renamed after version 1. Version 3 adds the ranges of LMO. */
struct Keys {
    const char *launcher = "launcher";
    const char *held_out = "held_out";
};

Keys keys_of(int version) {
    return version == 1 ? Keys{.launcher = "fabric", .held_out = "held_back"} : Keys{};
}

Parameter read_parameter(JsonObject& from, const char *key) {
    const auto read = from.object(key, [](JsonObject& parameter) {
        return Parameter{parameter.number("value"), parameter.number("low"),
                         parameter.number("high")};
    });
    if (read.value < 0.0) from.refuse(key, "is below 0");
    return read;
}

int rank_in(int ranks, int rank, const JsonObject& item, const char *key) {
    if (rank >= ranks)
        item.refuse(key, "names a rank that is none of the " + std::to_string(ranks));
    return rank;
}

/* `read` makes a link of an item. The table of all is not made before all are there: a file of a
   few links may speak of more ranks than there is memory for. */
template <typename Link, typename Read>
Links<Link> read_links(JsonObject& model, int ranks, const std::string& measure_with,
                       const Read& read) {
    std::map<std::pair<int, int>, Link> there;
    model.each("links", [&](JsonObject& item) {
        const auto pair = item.counts<int>("ranks");
        if (pair.size() != 2) item.refuse("ranks", "are not two");
        const int a = rank_in(ranks, pair[0], item, "ranks");
        const int b = rank_in(ranks, pair[1], item, "ranks");
        if (a == b) item.refuse("ranks", "are the same");
        if (!there.try_emplace({std::min(a, b), std::max(a, b)}, read(item)).second)
            throw JsonRefusal{"has " + link_name(a, b) + " twice", {}};
    });
    for (int i = 0; i < ranks; ++i) {
        for (int j = i + 1; j < ranks; ++j) {
            if (there.contains({i, j})) continue;
            throw JsonRefusal{"has no " + link_name(i, j) + ": measure it with " + measure_with,
                              {}};
        }
    }
    Links<Link> links(ranks);
    links.each([&](int i, int j, Link& link) { link = std::move(there.at({i, j})); });
    return links;
}

template <typename Link>
Links<Link> read_links(JsonObject& model, int ranks, const std::string& measure_with) {
    return read_links<Link>(model, ranks, measure_with, [](JsonObject& item) {
        return Link{read_parameter(item, "latency_s"), read_parameter(item, "s_per_byte")};
    });
}

LogGP read_loggp(JsonObject& model) {
    return {read_parameter(model, "latency_s"), read_parameter(model, "overhead_s"),
            read_parameter(model, "gap_s"), read_parameter(model, "gap_s_per_byte")};
}

PLogP read_plogp(JsonObject& model) {
    PLogP read{read_parameter(model, "latency_s"), {}};
    model.each("sizes", [&](JsonObject& item) {
        const auto message_bytes = item.count("message_bytes");
        if (!read.sizes.empty() && read.sizes.back().message_bytes >= message_bytes)
            item.refuse("message_bytes", "does not rise");
        read.sizes.push_back({message_bytes, read_parameter(item, "send_s"),
                              read_parameter(item, "receive_s"), read_parameter(item, "gap_s")});
    });
    if (read.sizes.size() < 2) model.refuse("sizes", "are fewer than two");
    return read;
}

PiecewiseTime read_time(JsonObject& from) {
    return {read_parameter(from, "fixed_s"), read_parameter(from, "s_per_byte")};
}

MessageLinks read_messages(JsonObject& from, int ranks, const std::string& measure_with,
                           std::size_t count) {
    using Times = std::vector<PiecewiseTime>;
    return read_links<Times>(from, ranks, measure_with, [&](JsonObject& item) {
        Times times;
        item.each("messages", [&](JsonObject& time) { times.push_back(read_time(time)); });
        if (times.size() != count) item.refuse("messages", "are not one for each range of sizes");
        return times;
    });
}

LmoRanges read_ranges(JsonObject& from, int ranks, const std::string& measure_with) {
    LmoRanges read;
    read.from_bytes = from.counts<std::int64_t>("from_bytes");
    const auto& all = read.from_bytes;
    const bool rises =
        std::adjacent_find(all.begin(), all.end(), std::greater_equal<>()) == all.end();
    if (all.empty() || all.front() != 0 || !rises) from.refuse("from_bytes", "do not rise from 0");
    if (from.has("waits_from_bytes")) read.waits_from_bytes = from.count("waits_from_bytes");
    read.messages = read_messages(from, ranks, measure_with, all.size());
    return read;
}

Lmo read_lmo(JsonObject& model, int ranks, const std::string& measure_with) {
    Lmo read;
    read.processors.resize(static_cast<std::size_t>(ranks));
    std::set<int> there;
    model.each("processors", [&](JsonObject& item) {
        const int rank = rank_in(ranks, item.count<int>("rank"), item, "rank");
        read.processors[static_cast<std::size_t>(rank)] = {read_parameter(item, "fixed_s"),
                                                           read_parameter(item, "s_per_byte")};
        there.insert(rank);
    });
    for (int rank = 0; rank < ranks; ++rank) {
        if (!there.contains(rank)) model.refuse("processors", "lack rank " + std::to_string(rank));
    }
    read.links = read_links<LmoLink>(model, ranks, measure_with);
    if (model.has("ranges")) {
        read.ranges = model.object(
            "ranges", [&](JsonObject& from) { return read_ranges(from, ranks, measure_with); });
    }
    return read;
}

Piecewise read_piecewise(JsonObject& model, int ranks, const std::string& measure_with) {
    Piecewise read;
    model.each("protocols", [&](JsonObject& item) {
        const auto from_bytes = item.count("from_bytes");
        auto& protocols = read.protocols;
        if (protocols.empty() ? from_bytes != 0 : protocols.back().from_bytes >= from_bytes)
            item.refuse("from_bytes", "does not rise from 0");
        protocols.push_back({from_bytes, item.object("gap", read_time),
                             item.object("send", read_time), item.object("receive", read_time)});
    });
    if (read.protocols.empty()) model.refuse("protocols", "are none");
    if (model.has("waits_from_bytes")) read.waits_from_bytes = model.count("waits_from_bytes");
    read.links = read_messages(model, ranks, measure_with, read.protocols.size());
    return read;
}

/* A time, an error, or a rate that is 0 where it was not measured. */
double read_measured(JsonObject& from, const char *key) {
    const double read = from.number(key);
    if (read < 0.0) from.refuse(key, "is below 0");
    return read;
}

FitQuality read_fit_quality(JsonObject& model, const Keys& keys) {
    FitQuality quality;
    model.object(keys.held_out, [&](JsonObject& held_out) {
        quality.held_out_points = held_out.count<std::size_t>("points");
        quality.held_out_rms = read_measured(held_out, "relative_rms");
    });
    model.each("residuals", [&](JsonObject& item) {
        quality.residuals.push_back({item.string("operation"), item.count("message_bytes"),
                                     item.count("reply_bytes"), item.count<std::size_t>("points"),
                                     read_measured(item, "relative_rms"),
                                     read_measured(item, "relative_worst")});
    });
    return quality;
}

void read_models(JsonObject& models, const Keys& keys, Platform& platform) {
    const Conditions conditions{
        platform.ranks, platform.hosts, {}, {}, {}, platform.fingerprint.launcher, {}};
    const auto pairs = command_for("pairs", conditions);
    for (const auto& name : model_names()) {
        if (!models.has(name)) continue;
        models.object(name, [&](JsonObject& model) {
            if (name == "hockney")
                platform.hockney = Hockney{read_links<HockneyLink>(model, platform.ranks, pairs)};
            if (name == "loggp") platform.loggp = read_loggp(model);
            if (name == "plogp") platform.plogp = read_plogp(model);
            if (name == "lmo") platform.lmo = read_lmo(model, platform.ranks, pairs);
            if (name == "piecewise")
                platform.piecewise = read_piecewise(model, platform.ranks, pairs);
            platform.fit_quality[name] = read_fit_quality(model, keys);
        });
    }
}

Fingerprint read_fingerprint(JsonObject& from, const Keys& keys) {
    Fingerprint read;
    from.object("mpi", [&](JsonObject& mpi) {
        read.mpi_family = mpi.string("family");
        read.mpi_library = mpi.string("library");
    });
    read.launcher = from.string(keys.launcher);
    read.kernel = from.string("kernel");
    read.cpus = from.strings("cpus");
    read.settings = from.named_strings("settings");
    return read;
}

GatherRegion read_gather(JsonObject& gather) {
    GatherRegion region{
        gather.count("m1_bytes"), gather.count("m2_bytes"), gather.number("escalation_s"), {}};
    gather.each("probabilities", [&](JsonObject& item) {
        region.probabilities.push_back({item.count("message_bytes"), item.number("probability")});
    });
    return region;
}

std::vector<double> read_curve(JsonObject& lane) {
    auto curve = lane.numbers("bandwidth_Bps");
    for (const double rate_Bps : curve) {
        if (!(rate_Bps > 0.0)) lane.refuse("bandwidth_Bps", "holds a rate that is not above 0");
    }
    return curve;
}

HostRates read_one_host(JsonObject& rates) {
    return {read_measured(rates, "sends_Bps"), read_measured(rates, "sends_with_lan_Bps"),
            read_measured(rates, "receives_Bps"), read_measured(rates, "receives_with_lan_Bps")};
}

void expect_one_a_rank(const JsonObject& top, const char *key,
                       const std::vector<std::string>& names, int ranks) {
    if (names.size() == static_cast<std::size_t>(ranks)) return;
    top.refuse(key, "are " + std::to_string(names.size()) + ", not one for each of the " +
                        std::to_string(ranks) + " ranks");
}

void read_lanes(JsonObject& top, Platform& platform) {
    if (top.has("lanes")) {
        top.each("lanes", [&](JsonObject& item) {
            platform.lanes.push_back(
                {item.string("from"), item.string("to"),
                 item.has("latency_s") ? read_measured(item, "latency_s") : 0.0, read_curve(item)});
            if (!item.has("one_host")) return;
            platform.lanes.back().one_host = item.object("one_host", read_one_host);
        });
    }
    if (top.has("lans")) {
        top.each("lans", [&](JsonObject& item) {
            platform.lans.push_back({item.string("site"), read_measured(item, "latency_s"),
                                     read_measured(item, "bandwidth_Bps")});
        });
    }
    if (!top.has("sites")) return;
    platform.sites = top.strings("sites");
    if (!platform.sites.empty()) expect_one_a_rank(top, "sites", platform.sites, platform.ranks);
}

Platform read_whole(JsonObject& top) {
    const auto keys = keys_of(top.expect_schema("lanewise-platform", platform_version));
    Platform platform;
    platform.lanewise = top.string("lanewise");
    platform.created = top.string("created");
    platform.ranks = top.count<int>("ranks", 1);
    platform.hosts = top.strings("hosts");
    expect_one_a_rank(top, "hosts", platform.hosts, platform.ranks);
    platform.best = top.string("best");
    platform.fingerprint =
        top.object("fingerprint", [&](JsonObject& from) { return read_fingerprint(from, keys); });
    top.object("models", [&](JsonObject& models) { read_models(models, keys, platform); });
    if (top.has("gather")) platform.gather = top.object("gather", read_gather);
    read_lanes(top, platform);
    if (top.has("disks")) {
        top.each("disks", [&](JsonObject& item) {
            platform.disks.push_back({item.string("path"), read_measured(item, "read_Bps"),
                                      read_measured(item, "write_Bps")});
        });
    }
    if (!platform.best.empty() && !has_model(platform, platform.best))
        top.refuse("calls best a model that it lacks: " + platform.best);
    return platform;
}

}  // namespace

Result<Platform> platform_from_json(const Json& json, const std::string& name) {
    return read_json_object(json, {name, "lanewise model fit writes such files"}, read_whole);
}

Result<Platform> read_platform(const std::string& path) {
    const auto text = read_file(path);
    if (!text) {
        auto failure = text.failure();
        if (failure.status == LW_ERR_NOT_FOUND)
            failure.sentence += "; lanewise model fit -o " + path + " writes it";
        return failure;
    }
    return read_json_object(std::string_view(*text), {path, "lanewise model fit writes such files"},
                            read_whole);
}

}  // namespace lanewise::model
