// SPDX-License-Identifier: BSD-3-Clause
//
// Network: what a message costs, as `price` needs to know it.
//
// Every model gives the same five times of a message between two ranks; the models differ in which
// of them are zero. LMO has processor times and a wire time per pair, LogGP has overheads, a gap
// and a latency.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <vector>

namespace lanewise::model {

/* The links that a message is on at the same time: indices into Network::shared_links. */
class LinksOfMessage {
  public:
    static constexpr std::size_t most = 5;

    LinksOfMessage() = default;
    LinksOfMessage(std::initializer_list<int> links) {
        for (const int link : links) add(link);
    }

    /* A negative index is no link. */
    void add(int link) {
        if (link >= 0 && count_ < most) links_[count_++] = link;
    }
    bool empty() const { return count_ == 0; }
    const int *begin() const { return links_.data(); }
    const int *end() const { return links_.data() + count_; }

  private:
    std::array<int, most> links_ = {};
    std::uint8_t count_ = 0;
};

/* Of one message; all in seconds. */
struct MessageCost {
    double send_s = 0.0;    /* the sending rank's processor is busy */
    double egress_s = 0.0;  /* the sending host's interface is busy, after the processor */
    double latency_s = 0.0; /* on the way, in nobody's way */
    double ingress_s = 0.0; /* the receiving host's interface is busy; it may overlap egress_s */
    double receive_s = 0.0; /* the receiving rank's processor is busy, after the interface */
    LinksOfMessage shared_links = {};
    double rest_s = 0.0; /* the sending host's interface is not free again before, after egress_s */
    int interface = 0;   /* of both hosts, below interfaces_max; or own_connection */
};
inline constexpr int interfaces_max = 2;
/* In place of an interface: a connection between the two hosts takes egress_s, or longer where its
   part of a shared link is less, and only what these hosts send to each other waits for it. */
inline constexpr int own_connection = -1;

/* A link that many messages may be on at once: b(1), b(2), ... bytes a second in all. */
struct SharedLink {
    std::vector<double> bandwidth_Bps; /* by number of messages under way; the last holds on */
    bool by_latency = false; /* parts are inverse to latencies, as those of TCP's connections are */
};

struct Network {
    int ranks = 0;
    std::vector<int> host; /* of each rank; empty: each rank has a host of its own */
    std::function<MessageCost(int from, int to, std::int64_t bytes)> cost;
    std::vector<SharedLink> shared_links;
    /* A larger message waits for its receive; none: no message waits; -1: even an empty one does.
     */
    std::optional<std::int64_t> eager_bytes;
    double copy_s_per_byte = 0.0;
    double reduce_s_per_byte = 0.0;
};

}  // namespace lanewise::model
