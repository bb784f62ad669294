// SPDX-License-Identifier: BSD-3-Clause
//
// platform.json, read by a walk that knows where it is and which keys it has
// asked for; what is left over is refused by name.

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <set>
#include <stdexcept>

#include "model/samples/experiments.hpp"
#include "model/platform/platform.hpp"

namespace lanewise::model {
namespace {

constexpr int schema_version = 2;

/* Why a file is not read; thrown within this file only. */
struct Refusal : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/* One object of the file. Each key is asked for once; `close` refuses the others. */
class Object {
  public:
    Object(const Json& json, std::string place) : json_(json), place_(std::move(place)) {
        if (!json.is_object()) throw Refusal(where() + "is no object");
    }

    const Json *find(const char *key) {
        asked_.insert(key);
        const auto found = json_.find(key);
        return found == json_.end() ? nullptr : &*found;
    }
    const Json& get(const char *key) {
        const auto *found = find(key);
        if (!found) throw Refusal(where() + "has no key '" + key + "'");
        return *found;
    }
    double number(const char *key) {
        const auto& value = get(key);
        if (!value.is_number()) throw Refusal(inside(key) + " is no number");
        return value.get<double>();
    }
    std::int64_t count(const char *key) {
        const auto& value = get(key);
        if (!value.is_number_integer() || value.get<std::int64_t>() < 0)
            throw Refusal(inside(key) + " is no integer from 0 up");
        return value.get<std::int64_t>();
    }
    std::string text(const char *key) {
        const auto& value = get(key);
        if (!value.is_string()) throw Refusal(inside(key) + " is no text");
        return value.get<std::string>();
    }
    std::vector<std::string> texts(const char *key) {
        std::vector<std::string> all;
        for (const auto& value : list(key)) {
            if (!value.is_string()) throw Refusal(inside(key) + " holds what is no text");
            all.push_back(value.get<std::string>());
        }
        return all;
    }
    const Json& list(const char *key) {
        const auto& value = get(key);
        if (!value.is_array()) throw Refusal(inside(key) + " is no list");
        return value;
    }
    Object object(const char *key) { return Object(get(key), inside(key)); }
    Parameter parameter(const char *key) {
        auto inner = object(key);
        const Parameter read{inner.number("value"), inner.number("low"), inner.number("high")};
        inner.close();
        if (read.value < 0.0) throw Refusal(inside(key) + " is below 0");
        return read;
    }
    template <typename Visit>
    void each(const char *key, Visit&& visit) {
        std::size_t index = 0;
        for (const auto& value : list(key)) {
            Object item(value, inside(key) + "[" + std::to_string(index++) + "]");
            visit(item);
            item.close();
        }
    }
    void close() const {
        for (const auto& item : json_.items()) {
            if (!asked_.contains(item.key()))
                throw Refusal("unknown key '" + inside(item.key()) + "'");
        }
    }
    std::string inside(const std::string& key) const {
        return place_.empty() ? key : place_ + "." + key;
    }

  private:
    std::string where() const { return place_.empty() ? "it " : place_ + " "; }

    const Json& json_;
    std::string place_;
    std::set<std::string> asked_;
};

int rank_in(const Json& value, int ranks, const std::string& place) {
    if (!value.is_number_integer() || value.get<int>() < 0 || value.get<int>() >= ranks)
        throw Refusal(place + " names a rank that is none of the " + std::to_string(ranks));
    return value.get<int>();
}

template <typename Link>
Links<Link> read_links(Object& model, int ranks, const std::string& measure_with) {
    Links<Link> links(ranks);
    std::set<std::pair<int, int>> there;
    model.each("links", [&](Object& item) {
        const auto& pair = item.list("ranks");
        if (pair.size() != 2) throw Refusal(item.inside("ranks") + " are not two");
        const int a = rank_in(pair[0], ranks, item.inside("ranks"));
        const int b = rank_in(pair[1], ranks, item.inside("ranks"));
        if (a == b) throw Refusal(item.inside("ranks") + " are the same");
        links.at(a, b) = {item.parameter("latency_s"), item.parameter("s_per_byte")};
        if (!there.insert({std::min(a, b), std::max(a, b)}).second)
            throw Refusal("has " + link_name(a, b) + " twice");
    });
    links.each([&](int i, int j, const Link&) {
        if (!there.contains({i, j}))
            throw Refusal("has no " + link_name(i, j) + ": measure it with " + measure_with);
    });
    return links;
}

LogGP read_loggp(Object& model) {
    return {model.parameter("latency_s"), model.parameter("overhead_s"), model.parameter("gap_s"),
            model.parameter("gap_s_per_byte")};
}

PLogP read_plogp(Object& model) {
    PLogP read{model.parameter("latency_s"), {}};
    model.each("sizes", [&](Object& item) {
        read.sizes.push_back({item.count("message_bytes"), item.parameter("send_s"),
                              item.parameter("receive_s"), item.parameter("gap_s")});
        const auto n = read.sizes.size();
        if (n > 1 && read.sizes[n - 2].message_bytes >= read.sizes[n - 1].message_bytes)
            throw Refusal(item.inside("message_bytes") + " does not rise");
    });
    if (read.sizes.size() < 2) throw Refusal(model.inside("sizes") + " are fewer than two");
    return read;
}

Lmo read_lmo(Object& model, int ranks, const std::string& measure_with) {
    Lmo read;
    read.processors.resize(static_cast<std::size_t>(ranks));
    std::set<int> there;
    model.each("processors", [&](Object& item) {
        const int rank = rank_in(item.get("rank"), ranks, item.inside("rank"));
        read.processors[static_cast<std::size_t>(rank)] = {item.parameter("fixed_s"),
                                                           item.parameter("s_per_byte")};
        there.insert(rank);
    });
    for (int rank = 0; rank < ranks; ++rank) {
        if (!there.contains(rank))
            throw Refusal(model.inside("processors") + " lack rank " + std::to_string(rank));
    }
    read.links = read_links<LmoLink>(model, ranks, measure_with);
    return read;
}

Verdict read_verdict(Object& model) {
    Verdict verdict;
    // Version 1 had other names for this key and for the launcher.
    auto held_back = model.object(model.find("held_out") ? "held_out" : "held_back");
    verdict.held_back_points = static_cast<std::size_t>(held_back.count("points"));
    verdict.held_back_rms = held_back.number("relative_rms");
    held_back.close();
    model.each("residuals", [&](Object& item) {
        verdict.residuals.push_back({item.text("operation"), item.count("message_bytes"),
                                     item.count("reply_bytes"),
                                     static_cast<std::size_t>(item.count("points")),
                                     item.number("relative_rms"), item.number("relative_worst")});
    });
    return verdict;
}

void read_models(Object models, Platform& platform) {
    const Conditions conditions{
        platform.ranks, platform.hosts, {}, {}, {}, platform.fingerprint.launcher, {}};
    const auto pairs = command_for("pairs", conditions);
    for (const auto& name : model_names()) {
        const auto *json = models.find(name.c_str());
        if (!json) continue;
        Object model(*json, models.inside(name));
        if (name == "hockney")
            platform.hockney = Hockney{read_links<HockneyLink>(model, platform.ranks, pairs)};
        if (name == "loggp") platform.loggp = read_loggp(model);
        if (name == "plogp") platform.plogp = read_plogp(model);
        if (name == "lmo") platform.lmo = read_lmo(model, platform.ranks, pairs);
        platform.verdicts[name] = read_verdict(model);
        model.close();
    }
    models.close();
}

void read_fingerprint(Object fingerprint, Fingerprint& read) {
    auto mpi = fingerprint.object("mpi");
    read.mpi_family = mpi.text("family");
    read.mpi_library = mpi.text("library");
    mpi.close();
    read.launcher = fingerprint.text(fingerprint.find("launcher") ? "launcher" : "fabric");
    read.kernel = fingerprint.text("kernel");
    read.cpus = fingerprint.texts("cpus");
    auto settings = fingerprint.object("settings");
    for (const auto& item : fingerprint.get("settings").items()) {
        read.settings[item.key()] = settings.text(item.key().c_str());
    }
    fingerprint.close();
}

GatherRegion read_gather(Object gather) {
    GatherRegion region{
        gather.count("m1_bytes"), gather.count("m2_bytes"), gather.number("escalation_s"), {}};
    gather.each("probabilities", [&](Object& item) {
        region.probabilities.push_back({item.count("message_bytes"), item.number("probability")});
    });
    gather.close();
    return region;
}

std::vector<double> read_numbers(Object& item, const char *key) {
    std::vector<double> numbers;
    for (const auto& value : item.list(key)) {
        if (!value.is_number()) throw Refusal(item.inside(key) + " holds what is no number");
        numbers.push_back(value.get<double>());
    }
    return numbers;
}

Platform read_all(const Json& json) {
    Object top(json, "");
    if (top.text("schema") != "lanewise-platform") throw Refusal("is no platform of lanewise fit");
    const auto version = top.count("version");
    if (version > schema_version)
        throw Refusal("has version " + std::to_string(version) + ", newer than " +
                      std::to_string(schema_version) + "; upgrade lanewise");
    Platform platform;
    platform.lanewise = top.text("lanewise");
    platform.created = top.text("created");
    platform.ranks = static_cast<int>(top.count("ranks"));
    platform.hosts = top.texts("hosts");
    platform.best = top.text("best");
    read_fingerprint(top.object("fingerprint"), platform.fingerprint);
    read_models(top.object("models"), platform);
    if (top.find("gather")) platform.gather = read_gather(top.object("gather"));
    if (top.find("lanes"))
        top.each("lanes", [&](Object& item) {
            LaneCurve curve{item.text("from"), item.text("to"), 0.0, {}};
            if (item.find("latency_s")) curve.latency_s = item.number("latency_s");
            curve.bandwidth_Bps = read_numbers(item, "bandwidth_Bps");
            platform.lanes.push_back(std::move(curve));
        });
    if (top.find("lans"))
        top.each("lans", [&](Object& item) {
            platform.lans.push_back(
                {item.text("site"), item.number("latency_s"), item.number("bandwidth_Bps")});
        });
    if (top.find("sites")) platform.sites = top.texts("sites");
    if (top.find("disks"))
        top.each("disks", [&](Object& item) {
            platform.disks.push_back(
                {item.text("path"), item.number("read_Bps"), item.number("write_Bps")});
        });
    top.close();
    if (!platform.best.empty() && !has_model(platform, platform.best))
        throw Refusal("calls best a model that it lacks: " + platform.best);
    return platform;
}

}  // namespace

Result<Platform> platform_from_json(const Json& json, const std::string& name) {
    try {
        return read_all(json);
    } catch (const Refusal& refusal) {
        return Failure{LW_ERR_ARGUMENT, name + ": " + refusal.what()};
    }
}

Result<Platform> read_platform(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) return Failure{LW_ERR_IO, path + " cannot be read: " + std::strerror(errno)};
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    const auto json = parse_json(text);
    if (json.is_discarded())
        return Failure{LW_ERR_ARGUMENT, path + ": not JSON; fit it anew with lanewise fit"};
    return platform_from_json(json, path);
}

}  // namespace lanewise::model
