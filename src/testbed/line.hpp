// SPDX-License-Identifier: BSD-3-Clause
//
// Line: one direction of a link, in virtual time.
//
// A packet that is offered waits for its flow's turn where flows are capped, then for the link,
// then crosses: it is due when its last bit has left at the link's rate, plus the delay.  A queue
// in bytes stands before the cap and before the link; segments that do not fit are dropped and
// counted.
// From a length of `mark_bytes` on, the queue before the link marks packets that may be marked, the
// more the longer it is, and all at four times that: as random early detection does (RFC 2309, RFC
// 3168), but by what is in the queue now, as DCTCP and DCQCN ask for. All times are arguments, so
// the same offers give the same deliveries however late the caller is.

#pragma once

#include <cstdint>
#include <optional>
#include <queue>
#include <random>
#include <unordered_map>
#include <vector>

#include "testbed/packet.hpp"
#include "testbed/settings.hpp"

namespace lanewise::testbed {

struct Counters {
    std::uint64_t offered = 0; /* segments, as all of these */
    std::uint64_t delivered = 0;
    std::uint64_t delivered_bytes = 0;
    std::uint64_t lost = 0;
    std::uint64_t held = 0;
    std::uint64_t marked = 0;
    std::uint64_t dropped_by_queue = 0;
    std::uint64_t dropped_by_cut = 0;
};

/* How much later than its turn a held segment arrives. */
constexpr std::int64_t hold_ns = 1'000'000;

class Line {
  public:
    Line(const LinkSettings& settings, Layer layer, std::uint64_t seed);

    void offer(std::int64_t now_ns, PacketView packet);
    /* When `take` next has something to do; nothing while the line is empty. */
    std::optional<std::int64_t> next_ns() const;
    /* The next packet that is due. */
    std::optional<Packet> take(std::int64_t now_ns);
    /* Takes back that a packet was delivered: the far end has refused it. */
    void not_delivered(PacketView packet);

    /* Holds at once: what still waits leaves at the new rate and takes the new delay and jitter,
     * behind what is on the way already.  A cut drops both. */
    void change(std::int64_t now_ns, const LinkSettings& settings);
    const LinkSettings& settings() const { return settings_; }
    const Counters& counters() const { return counters_; }

  private:
    struct Item {
        std::int64_t time_ns = 0;
        std::uint64_t order = 0;
        std::int64_t extra_ns = 0;
        PacketShape shape;
        Packet packet;
        std::int64_t left_ns = 0;             /* when the last bit is on the link */
        std::optional<double> jitter_share{}; /* of the most, from -1 to 1, once it is drawn */
    };
    struct Later {
        bool operator()(const Item& a, const Item& b) const {
            return a.time_ns != b.time_ns ? a.time_ns > b.time_ns : a.order > b.order;
        }
    };
    /* The earliest on top; std::priority_queue does not let its top be moved away. */
    struct Agenda : std::vector<Item> {
        void add(Item item);
        Item pop();
    };

    void accept(std::int64_t now_ns, Packet packet, const PacketShape& shape,
                std::int64_t extra_ns);
    void accept_in_pieces(std::int64_t now_ns, PacketView packet, std::uint32_t segments);
    void enter(Item item);
    void fly(Item item);
    std::int64_t jitter_ns_of(Item& item);
    void release(std::int64_t now_ns);
    void drop_all();
    void wait_anew(std::int64_t now_ns, double former_rate);
    void leave_anew(std::int64_t now_ns, double former_rate);
    bool keep_what_fits(std::int64_t now_ns, std::int64_t free_ns, double rate, Item& item);
    void mark_some(std::int64_t now_ns, Item& item);
    double uniform();

    LinkSettings settings_;
    Layer layer_;
    Counters counters_;
    std::mt19937_64 random_;
    std::int64_t free_ns_ = 0;
    std::int64_t last_due_ns_ = 0;
    std::uint64_t order_ = 0;
    std::unordered_map<std::uint64_t, std::int64_t> flow_free_ns_;
    Agenda waiting_; /* for the link, behind the cap of their flow */
    Agenda flying_;
};

}  // namespace lanewise::testbed
