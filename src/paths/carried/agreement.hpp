// SPDX-License-Identifier: BSD-3-Clause
//
// How the two ends of a queue pair agree which of two devices carries it. Time is divided into
// epochs; in each, one queue pair of the hardware on one device carries the messages.
//
// One end leads, which both know from their numbers. It begins an epoch, with a statement that says
// on which device, how many messages it has received so far, and with which packet number it
// starts. The other end takes its old queue pair out of service, opens the one of the new epoch and
// states the same of itself. Then the leader opens its own, and says so. Either end begins to send
// when it knows that the other one's is open.
//
//   leader    proposed ─────────────────▶ open (sends)
//   follower             ready (receives) ──────────▶ open (sends)
//
// An end states how many messages it has received only when its queue pair of the previous epoch is
// in the error state and has returned all its work: from then on that number does not change, and
// whatever is still under way to that queue pair is dropped by the hardware. So the peer knows
// which of its messages were executed (send_log.hpp).
//
// Statements travel in datagrams over both devices, and are repeated until they are answered. Each
// is the whole state of its sender, so that losing, doubling or delaying one does no harm: what is
// of an older epoch is ignored. An end whose queue pair has failed, or whose port went down, says
// so (trouble) until the leader begins the next epoch.
//
// What is under way to a queue pair that is out of service may come so late that its device carries
// the next but one epoch. The packet numbers of a device therefore go on behind those of its last
// epoch, with a gap: to the hardware such packets are copies of old ones, which change nothing.
// Numbers drawn at random would now and then lie where they are taken for packets to come.
//
// Both ends of a queue pair of the hardware must have the same path MTU, and the one that reads
// must not have more reads on their way than the other takes. Each states what its devices can do,
// and both keep to the less of the two. What is stated in an epoch does not change in it.
//
// Pure: statements, troubles and times come in; what is to be done and said comes out.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "paths/path_machine.hpp"

namespace lanewise::paths::carried {

inline constexpr unsigned device_count = 2;
// A port that has come up is left in peace for so long. Whoever sends to a switch that does not
// forward yet loses the request for the peer's hardware address, and the kernel repeats that only
// after a second.
inline constexpr Nanoseconds settle_ns = 100'000'000;
// Between the packet numbers of two epochs on one device. More than are ever on their way, and so
// few that several epochs lie within the half of all numbers that counts as old.
inline constexpr std::uint32_t psn_gap = 1U << 20;
inline constexpr std::uint32_t psn_mask = 0xffffff;
// A bit of what was heard: this end says it at all.
inline constexpr std::uint8_t tells_heard = 0x80;

enum class Stage : std::uint8_t { hello, trouble, proposed, ready, open, gone };

// What both ends of a queue pair of the hardware must keep to; 0 where an end does not say.
struct Terms {
    std::uint8_t mtu = 0;    // enum ibv_mtu
    std::uint8_t reads = 0;  // on their way at a time
    bool operator==(const Terms&) const = default;
};

// What one end says of itself.
struct Statement {
    std::uint32_t epoch = 0;
    Stage stage = Stage::hello;
    std::uint8_t device = 0;  // of the epoch: 0 is the program's, 1 the other
    std::uint8_t usable = 0;  // bit d: the port of device d is up
    std::uint8_t heard = 0;   // bit d: the peer, on device d, since what this end said before
    std::uint32_t psn = 0;    // with which this end starts sending in the epoch
    Terms terms;              // that this end can keep to in the epoch
    std::uint16_t reserved = 0;
    std::uint64_t received = 0;  // messages in all epochs before this one
};
static_assert(sizeof(Statement) == 24);

// A queue pair that is connected to itself is alone: it leads, and agrees at once.
enum class Role : std::uint8_t { leader, follower, alone };

struct AgreementRules {
    bool returns = true;  // to the home device, once it is up
    Nanoseconds failback_delay_ns = 1'000'000'000;
    Nanoseconds retry_window_ns = 10'000'000'000;
};

enum class Task : std::uint8_t {
    none,
    freeze,  // take the queue pair of the epoch out of service; then call on_frozen()
    open,    // open the queue pair of the epoch's device; then call on_opened() or on_trouble()
    start,   // send, from what peer_received() says; then call on_started()
    fail,    // the peer, or the hardware, has not answered for too long
};

class Agreement {
  public:
    Agreement(const AgreementRules& rules, std::uint32_t seed) : rules_(rules), random_(seed | 1) {
        for (std::uint32_t& psn : next_psn_) psn = draw();
    }

    // What this end can keep to, in the epochs that begin from now on.
    void offer(Terms own) { offered_ = own; }
    // The program has connected the queue pair, whose home is device `home`.
    void begin(Role role, std::uint8_t home, std::uint8_t usable, Nanoseconds now);
    // The peer said this, in a datagram that came through `device`.
    void on_statement(const Statement& heard, std::uint8_t device, Nanoseconds now);
    void on_ports(std::uint8_t usable, Nanoseconds now);
    void on_trouble(Nanoseconds now);
    void on_frozen(std::uint64_t received, Nanoseconds now);
    void on_opened(Nanoseconds now);
    void on_started(Nanoseconds now);
    // So many packets, with as many numbers, are sent in the epoch.
    void on_posted(std::uint32_t packets) { next_psn_[device_] += packets; }
    // So many requests wait. Only if there are any can there be a failure.
    void on_work(std::size_t requests, Nanoseconds now);

    Task task(Nanoseconds now) const;
    // What is to be said now, if anything; said once.
    bool must_speak(Nanoseconds now);
    Statement statement() const;
    // When to look again, whatever happens before.
    Nanoseconds deadline() const;

    std::uint32_t epoch() const { return epoch_; }
    std::uint8_t device() const { return device_; }
    std::uint8_t home() const { return home_; }
    bool is_freezing() const { return is_freezing_; }
    Stage stage() const { return stage_; }
    std::uint32_t psn() const { return psn_; }
    std::uint32_t peer_psn() const { return peer_psn_; }
    std::uint64_t peer_received() const { return peer_received_; }
    // Of the epoch.
    Terms terms() const;

  private:
    bool is_usable(std::uint8_t device) const;
    std::uint8_t other(std::uint8_t device) const { return device ^ 1U; }
    bool is_settled() const { return stage_ == Stage::open && agreed_; }
    bool is_away() const;
    bool is_mute() const;
    void speak_soon(Nanoseconds now);
    void propose(std::uint8_t device, Nanoseconds now);
    void plan_proposal(std::uint8_t device, Nanoseconds now);
    void advance(Nanoseconds now);
    void follow(const Statement& heard, Nanoseconds now);
    void lead(const Statement& heard, Nanoseconds now);
    void answer_itself();
    void look_home(const Statement& heard, std::uint8_t heard_on, Nanoseconds now);
    std::uint32_t draw();
    std::uint32_t first_psn();

    AgreementRules rules_;
    std::uint32_t random_;
    bool begun_ = false;
    bool leads_ = false;
    bool is_alone_ = false;
    std::uint8_t home_ = 0;
    std::uint8_t usable_ = 0;
    std::uint8_t peer_usable_ = 3;
    std::array<Nanoseconds, device_count> heard_at_{never, never};
    std::uint8_t told_ = 0;  // on which devices it has been heard of late, as said last
    std::uint32_t epoch_ = 0;
    std::uint8_t device_ = 0;
    Stage stage_ = Stage::hello;
    bool agreed_ = false;   // the leader knows that the follower is open
    bool is_live_ = false;  // the queue pair of the epoch takes messages
    bool is_freezing_ = false;
    bool may_open_ = false;
    bool may_start_ = false;
    std::uint32_t psn_ = 0;
    std::uint32_t peer_psn_ = 0;
    std::array<std::uint32_t, device_count> next_psn_{};  // behind those of the last epoch
    Terms offered_;
    Terms own_terms_;
    Terms peer_terms_;
    std::uint64_t received_ = 0;
    std::uint64_t peer_received_ = 0;
    Nanoseconds repeat_at_ = never;
    Nanoseconds interval_ns_ = 0;
    std::optional<std::uint8_t> planned_device_;
    Nanoseconds propose_at_ = never;
    Nanoseconds proposed_at_ = 0;
    std::uint32_t failed_epochs_ = 0;  // since the last that was settled for a while
    Nanoseconds waits_since_ = never;
    Nanoseconds unsettled_since_ = 0;
    Nanoseconds home_since_ = never;  // since when the home device has been heard from
    Nanoseconds home_heard_ = 0;
    Nanoseconds returned_at_ = never;
    Nanoseconds failback_ns_ = 0;
};

}  // namespace lanewise::paths::carried
