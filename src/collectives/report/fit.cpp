// SPDX-License-Identifier: BSD-3-Clause
//
// See fit.hpp.

#include "collectives/report/fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "base/quantities.hpp"
#include "base/sizes.hpp"

namespace lanewise::report {
namespace {

using model::Parameter;
using model::Platform;

// Links of a table that are listed; the file has them all.
constexpr int links_shown = 28;

std::string percent(double share) {
    return fmt::format("{:.1f} %", 100.0 * share);
}

std::string with_interval(const Parameter& parameter, double scale) {
    return fmt::format("{:>10.3f} [{:.3f}, {:.3f}]", parameter.value * scale, parameter.low * scale,
                       parameter.high * scale);
}

std::string microseconds(const Parameter& parameter) {
    return with_interval(parameter, 1e6);
}
std::string nanoseconds(const Parameter& parameter) {
    return with_interval(parameter, 1e9);
}

std::string row(const std::string& name, const std::string& first, const std::string& second) {
    return fmt::format("{:<12}{:<36}{:<36}\n", name, first, second);
}

template <typename Table>
std::string link_rows(const Table& links) {
    std::string text = row("# link", "  latency (us)", "  time per byte (ns)");
    int shown = 0;
    links.each([&](int i, int j, const auto& link) {
        if (++shown > links_shown) return;
        text += row(fmt::format("{}-{}", i, j), microseconds(link.latency_s),
                    nanoseconds(link.s_per_byte));
    });
    if (shown > links_shown) text += fmt::format("... {} links in all\n", shown);
    return text;
}

std::string described(const model::Hockney& model) {
    return link_rows(model.links);
}

std::string described(const model::LogGP& model) {
    return row("L", microseconds(model.latency_s), "us") +
           row("o", microseconds(model.overhead_s), "us") +
           row("g", microseconds(model.gap_s), "us") +
           row("G", nanoseconds(model.gap_s_per_byte), "ns/byte");
}

std::string described(const model::PLogP& model) {
    auto text =
        row("L", microseconds(model.latency_s), "us") +
        fmt::format("{:<12}{:<36}{:<36}{}\n", "# bytes", "  os (us)", "  or (us)", "  g (us)");
    for (const auto& size : model.sizes) {
        text += fmt::format("{:<12}{:<36}{:<36}{}\n", size.message_bytes, microseconds(size.send_s),
                            microseconds(size.receive_s), microseconds(size.gap_s));
    }
    return text;
}

std::string time_row(std::int64_t from_bytes, const model::PiecewiseTime& time) {
    return row(">= " + format_size(static_cast<std::uint64_t>(from_bytes)),
               microseconds(time.fixed_s), nanoseconds(time.s_per_byte));
}

std::string message_rows(const std::vector<std::int64_t>& from_bytes,
                         const std::optional<std::int64_t>& waits_from_bytes,
                         const model::MessageLinks& links) {
    std::string text;
    if (waits_from_bytes) {
        text += fmt::format("from {} bytes on a message waits for its receive\n",
                            format_size(static_cast<std::uint64_t>(*waits_from_bytes)));
    }
    int shown = 0;
    links.each([&](int i, int j, const std::vector<model::PiecewiseTime>& times) {
        if (++shown > links_shown) return;
        text += row(fmt::format("# link {}-{}", i, j), "  message (us)", "  message per byte (ns)");
        for (std::size_t k = 0; k < times.size(); ++k) text += time_row(from_bytes[k], times[k]);
    });
    return text;
}

std::string described(const model::Lmo& model) {
    auto text = row("# rank", "  C (us)", "  t (ns/byte)");
    for (std::size_t rank = 0; rank < model.processors.size(); ++rank) {
        const auto& processor = model.processors[rank];
        text += row(std::to_string(rank), microseconds(processor.fixed_s),
                    nanoseconds(processor.s_per_byte));
    }
    text += link_rows(model.links);
    if (!model.ranges) return text;
    const auto& ranges = *model.ranges;
    return text + message_rows(ranges.from_bytes, ranges.waits_from_bytes, ranges.messages);
}

std::string described(const model::Piecewise& model) {
    std::string text;
    std::vector<std::int64_t> from_bytes;
    for (const auto& protocol : model.protocols) from_bytes.push_back(protocol.from_bytes);
    const auto table = [&](const char *fixed, const char *per_byte, auto part) {
        text += row("# bytes", fixed, per_byte);
        for (const auto& protocol : model.protocols)
            text += time_row(protocol.from_bytes, protocol.*part);
    };
    table("  gap (us)", "  gap per byte (ns)", &model::Protocol::gap);
    table("  send (us)", "  send per byte (ns)", &model::Protocol::send);
    table("  receive (us)", "  receive per byte (ns)", &model::Protocol::receive);
    return text + message_rows(from_bytes, model.waits_from_bytes, model.links);
}

std::string summary_row(const Platform& platform, const std::string& name) {
    const auto& quality = platform.fit_quality.at(name);
    double worst = 0.0;
    for (const auto& residual : quality.residuals) worst = std::max(worst, residual.relative_worst);
    const auto held =
        quality.held_out_points == 0
            ? std::string("-")
            : fmt::format("{} of {}", percent(quality.held_out_rms), quality.held_out_points);
    return fmt::format("{:<10}{:>14}{:>14}{:>22}{}\n", name, percent(quality.residual_rms()),
                       percent(worst), held, name == platform.best ? "   best" : "");
}

std::string verdict(const Platform& platform) {
    if (platform.fit_quality.at(platform.best).held_out_points > 0)
        return fmt::format("{} predicts held-out points best\n", platform.best);
    return fmt::format(
        "{} fits best; no model was tested on held-out points, which takes round trips of four "
        "sizes\n",
        platform.best);
}

// A row an operation and size, a column a model.
std::string residual_table(const Platform& platform) {
    using Key = std::tuple<std::string, std::int64_t, std::int64_t>;
    std::map<Key, std::map<std::string, double>> rows;
    auto text = fmt::format("\n{:<20}{:>10}{:>10}", "# residual rms", "bytes", "points");
    std::map<Key, std::size_t> points;
    for (const auto& [name, quality] : platform.fit_quality) {
        text += fmt::format("{:>10}", name);
        for (const auto& residual : quality.residuals) {
            const Key key{residual.operation, residual.message_bytes, residual.reply_bytes};
            rows[key][name] = residual.relative_rms;
            points[key] = residual.points;
        }
    }
    text += '\n';
    for (const auto& [key, by_model] : rows) {
        const auto& [operation, bytes, reply] = key;
        text += fmt::format("{:<20}{:>10}{:>10}", operation,
                            format_size(static_cast<std::uint64_t>(bytes)), points[key]);
        for (const auto& [name, quality] : platform.fit_quality) {
            const auto found = by_model.find(name);
            text += fmt::format("{:>10}", found == by_model.end() ? "-" : percent(found->second));
        }
        text += '\n';
    }
    return text;
}

std::string described_gather(const model::GatherRegion& region) {
    return fmt::format(
        "\n# gather\nquiet up to {} bytes, one after another above {}; in between a gather waits "
        "{:.0f} ms now and then\n",
        format_size(static_cast<std::uint64_t>(region.m1_bytes)),
        format_size(static_cast<std::uint64_t>(region.m2_bytes)), 1e3 * region.escalation_s);
}

}  // namespace

std::string shown(const model::Fit& fit, const model::Observations& observations) {
    const auto& platform = fit.platform;
    const std::set<std::string> hosts(platform.hosts.begin(), platform.hosts.end());
    auto text = fmt::format("# {} on {}, {}, {}\n",
                            counted(static_cast<std::uint64_t>(platform.ranks), "rank"),
                            counted(hosts.size(), "host"), platform.fingerprint.mpi_library,
                            counted(observations.all.size(), "point"));
    text += fmt::format("{:<10}{:>14}{:>14}{:>22}\n", "# model", "residual rms", "worst",
                        "held-out rms");
    for (const auto& name : model::model_names()) {
        if (has_model(platform, name)) text += summary_row(platform, name);
    }
    text += verdict(platform);
    for (const auto& lack : fit.lacks) text += fmt::format("not fitted: {}\n", lack);
    text += residual_table(platform);
    const auto describe = [&](const char *name, const auto& model) {
        if (!model) return;
        text += fmt::format("\n# {}\n", name) + described(*model);
    };
    describe("hockney", platform.hockney);
    describe("loggp", platform.loggp);
    describe("plogp", platform.plogp);
    describe("lmo", platform.lmo);
    describe("piecewise", platform.piecewise);
    if (platform.gather) text += described_gather(*platform.gather);
    for (const auto& note : fit.notes) text += fmt::format("note: {}\n", note);
    return text;
}

}  // namespace lanewise::report
