// SPDX-License-Identifier: BSD-3-Clause
//
// Placement file: the host and the site of each rank, from the file that LANEWISE_PLACEMENT names
// (schema/placement.schema.json), or else from the `sites` of the platform that LANEWISE_PLATFORM
// names, which were measured or written by hand.
//
// A rank is found by the name of the host that it runs on, because a launcher may have placed
// ranks differently from what the file says. If the host is not listed, the rank's number decides.

#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace lanewise::collectives {

struct Location {
    std::string host;
    std::string site;
};

struct PlacementFile {
    std::map<std::string, std::string> site_of_host;
    std::map<int, Location> of_rank;

    bool empty() const { return site_of_host.empty() && of_rank.empty(); }
    /* Of rank `rank` of the whole launch, which runs on `host`. */
    std::optional<Location> find(const std::string& host, int rank) const;
};

/* The path that the environment names; empty if it names none. */
std::string placement_file_path();
/* A failure names the file, the place in it and the remedy. */
Result<PlacementFile> read_placement_file(const std::string& path);
/* `name` stands for the file in a failure. */
Result<PlacementFile> parse_placement_file(std::string_view text, const std::string& name);

}  // namespace lanewise::collectives
