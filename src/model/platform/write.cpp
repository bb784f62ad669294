// SPDX-License-Identifier: BSD-3-Clause
//
// platform.json, written key by key.

#include "base/file.hpp"
#include "base/json.hpp"
#include "model/platform/platform.hpp"

namespace lanewise::model {
namespace {

Json written(const Parameter& parameter) {
    return {{"value", parameter.value}, {"low", parameter.low}, {"high", parameter.high}};
}

template <typename Table>
Json written_links(const Table& links) {
    Json list = Json::array();
    links.each([&](int i, int j, const auto& link) {
        list.push_back({{"ranks", {i, j}},
                        {"latency_s", written(link.latency_s)},
                        {"s_per_byte", written(link.s_per_byte)}});
    });
    return list;
}

Json written(const Hockney& model) {
    return {{"links", written_links(model.links)}};
}

Json written(const LogGP& model) {
    return {{"latency_s", written(model.latency_s)},
            {"overhead_s", written(model.overhead_s)},
            {"gap_s", written(model.gap_s)},
            {"gap_s_per_byte", written(model.gap_s_per_byte)}};
}

Json written(const PLogP& model) {
    Json sizes = Json::array();
    for (const auto& size : model.sizes) {
        sizes.push_back({{"message_bytes", size.message_bytes},
                         {"send_s", written(size.send_s)},
                         {"receive_s", written(size.receive_s)},
                         {"gap_s", written(size.gap_s)}});
    }
    return {{"latency_s", written(model.latency_s)}, {"sizes", sizes}};
}

Json written(const PiecewiseTime& time) {
    return {{"fixed_s", written(time.fixed_s)}, {"s_per_byte", written(time.s_per_byte)}};
}

Json written(const MessageLinks& messages) {
    Json links = Json::array();
    messages.each([&](int i, int j, const std::vector<PiecewiseTime>& times) {
        Json list = Json::array();
        for (const auto& time : times) list.push_back(written(time));
        links.push_back({{"ranks", {i, j}}, {"messages", std::move(list)}});
    });
    return links;
}

Json written(const LmoRanges& ranges) {
    Json json = {{"from_bytes", ranges.from_bytes}, {"links", written(ranges.messages)}};
    if (ranges.waits_from_bytes) json["waits_from_bytes"] = *ranges.waits_from_bytes;
    return json;
}

Json written(const Lmo& model) {
    Json processors = Json::array();
    for (std::size_t rank = 0; rank < model.processors.size(); ++rank) {
        const auto& processor = model.processors[rank];
        processors.push_back({{"rank", rank},
                              {"fixed_s", written(processor.fixed_s)},
                              {"s_per_byte", written(processor.s_per_byte)}});
    }
    Json json = {{"processors", processors}, {"links", written_links(model.links)}};
    if (model.ranges) json["ranges"] = written(*model.ranges);
    return json;
}

Json written(const Piecewise& model) {
    Json protocols = Json::array();
    for (const auto& protocol : model.protocols) {
        protocols.push_back({{"from_bytes", protocol.from_bytes},
                             {"gap", written(protocol.gap)},
                             {"send", written(protocol.send)},
                             {"receive", written(protocol.receive)}});
    }
    Json json = {{"protocols", protocols}, {"links", written(model.links)}};
    if (model.waits_from_bytes) json["waits_from_bytes"] = *model.waits_from_bytes;
    return json;
}

template <typename Model>
void write_model(const Platform& platform, const char *name, const std::optional<Model>& model,
                 Json& models) {
    if (!model) return;
    auto json = written(*model);
    const auto found = platform.fit_quality.find(name);
    const auto quality = found == platform.fit_quality.end() ? FitQuality{} : found->second;
    json["held_out"] = {{"points", quality.held_out_points},
                        {"relative_rms", quality.held_out_rms}};
    json["residuals"] = Json::array();
    for (const auto& residual : quality.residuals) {
        json["residuals"].push_back({{"operation", residual.operation},
                                     {"message_bytes", residual.message_bytes},
                                     {"reply_bytes", residual.reply_bytes},
                                     {"points", residual.points},
                                     {"relative_rms", residual.relative_rms},
                                     {"relative_worst", residual.relative_worst}});
    }
    models[name] = std::move(json);
}

Json written(const GatherRegion& region) {
    Json probabilities = Json::array();
    for (const auto& at : region.probabilities) {
        probabilities.push_back(
            {{"message_bytes", at.message_bytes}, {"probability", at.probability}});
    }
    return {{"m1_bytes", region.m1_bytes},
            {"m2_bytes", region.m2_bytes},
            {"escalation_s", region.escalation_s},
            {"probabilities", probabilities}};
}

}  // namespace

Json to_json(const Platform& platform) {
    const auto& fingerprint = platform.fingerprint;
    Json models = Json::object();
    write_model(platform, "hockney", platform.hockney, models);
    write_model(platform, "loggp", platform.loggp, models);
    write_model(platform, "plogp", platform.plogp, models);
    write_model(platform, "lmo", platform.lmo, models);
    write_model(platform, "piecewise", platform.piecewise, models);
    Json json = {
        {"schema", "lanewise-platform"},
        {"version", platform_version},
        {"lanewise", platform.lanewise},
        {"created", platform.created},
        {"ranks", platform.ranks},
        {"hosts", platform.hosts},
        {"fingerprint",
         {{"mpi", {{"family", fingerprint.mpi_family}, {"library", fingerprint.mpi_library}}},
          {"launcher", fingerprint.launcher},
          {"kernel", fingerprint.kernel},
          {"cpus", fingerprint.cpus},
          {"settings", Json(fingerprint.settings)}}},
        {"best", platform.best},
        {"models", models}};
    if (platform.gather) json["gather"] = written(*platform.gather);
    if (!platform.sites.empty()) json["sites"] = platform.sites;
    for (const auto& lane : platform.lanes) {
        json["lanes"].push_back({{"from", lane.from},
                                 {"to", lane.to},
                                 {"latency_s", lane.latency_s},
                                 {"bandwidth_Bps", lane.bandwidth_Bps}});
        const auto& host = lane.one_host;
        if (host.sends_Bps <= 0.0 && host.receives_Bps <= 0.0) continue;
        json["lanes"].back()["one_host"] = {{"sends_Bps", host.sends_Bps},
                                            {"sends_with_lan_Bps", host.sends_with_lan_Bps},
                                            {"receives_Bps", host.receives_Bps},
                                            {"receives_with_lan_Bps", host.receives_with_lan_Bps}};
    }
    for (const auto& lan : platform.lans) {
        json["lans"].push_back({{"site", lan.site},
                                {"latency_s", lan.latency_s},
                                {"bandwidth_Bps", lan.bandwidth_Bps}});
    }
    for (const auto& disk : platform.disks) {
        json["disks"].push_back(
            {{"path", disk.path}, {"read_Bps", disk.read_Bps}, {"write_Bps", disk.write_Bps}});
    }
    return json;
}

Outcome write_platform(const Platform& platform, const std::string& path) {
    return write_file(path, json_text(to_json(platform), 1) + "\n");
}

}  // namespace lanewise::model
