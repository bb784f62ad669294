// SPDX-License-Identifier: BSD-3-Clause
//
// See lane_rates.hpp.

#include "tune/lane_rates.hpp"

#include <lanewise/status.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
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

class Streams {
  public:
    explicit Streams(MPI_Comm comm) : comm_(comm) { MPI_Comm_rank(comm, &rank_); }

    /* Bytes a second of each pair while all send; the same on every rank. Collective. */
    std::vector<double> rates_Bps(const std::vector<Pair>& pairs, int messages) const {
        std::vector<double> rates(pairs.size(), 0.0);
        MPI_Barrier(comm_);
        for (std::size_t i = 0; i < pairs.size(); ++i) {
            if (pairs[i].sender == rank_) send(pairs[i].receiver, messages);
            if (pairs[i].receiver == rank_) rates[i] = receive(pairs[i].sender, messages);
        }
        MPI_Allreduce(MPI_IN_PLACE, rates.data(), static_cast<int>(rates.size()), MPI_DOUBLE,
                      MPI_SUM, comm_);
        return rates;
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
    void send(int receiver, int messages) const {
        const std::vector<char> data(probe_bytes);
        std::array<MPI_Request, window> requests;
        requests.fill(MPI_REQUEST_NULL);
        for (int i = 0; i < messages; ++i) {
            auto& slot = requests[static_cast<std::size_t>(i % window)];
            MPI_Wait(&slot, MPI_STATUS_IGNORE);
            MPI_Isend(data.data(), probe_bytes, MPI_BYTE, receiver, 1, comm_, &slot);
        }
        MPI_Waitall(window, requests.data(), MPI_STATUSES_IGNORE);
    }

    double receive(int sender, int messages) const {
        std::vector<std::vector<char>> data(window, std::vector<char>(probe_bytes));
        std::array<MPI_Request, window> requests;
        for (std::size_t i = 0; i < window; ++i) {
            MPI_Irecv(data[i].data(), probe_bytes, MPI_BYTE, sender, 1, comm_, &requests[i]);
        }
        std::vector<double> arrived_s;
        for (int i = 0; i < messages; ++i) {
            const auto slot = static_cast<std::size_t>(i % window);
            MPI_Wait(&requests[slot], MPI_STATUS_IGNORE);
            arrived_s.push_back(MPI_Wtime());
            if (i + window >= messages) continue;
            MPI_Irecv(data[slot].data(), probe_bytes, MPI_BYTE, sender, 1, comm_, &requests[slot]);
        }
        return steady_rate_Bps(arrived_s);
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
    const double first_Bps = sum(streams.rates_Bps(pairs, messages_min));
    return sum(streams.rates_Bps(pairs, messages_for(first_Bps / lanes)));
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

/* Between each two sites in both directions, and inside each. */
void measure_sites(const Streams& streams, const collectives::CallShape& shape,
                   model::Platform& platform) {
    const auto sites = collectives::sites_of(shape);
    const auto name = [&](const Site& site) {
        return platform.sites[static_cast<std::size_t>(site.ranks[0])];
    };
    const auto host = [&](int rank) { return shape.hosts[static_cast<std::size_t>(rank)]; };
    for (const auto& here : sites) {
        if (here.ranks.size() > 1 && host(here.ranks[0]) != host(here.ranks[1])) {
            const std::vector<Pair> pair = {{here.ranks[0], here.ranks[1]}};
            const double latency_s = streams.latency_s(pair[0]);
            platform.lans.push_back({name(here), latency_s, rate_of(streams, pair)});
        }
        for (const auto& there : sites) {
            if (there.number == here.number) continue;
            const double latency_s = streams.latency_s({here.ranks[0], there.ranks[0]});
            platform.lanes.push_back(
                {name(here), name(there), latency_s, curve_between(streams, here, there)});
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
