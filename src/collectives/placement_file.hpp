// SPDX-License-Identifier: BSD-3-Clause
//
// Whereabouts: at which host and which site a rank is, by the file that
// LANEWISE_PLACEMENT names (schema/placement.schema.json), else by the `sites`
// of the platform that LANEWISE_PLATFORM names, measured or written by hand. A
// rank is found by the name of the host that it runs on, since a launcher may
// have placed ranks otherwise than the file says; where hosts are not listed, by
// its number.

#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace lanewise::collectives {

struct Whereabout {
    std::string host;
    std::string site;
};

struct Whereabouts {
    std::map<std::string, std::string> site_of_host;
    std::map<int, Whereabout> of_rank;

    bool empty() const { return site_of_host.empty() && of_rank.empty(); }
    /* Of rank `rank` of the whole launch, which says that it runs on `host`. */
    std::optional<Whereabout> find(const std::string& host, int rank) const;
};

/* The file that says where ranks are; empty where none is named. */
std::string whereabouts_path();
/* Reads a file; a failure names the file, the place in it and the remedy. */
Result<Whereabouts> read_whereabouts(const std::string& path);
/* Reads text; `name` stands for the file in a failure. */
Result<Whereabouts> parse_whereabouts(std::string_view text, const std::string& name);

}  // namespace lanewise::collectives
