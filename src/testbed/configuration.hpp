// SPDX-License-Identifier: BSD-3-Clause
//
// Configuration: the links of a delay line and requests to change them, as JSON. The links are as
// schema/delay-line.schema.json says:
//
//   {"control": "/tmp/c", "links": [{"name": "a-b", "kind": "tun", "seed": 1,
//     "ends": [{"namespace": "/run/netns/a", "device": "wan"}, …],
//     "settings": {"rate_bits_per_s": 1e9, "delay_ns": 5000000, "queue_bytes": 1250000}}]}
//
// A request on the control socket is {"status": true} or {"link": "a-b", "settings": {…}}, which
// changes the settings that it names; with "direction": 0 only of what the first end sends, with 1
// of what the second does.

#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "base/result.hpp"
#include "testbed/line.hpp"

namespace lanewise::testbed {

struct End {
    std::string network_namespace; /* a file of the namespace; empty: this one */
    std::string device;
};

struct Link {
    std::string name;
    Layer layer = Layer::ip;
    std::uint64_t seed = 1;
    std::array<End, 2> ends;
    LinkSettings settings;
};

struct Configuration {
    std::string control; /* the path of a socket, empty for none */
    std::vector<Link> links;
};

struct Request {
    std::string link;                     /* empty: all, in a request for their status */
    std::optional<std::size_t> direction; /* none: both */
    Json settings;
};

Result<Configuration> read_configuration(const std::string& text);
Result<Request> read_request(const std::string& text);
Result<LinkSettings> changed(LinkSettings settings, const Json& values);
Json as_json(const LinkSettings& settings);
Json as_json(const Counters& counters);

}  // namespace lanewise::testbed
