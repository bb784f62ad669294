// SPDX-License-Identifier: BSD-3-Clause
//
// The path file (schema/paths.schema.json): which ports the hosts have, and on which rail each
// lies. Ports on one rail reach each other. `lanewise rdma discover` writes it.

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "paths/route.hpp"

namespace lanewise::paths {

struct ListedPort {
    std::string device;
    std::uint8_t number = 0;
    std::string rail;
    std::vector<Gid> gids;
    std::uint16_t lid = 0;
};

struct ListedHost {
    std::string name;
    std::vector<ListedPort> ports;
};

class Directory {
  public:
    explicit Directory(std::vector<ListedHost> hosts) : hosts_(std::move(hosts)) {}

    // Where the host that has `peer` is reached from my address `mine`: the address of the same
    // kind on the same rail; none where the file names no such address, or names `peer` itself.
    std::optional<Gid> peer_gid(const Gid& peer, const Gid& mine) const;
    std::optional<std::uint16_t> peer_lid(std::uint16_t peer, std::uint16_t mine) const;

    const std::vector<ListedHost>& hosts() const { return hosts_; }

  private:
    std::vector<ListedHost> hosts_;
};

// From the text of the file named `name`; a failure says the place and the key.
Result<Directory> read_directory(const std::string& text, const std::string& name);
Result<Directory> load_directory(const std::string& name);

}  // namespace lanewise::paths
