// SPDX-License-Identifier: BSD-3-Clause
//
// See observation.hpp. The records are those of schema/samples.schema.json;
// what the models do not look at is passed over.

#include "model/samples/observation.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <tuple>

#include "base/json.hpp"
#include "base/json_lines.hpp"
#include "base/statistics.hpp"

namespace lanewise::model {
namespace {

/* Version 2 says launcher where version 1 said fabric. */
constexpr int schema_version = 2;

Failure refuse(const std::string& name, std::size_t line, const std::string& what) {
    return {LW_ERR_ARGUMENT, name + ":" + std::to_string(line) + ": " + what};
}

std::string text_of(const Json& object, const char *key) {
    const auto found = object.find(key);
    return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

// A count of a record, or `otherwise` where it has none; -1 where what it has is no count.
std::int64_t count_in(const Json& record, const char *key, std::int64_t otherwise) {
    const auto found = record.find(key);
    if (found == record.end() || found->is_null()) return otherwise;
    if (!found->is_number_integer()) return -1;
    // What is too large for 64 bits with a sign comes out below 0.
    return std::max<std::int64_t>(found->get<std::int64_t>(), -1);
}

// The words of --buffers for what is not as it is by default; absent where there was no choice yet.
std::string buffers_of(const Json& context) {
    const auto buffers = context.value("buffers", Json::object());
    std::string words;
    const auto add = [&words](const std::string& word) {
        words += (words.empty() ? "" : ",") + word;
    };
    if (text_of(buffers, "caches") == "cold") add("cold");
    const auto offset_bytes = count_in(buffers, "offset_bytes", 0);
    if (offset_bytes > 0) add("unaligned=" + std::to_string(offset_bytes));
    const auto turns = count_in(buffers, "turns", 1);
    if (turns > 1) add("rotating=" + std::to_string(turns));
    if (text_of(buffers, "pages") == "huge") add("huge");
    return words;
}

Result<Conditions> conditions_of(const Json& context, const std::string& name) {
    if (text_of(context, "record") != "context" || text_of(context, "schema") != "lanewise-samples")
        return refuse(name, 1, "no context of samples; lanewise measure -o FILE writes such files");
    const auto version = count_in(context, "version", -1);
    if (version < 1 || version > schema_version)
        return refuse(name, 1,
                      "schema version " + json_text(context.value("version", Json())) +
                          " is not known; upgrade lanewise");
    Conditions conditions;
    const auto ranks = count_in(context, "ranks", -1);
    if (ranks < 1 || ranks > std::numeric_limits<int>::max())
        return refuse(name, 1, "key 'ranks' is missing or no number of ranks");
    conditions.ranks = static_cast<int>(ranks);
    const auto mpi = context.value("mpi", Json::object());
    conditions.mpi_family = text_of(mpi, "family");
    conditions.mpi_library = text_of(mpi, "library");
    conditions.launcher = text_of(context, context.contains("launcher") ? "launcher" : "fabric");
    conditions.kernel = text_of(context, "kernel");
    conditions.transport = text_of(context, "transport");
    conditions.buffers = buffers_of(context);
    for (const auto& place : context.value("placement", Json::array())) {
        conditions.hosts.push_back(text_of(place, "host"));
        conditions.cpus.push_back(text_of(place, "cpus"));
    }
    const auto places = conditions.hosts.size();
    if (places != 0 && places != static_cast<std::size_t>(ranks))
        return refuse(name, 1,
                      "key 'placement' has " + std::to_string(places) +
                          " places, not one for each of the " + std::to_string(ranks) + " ranks");
    return conditions;
}

/* The same transport is called by its name, and by the path of its file. */
std::string name_of_transport(const std::string& given) {
    return std::filesystem::path(given).filename().replace_extension().string();
}

Outcome same_platform(const Conditions& a, const Conditions& b, const std::string& name) {
    const auto differ = [&name](const std::string& what, const std::string& x,
                                const std::string& y) {
        return Failure{LW_ERR_ARGUMENT, name + " was measured with " + what + " " + y +
                                            ", the files before it with " + x +
                                            "; fit each platform by itself"};
    };
    if (a.ranks != b.ranks)
        return differ("ranks", std::to_string(a.ranks), std::to_string(b.ranks));
    if (a.mpi_library != b.mpi_library) return differ("MPI", a.mpi_library, b.mpi_library);
    if (a.launcher != b.launcher) return differ("launcher", a.launcher, b.launcher);
    const auto named = [](const std::string& choice, const char *otherwise) {
        return choice.empty() ? std::string(otherwise) : choice;
    };
    if (name_of_transport(a.transport) != name_of_transport(b.transport))
        return differ("transport", named(a.transport, "the MPI's choice"),
                      named(b.transport, "the MPI's choice"));
    if (a.buffers != b.buffers)
        return differ("buffers", named(a.buffers, "warm"), named(b.buffers, "warm"));
    if (a.hosts != b.hosts) return Outcome(differ("ranks on hosts", "others", "other ones"));
    return Done{};
}

struct Named {
    const char *operation;
    Experiment experiment;
};
constexpr Named exchanges[] = {{"pairs", Experiment::pair},       {"triplets", Experiment::triplet},
                               {"trains", Experiment::train},     {"sends", Experiment::send},
                               {"receives", Experiment::receive}, {"pingpong", Experiment::pair}};

Experiment experiment_of(const std::string& operation) {
    for (const auto& named : exchanges) {
        if (operation == named.operation) return named.experiment;
    }
    return Experiment::collective;
}

/* Takes the ranks of a point; says what is wrong with them. */
std::string take_ranks(const Json& record, const Conditions& conditions, Observation& seen) {
    const auto ranks = conditions.ranks;
    const bool pingpong = seen.operation == "pingpong"; /* with the next rank */
    const auto root = count_in(record, "root", 0);
    const auto peer = pingpong && root >= 0 ? (root + 1) % ranks : count_in(record, "peer", -1);
    const auto second_peer = count_in(record, "second_peer", -1);
    const auto known = [ranks](std::int64_t rank) { return rank >= 0 && rank < ranks; };
    const bool exchange = seen.experiment != Experiment::collective;
    const bool triplet = seen.experiment == Experiment::triplet;
    if (!known(root) || (exchange && !known(peer)) || (triplet && !known(second_peer)))
        return "a rank that is none of the " + std::to_string(ranks);
    const bool alone = exchange && peer == root;
    if (alone || (triplet && (second_peer == root || second_peer == peer)))
        return "a rank with itself";
    seen.root = static_cast<int>(root);
    if (exchange) seen.peer = static_cast<int>(peer);
    if (triplet) seen.second_peer = static_cast<int>(second_peer);
    return {};
}

Result<Observation> observation_of(const Json& record, const Conditions& conditions,
                                   const std::string& name, std::size_t line) {
    Observation seen;
    seen.operation = text_of(record, "operation");
    seen.experiment = experiment_of(seen.operation);
    seen.message_bytes = count_in(record, "message_bytes", -1);
    seen.reply_bytes = count_in(record, "reply_bytes", 0);
    const auto samples = record.find("samples_s");
    if (seen.operation.empty() || seen.message_bytes < 0 || samples == record.end() ||
        !samples->is_array())
        return refuse(name, line, "a point without operation, message_bytes or samples_s");
    if (seen.reply_bytes < 0) return refuse(name, line, "reply_bytes is no number of bytes");
    for (const auto& sample : *samples) {
        if (!sample.is_number()) return refuse(name, line, "samples_s holds " + json_text(sample));
        seen.sorted_s.push_back(sample.get<double>());
    }
    if (seen.operation == "pingpong") {
        // It is recorded as half a round trip; here all pairs are whole ones.
        seen.reply_bytes = seen.message_bytes;
        for (auto& sample : seen.sorted_s) sample *= 2.0;
    }
    const auto wrong = take_ranks(record, conditions, seen);
    if (!wrong.empty()) return refuse(name, line, seen.operation + " of " + wrong);
    std::sort(seen.sorted_s.begin(), seen.sorted_s.end());
    seen.time_s = quantile(seen.sorted_s, 0.5);
    return seen;
}

/* One observation for each point that was repeated, in another launch or another file, with the
   samples of all. */
std::vector<Observation> merged(std::vector<Observation> all) {
    std::map<std::tuple<std::string, int, int, int, std::int64_t, std::int64_t>, std::size_t>
        places;
    std::vector<Observation> merged;
    for (auto& seen : all) {
        const auto [place, first] =
            places.try_emplace({seen.operation, seen.root, seen.peer, seen.second_peer,
                                seen.message_bytes, seen.reply_bytes},
                               merged.size());
        if (first) {
            merged.push_back(std::move(seen));
            continue;
        }
        auto& before = merged[place->second];
        if (before.launches_s.empty()) before.launches_s.push_back(before.sorted_s);
        before.sorted_s.insert(before.sorted_s.end(), seen.sorted_s.begin(), seen.sorted_s.end());
        before.launches_s.push_back(std::move(seen.sorted_s));
    }
    for (auto& seen : merged) {
        if (seen.launches_s.empty()) continue;
        std::sort(seen.sorted_s.begin(), seen.sorted_s.end());
        std::vector<double> medians_s;
        for (const auto& launch_s : seen.launches_s) medians_s.push_back(quantile(launch_s, 0.5));
        seen.time_s = centre_of(medians_s);
    }
    return merged;
}

}  // namespace

double centre_of(std::span<const double> medians_s) {
    if (medians_s.size() == 1) return medians_s.front();
    const auto count = static_cast<double>(medians_s.size());
    const bool all_take_time =
        std::all_of(medians_s.begin(), medians_s.end(), [](double time_s) { return time_s > 0.0; });
    double sum = 0.0;
    for (const double time_s : medians_s) sum += all_take_time ? std::log(time_s) : time_s;
    return all_take_time ? std::exp(sum / count) : sum / count;
}

bool Observations::has(Experiment experiment) const {
    return std::any_of(all.begin(), all.end(), [experiment](const Observation& seen) {
        return seen.experiment == experiment;
    });
}

Result<Observations> observations_of(std::span<const Json> records, const std::string& name) {
    if (records.empty())
        return Failure{LW_ERR_ARGUMENT,
                       name + " has no whole line; lanewise measure writes such files"};
    const auto conditions = conditions_of(records.front(), name);
    if (!conditions) return conditions.failure();
    Observations observations{*conditions, {}};
    // A pipelined execution is not an isolated one, which is what the models speak of.
    const bool pipelined = count_in(records.front(), "pipeline_length", 1) > 1;
    // Predictions are of equal blocks.
    const bool uneven = !records.front().value("weights", Json::array()).empty();
    for (std::size_t i = 1; i < records.size(); ++i) {
        if (text_of(records[i], "record") != "point") continue;
        if (records[i].contains("definition")) continue; /* a loop of another tool */
        auto seen = observation_of(records[i], *conditions, name, i + 1);
        if (!seen) return seen.failure();
        const bool busy =
            seen->experiment == Experiment::send || seen->experiment == Experiment::receive;
        // A simulated processor may be busy for no time at all; nothing else takes none.
        const bool takes_time = seen->time_s > 0.0 || (busy && seen->time_s == 0.0);
        if (seen->sorted_s.empty() || !takes_time) continue;
        if ((pipelined || uneven) && seen->experiment == Experiment::collective) continue;
        observations.all.push_back(std::move(*seen));
    }
    if (!observations.all.empty() && observations.conditions.hosts.empty())
        return refuse(name, 1, "key 'placement' is missing, which says the host of each rank");
    return observations;
}

Result<Observations> read_observations(std::span<const std::string> paths) {
    Observations together;
    for (const auto& path : paths) {
        const auto lines = read_json_lines(path);
        if (!lines) return lines.failure();
        auto observations = observations_of(lines->records, path);
        if (!observations) return observations.failure();
        if (&path == &paths.front()) {
            together = std::move(*observations);
            continue;
        }
        const auto same = same_platform(together.conditions, observations->conditions, path);
        if (!same) return same.failure();
        std::move(observations->all.begin(), observations->all.end(),
                  std::back_inserter(together.all));
    }
    together.all = merged(std::move(together.all));
    if (together.all.empty())
        return Failure{LW_ERR_ARGUMENT,
                       "no points in the samples; measure some: lanewise measure pairs -n 4 "
                       "--sizes 0,1:1M:x4 -o pairs.jsonl"};
    return together;
}

}  // namespace lanewise::model
