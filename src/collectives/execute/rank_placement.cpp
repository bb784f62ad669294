// SPDX-License-Identifier: BSD-3-Clause

#include "collectives/execute/rank_placement.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <string_view>

#include "base/launcher.hpp"
#include "base/numbering.hpp"
#include "collectives/placement_file.hpp"

namespace lanewise::collectives {
namespace {

/* What each rank reports to the others. */
struct RankLocation {
    std::uint64_t host;
    std::uint64_t site; /* 0: not known */
};

const Result<PlacementFile>& placement() {
    static const Result<PlacementFile> instance = placement_file_path().empty()
                                                      ? Result<PlacementFile>(PlacementFile{})
                                                      : read_placement_file(placement_file_path());
    return instance;
}

/* Whether a file should have said where this rank is. A platform need not know of sites. */
bool is_placed() {
    return !placement() || !placement()->empty() || std::getenv("LANEWISE_PLACEMENT");
}

std::uint64_t hash(std::string_view text) {
    return std::uint64_t{std::hash<std::string_view>{}(text)} | 1U;
}

/* This process as its job numbers it. A session has no MPI_COMM_WORLD to be asked. */
int rank_in_job() {
    int initialized = 0;
    PMPI_Initialized(&initialized);
    int rank = 0;
    if (initialized != 0) {
        PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    } else if (const auto launched = launched_as()) {
        rank = launched->rank;
    }
    return rank;
}

RankLocation own_location() {
    char name[MPI_MAX_PROCESSOR_NAME] = "";
    int length = 0;
    PMPI_Get_processor_name(name, &length);
    RankLocation location{hash(name), 0};
    if (!placement()) return location;
    const auto about = placement()->find(name, rank_in_job());
    if (about) location = {hash(about->host), hash(about->site)};
    return location;
}

std::string why_unknown(std::size_t rank) {
    if (!placement()) return placement().failure().sentence;
    return placement_file_path() + " has no site for rank " + std::to_string(rank);
}

}  // namespace

int RankPlacement::host_count() const {
    return hosts.empty() ? 0 : *std::max_element(hosts.begin(), hosts.end()) + 1;
}

int RankPlacement::site_count() const {
    return sites.empty() ? 0 : *std::max_element(sites.begin(), sites.end()) + 1;
}

RankPlacement rank_placement(MPI_Comm comm) {
    RankPlacement found;
    int ranks = 1;
    PMPI_Comm_size(comm, &ranks);
    const RankLocation mine = own_location();
    std::vector<RankLocation> locations(static_cast<std::size_t>(ranks));
    if (PMPI_Allgather(&mine, 2, MPI_UINT64_T, locations.data(), 2, MPI_UINT64_T, comm) !=
        MPI_SUCCESS) {
        return found;
    }
    Numbering<std::uint64_t> hosts;
    Numbering<std::uint64_t> sites;
    for (const auto& location : locations) {
        found.hosts.push_back(hosts.of(location.host));
        found.sites.push_back(sites.of(location.site));
    }
    const auto unknown =
        std::find_if(locations.begin(), locations.end(),
                     [](const RankLocation& location) { return location.site == 0; });
    if (unknown == locations.end()) return found;
    found.sites.clear();
    if (is_placed()) {
        found.complaint = why_unknown(static_cast<std::size_t>(unknown - locations.begin()));
    }
    return found;
}

}  // namespace lanewise::collectives
