// SPDX-License-Identifier: BSD-3-Clause
//
// See lane_rates.hpp.

#include "tune/lane_rates.hpp"

#include <lanewise/status.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/host.hpp"
#include "base/json.hpp"
#include "collectives/execute/rank_placement.hpp"
#include "collectives/lanes/sites.hpp"
#include "collectives/placement_file.hpp"
#include "measure/session/conditions.hpp"
#include "model/lanes/latency_sites.hpp"

namespace lanewise::tune {
namespace {

using collectives::Site;

constexpr int probe_bytes = 256 * 1024;
constexpr int window = 16;
constexpr int messages_min = 4 * window;
constexpr int messages_max = 8192;
constexpr int trips = 11;
constexpr double gain_least = 1.05;
constexpr double wanted_s = 1.0; /* of steady transfer */
constexpr std::size_t name_length = 64;

struct Pair {
    int sender = 0;
    int receiver = 0;
};

/* Up to `lanes` pairs of ranks; each has a sender and a receiver of its own while there are. */
std::vector<Pair> pairs_of(const Site& here, const Site& there, std::size_t lanes) {
    std::vector<Pair> pairs;
    for (std::size_t i = 0; i < lanes; ++i) {
        pairs.push_back({here.ranks[i % here.ranks.size()], there.ranks[i % there.ranks.size()]});
    }
    return pairs;
}

/* Bytes a second after the first quarter. Messages may arrive a windowful at a time: those that
   come with the one that begins are left out. */
double steady_rate_Bps(const std::vector<double>& arrived_s) {
    const auto first = arrived_s.size() / 4;
    const double moment_s = 0.01 * (arrived_s.back() - arrived_s[first]);
    const auto begin =
        std::find_if(arrived_s.begin() + static_cast<std::ptrdiff_t>(first), arrived_s.end(),
                     [&](double at_s) { return at_s > arrived_s[first] + moment_s; }) -
        1;
    const auto counted = static_cast<double>(arrived_s.end() - begin - 1);
    return probe_bytes * counted / (arrived_s.back() - *begin);
}

enum class End { sends, receives };

class Streams {
  public:
    explicit Streams(MPI_Comm comm) : comm_(comm) { MPI_Comm_rank(comm, &rank_); }

    /* Bytes a second of each pair while all send as many messages as `messages` has; the same on
       every rank. A rank may be in several pairs, at one end. Collective. */
    std::vector<double> rates_Bps(const std::vector<Pair>& pairs,
                                  const std::vector<int>& messages) const {
        std::vector<double> rates(pairs.size(), 0.0);
        const auto received = own(pairs, messages, End::receives);
        MPI_Barrier(comm_);
        send(own(pairs, messages, End::sends));
        const auto arrived_s = receive(received);
        for (std::size_t i = 0; i < received.size(); ++i) {
            rates[received[i].pair] = steady_rate_Bps(arrived_s[i]);
        }
        MPI_Allreduce(MPI_IN_PLACE, rates.data(), static_cast<int>(rates.size()), MPI_DOUBLE,
                      MPI_SUM, comm_);
        return rates;
    }

    /* How long that takes. Collective. */
    double seconds_of(const std::vector<Pair>& pairs, const std::vector<int>& messages) const {
        const auto received = own(pairs, messages, End::receives);
        MPI_Barrier(comm_);
        const double begin_s = MPI_Wtime();
        send(own(pairs, messages, End::sends));
        receive(received);
        double needed_s = MPI_Wtime() - begin_s;
        MPI_Allreduce(MPI_IN_PLACE, &needed_s, 1, MPI_DOUBLE, MPI_MAX, comm_);
        return needed_s;
    }

    /* Half the shortest of some round trips; the same on every rank. Collective. */
    double latency_s(const Pair& pair) const {
        double shortest_s = 0.0;
        MPI_Barrier(comm_);
        for (int i = 0; i < trips; ++i) {
            const double begin_s = MPI_Wtime();
            if (pair.sender == rank_) {
                MPI_Send(nullptr, 0, MPI_BYTE, pair.receiver, 0, comm_);
                MPI_Recv(nullptr, 0, MPI_BYTE, pair.receiver, 0, comm_, MPI_STATUS_IGNORE);
                const double trip_s = MPI_Wtime() - begin_s;
                shortest_s = i == 0 ? trip_s : std::min(shortest_s, trip_s);
            } else if (pair.receiver == rank_) {
                MPI_Recv(nullptr, 0, MPI_BYTE, pair.sender, 0, comm_, MPI_STATUS_IGNORE);
                MPI_Send(nullptr, 0, MPI_BYTE, pair.sender, 0, comm_);
            }
        }
        MPI_Bcast(&shortest_s, 1, MPI_DOUBLE, pair.sender, comm_);
        return shortest_s / 2;
    }

  private:
    /* What this rank sends or receives in a pair. */
    struct Transfer {
        std::size_t pair = 0;
        int peer = 0;
        int messages = 0;
    };

    /* What this rank does at one end of the pairs. */
    std::vector<Transfer> own(const std::vector<Pair>& pairs, const std::vector<int>& messages,
                              End end) const {
        std::vector<Transfer> found;
        for (std::size_t i = 0; i < pairs.size(); ++i) {
            const auto [sender, receiver] = pairs[i];
            const bool sends = end == End::sends;
            if ((sends ? sender : receiver) != rank_) continue;
            found.push_back({i, sends ? receiver : sender, messages[i]});
        }
        return found;
    }

    /* Keeps a windowful of each transfer in flight. `begin(transfer, slot, request)` begins one
       message, `ended(transfer)` is told of each that has ended. */
    template <typename Begin, typename Ended>
    static void stream(const std::vector<Transfer>& transfers, Begin begin, Ended ended) {
        std::vector<MPI_Request> requests(transfers.size() * window, MPI_REQUEST_NULL);
        std::vector<int> left;
        for (std::size_t i = 0; i < transfers.size(); ++i) {
            left.push_back(transfers[i].messages);
            for (std::size_t slot = i * window; slot < (i + 1) * window && left[i] > 0; ++slot) {
                --left[i];
                begin(transfers[i], slot, &requests[slot]);
            }
        }
        while (true) {
            int done = MPI_UNDEFINED;
            MPI_Waitany(static_cast<int>(requests.size()), requests.data(), &done,
                        MPI_STATUS_IGNORE);
            if (done == MPI_UNDEFINED) return;
            const auto slot = static_cast<std::size_t>(done);
            const auto i = slot / window;
            ended(i);
            if (left[i]-- > 0) begin(transfers[i], slot, &requests[slot]);
        }
    }

    void send(const std::vector<Transfer>& transfers) const {
        const std::vector<char> data(probe_bytes);
        stream(
            transfers,
            [&](const Transfer& transfer, std::size_t, MPI_Request *request) {
                MPI_Isend(data.data(), probe_bytes, MPI_BYTE, transfer.peer, 1, comm_, request);
            },
            [](std::size_t) {});
    }

    /* When each message of each transfer arrived. */
    std::vector<std::vector<double>> receive(const std::vector<Transfer>& transfers) const {
        std::vector<std::vector<char>> data(transfers.size() * window,
                                            std::vector<char>(probe_bytes));
        std::vector<std::vector<double>> arrived_s(transfers.size());
        stream(
            transfers,
            [&](const Transfer& transfer, std::size_t slot, MPI_Request *request) {
                MPI_Irecv(data[slot].data(), probe_bytes, MPI_BYTE, transfer.peer, 1, comm_,
                          request);
            },
            [&](std::size_t i) { arrived_s[i].push_back(MPI_Wtime()); });
        return arrived_s;
    }

    MPI_Comm comm_;
    int rank_ = 0;
};

double sum(const std::vector<double>& values) {
    double total = 0.0;
    for (const double value : values) total += value;
    return total;
}

int messages_for(double rate_Bps) {
    const auto wanted = static_cast<int>(wanted_s * rate_Bps / probe_bytes);
    return std::clamp(wanted, messages_min, messages_max);
}

/* b(P) of so many lanes, after a short transfer that says how many messages make a second. */
double rate_of(const Streams& streams, const std::vector<Pair>& pairs) {
    const auto lanes = static_cast<double>(pairs.size());
    const auto all = [&](int messages) { return std::vector<int>(pairs.size(), messages); };
    const double first_Bps = sum(streams.rates_Bps(pairs, all(messages_min)));
    return sum(streams.rates_Bps(pairs, all(messages_for(first_Bps / lanes))));
}

/* b(1), b(2), ...: what was not measured lies on the line between its neighbours. */
std::vector<double> filled(const std::map<int, double>& measured) {
    std::vector<double> curve;
    auto below = measured.begin();
    for (auto above = measured.begin(); above != measured.end(); below = above++) {
        const double steps = above->first - below->first;
        for (int lanes = below->first + 1; lanes < above->first; ++lanes) {
            const double part = (lanes - below->first) / steps;
            curve.push_back(below->second + part * (above->second - below->second));
        }
        curve.push_back(above->second);
    }
    return curve;
}

std::vector<double> curve_between(const Streams& streams, const Site& here, const Site& there) {
    const auto most = std::min(here.ranks.size(), there.ranks.size());
    std::map<int, double> measured;
    double before_Bps = 0.0;
    for (std::size_t count = 1;; count = std::min(2 * count, most)) {
        const double rate_Bps = rate_of(streams, pairs_of(here, there, count));
        measured[static_cast<int>(count)] = rate_Bps;
        if (count == most || rate_Bps < gain_least * before_Bps) break;
        before_Bps = rate_Bps;
    }
    return filled(measured);
}

/* One rank at an end, and each of `others` at the other. */
std::vector<Pair> fan(int one, std::span<const int> others, End end) {
    std::vector<Pair> pairs;
    for (const int other : others) {
        pairs.push_back(end == End::sends ? Pair{one, other} : Pair{other, one});
    }
    return pairs;
}

/* What one rank sends to several of another site, or receives from them, and on how many
   connections: on more it is not 5 % more. */
struct Fan {
    double rate_Bps = 0.0;
    std::vector<Pair> pairs;
};

Fan widest_fan(const Streams& streams, int one, const Site& there, End end) {
    Fan best;
    const std::span<const int> others(there.ranks);
    for (std::size_t count = 1;; count = std::min(2 * count, others.size())) {
        const auto pairs = fan(one, others.first(count), end);
        const double rate_Bps = rate_of(streams, pairs);
        const bool gains = rate_Bps >= gain_least * best.rate_Bps;
        if (rate_Bps > best.rate_Bps) best = {rate_Bps, pairs};
        if (count == others.size() || !gains) return best;
    }
}

/* What the rank of a fan carries in all together with as many pairs inside its own site, of which
   one alone has `lan_Bps`. Both are given messages for as long, and how much longer they take
   together than the longer one by itself says what they take from each other: a connection with a
   short round trip may take all that there is, so that the rates of the pairs do not say it. */
double with_lan_Bps(const Streams& streams, const Fan& widest, const Site& here, double lan_Bps,
                    End end) {
    const auto across = widest.pairs.size();
    const auto inside = std::min(across, here.ranks.size() - 1);
    const double across_Bps = widest.rate_Bps / static_cast<double>(across);
    const double inside_Bps = lan_Bps / static_cast<double>(inside);
    const int messages = messages_for(across_Bps);
    const double alike = messages * inside_Bps / across_Bps;
    std::vector<int> all_messages(across, messages);
    const double across_s = streams.seconds_of(widest.pairs, all_messages);
    const auto local = fan(here.ranks[0], std::span(here.ranks).subspan(1, inside), end);
    const std::vector<int> local_messages(
        inside, static_cast<int>(std::clamp<double>(alike, messages_min, messages_max)));
    const double inside_s = streams.seconds_of(local, local_messages);
    auto all = widest.pairs;
    all.insert(all.end(), local.begin(), local.end());
    all_messages.insert(all_messages.end(), local_messages.begin(), local_messages.end());
    const double together_s = streams.seconds_of(all, all_messages);
    const double longer_s = std::max(across_s, inside_s);
    return (widest.rate_Bps + lan_Bps) * std::min(1.0, longer_s / together_s);
}

/* The name of this rank's site, as the placement gives it. */
std::string site_name_here() {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    char host[MPI_MAX_PROCESSOR_NAME] = "";
    int length = 0;
    MPI_Get_processor_name(host, &length);
    const auto read = collectives::read_placement_file(collectives::placement_file_path());
    const auto found = read ? read->find(host, rank) : std::nullopt;
    return found ? found->site : "";
}

/* What each rank says of itself. Collective. */
std::vector<std::string> said_by_all(MPI_Comm comm, const std::string& here) {
    int ranks = 1;
    MPI_Comm_size(comm, &ranks);
    std::array<char, name_length> own{};
    std::strncpy(own.data(), here.c_str(), own.size() - 1);
    std::vector<char> all(static_cast<std::size_t>(ranks) * own.size());
    MPI_Allgather(own.data(), static_cast<int>(own.size()), MPI_CHAR, all.data(),
                  static_cast<int>(own.size()), MPI_CHAR, comm);
    std::vector<std::string> names;
    for (std::size_t i = 0; i < all.size(); i += own.size()) names.emplace_back(&all[i]);
    return names;
}

/* The site of each rank by the time between the first ranks of hosts. Collective. */
std::vector<int> near_each_other(const Streams& streams, const std::vector<int>& host_of_rank) {
    std::vector<int> first;
    for (std::size_t rank = 0; rank < host_of_rank.size(); ++rank) {
        if (host_of_rank[rank] == static_cast<int>(first.size())) {
            first.push_back(static_cast<int>(rank));
        }
    }
    const auto rank_at = [&](int host) { return first[static_cast<std::size_t>(host)]; };
    const auto site_of_host =
        model::sites_by_latency(static_cast<int>(first.size()), [&](int from, int to) {
            return streams.latency_s({rank_at(from), rank_at(to)});
        });
    std::vector<int> sites;
    for (const int host : host_of_rank) {
        sites.push_back(site_of_host[static_cast<std::size_t>(host)]);
    }
    return sites;
}

/* What a later reader notices stale curves by. */
model::Fingerprint fingerprint_here() {
    const auto mpi = measure::mpi_library();
    model::Fingerprint print;
    print.mpi_family = mpi["family"];
    print.mpi_library = mpi["library"];
    print.kernel = this_host().kernel;
    print.settings = tcp_settings();
    return print;
}

model::Platform empty_platform(const measure::Harness& harness) {
    model::Platform platform;
    platform.lanewise = lw_version();
    platform.created = utc_now();
    platform.ranks = harness.size();
    platform.fingerprint = fingerprint_here();
    for (const auto& place : measure::placement(harness)) {
        platform.hosts.push_back(place["host"]);
        platform.fingerprint.cpus.push_back(place["cpus"]);
    }
    platform.best = "lanes";
    return platform;
}

/* What a pair of hosts inside a site carries; 0 where there is none. */
double lan_rate_Bps(const model::Platform& platform, const std::string& site) {
    for (const auto& lan : platform.lans) {
        if (lan.site == site) return lan.bandwidth_Bps;
    }
    return 0.0;
}

/* Of the first rank of `here` with those of `there`. */
void measure_one_host(const Streams& streams, const Site& here, const Site& there, End end,
                      double lan_Bps, model::HostRates& rates) {
    const auto widest = widest_fan(streams, here.ranks[0], there, end);
    const double together_Bps =
        lan_Bps > 0.0 ? with_lan_Bps(streams, widest, here, lan_Bps, end) : 0.0;
    (end == End::sends ? rates.sends_Bps : rates.receives_Bps) = widest.rate_Bps;
    (end == End::sends ? rates.sends_with_lan_Bps : rates.receives_with_lan_Bps) = together_Bps;
}

/* Between each two sites in both directions, and inside each. */
void measure_sites(const Streams& streams, const collectives::CallShape& shape,
                   model::Platform& platform) {
    const auto sites = collectives::sites_of(shape);
    const auto name = [&](const Site& site) {
        return platform.sites[static_cast<std::size_t>(site.ranks[0])];
    };
    const auto host = [&](int rank) { return shape.hosts[static_cast<std::size_t>(rank)]; };
    for (const auto& here : sites) {
        if (here.ranks.size() < 2 || host(here.ranks[0]) == host(here.ranks[1])) continue;
        const std::vector<Pair> pair = {{here.ranks[0], here.ranks[1]}};
        const double latency_s = streams.latency_s(pair[0]);
        platform.lans.push_back({name(here), latency_s, rate_of(streams, pair)});
    }
    for (const auto& here : sites) {
        for (const auto& there : sites) {
            if (there.number == here.number) continue;
            const double latency_s = streams.latency_s({here.ranks[0], there.ranks[0]});
            platform.lanes.push_back(
                {name(here), name(there), latency_s, curve_between(streams, here, there)});
            auto& rates = platform.lanes.back().one_host;
            measure_one_host(streams, here, there, End::sends, lan_rate_Bps(platform, name(here)),
                             rates);
            measure_one_host(streams, there, here, End::receives,
                             lan_rate_Bps(platform, name(there)), rates);
        }
    }
}

/* Sites as the placement says them, else as they are found. Fails where there is one alone. */
Result<collectives::RankPlacement> located(MPI_Comm comm, const Streams& streams,
                                           model::Platform& platform) {
    auto found = collectives::rank_placement(comm);
    if (!found.complaint.empty()) return Failure{LW_ERR_ARGUMENT, found.complaint};
    platform.sites = said_by_all(comm, site_name_here());
    if (found.sites.empty()) {
        found.sites = near_each_other(streams, found.hosts);
        for (std::size_t rank = 0; rank < found.sites.size(); ++rank) {
            platform.sites[rank] = "site" + std::to_string(found.sites[rank] + 1);
        }
    }
    if (found.site_count() > 1) return found;
    return Failure{LW_ERR_ARGUMENT,
                   "all ranks are at one site; LANEWISE_PLACEMENT names a file "
                   "with the site of each host"};
}

}  // namespace

Result<model::Platform> measure_lanes(const measure::Harness& harness) {
    const Streams streams(harness.comm());
    auto platform = empty_platform(harness);
    const auto found = located(harness.comm(), streams, platform);
    if (!found) return found.failure();
    const collectives::CallShape shape{
        .ranks = platform.ranks, .hosts = found->hosts, .sites = found->sites};
    measure_sites(streams, shape, platform);
    return platform;
}

Result<model::Platform> with_lanes_of(model::Platform kept, const model::Platform& measured,
                                      const std::string& path) {
    if (kept.hosts != measured.hosts) {
        return Failure{LW_ERR_ARGUMENT,
                       path + " is of other hosts or another order of ranks; name another file"};
    }
    kept.sites = measured.sites;
    kept.lanes = measured.lanes;
    kept.lans = measured.lans;
    for (const auto& [key, value] : measured.fingerprint.settings) {
        kept.fingerprint.settings[key] = value;
    }
    return kept;
}

}  // namespace lanewise::tune
