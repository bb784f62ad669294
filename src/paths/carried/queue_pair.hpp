// SPDX-License-Identifier: BSD-3-Clause
//
// A reliable queue pair as the program has it, carried by one on each of two devices, of which one
// is in service at a time (agreement.hpp). The program's requests (requests.hpp) are numbered and
// kept (send_log.hpp) above the hardware, and what arrives is handed on there (deliveries.hpp), so
// both outlive a queue pair of the hardware that fails.
//
// The number that the program sees is that of a datagram queue pair on its device. The program
// tells it to its peer, as it always does; so the two ends find each other without any service, and
// what an end that is not protected sends to it is dropped by the hardware.

#pragma once

#include <infiniband/verbs.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "paths/carried/agreement.hpp"
#include "paths/carried/carrier.hpp"
#include "paths/carried/completions.hpp"
#include "paths/carried/deliveries.hpp"
#include "paths/carried/peer_keys.hpp"
#include "paths/carried/receives.hpp"
#include "paths/carried/requests.hpp"
#include "paths/carried/send_log.hpp"

namespace lanewise::paths::carried {

class DevicePair;

struct PairCounters {
    std::uint64_t protected_count = 0;    // queue pairs that have been in service
    std::uint64_t idle_count = 0;         // that were connected and never were
    std::uint64_t unprotected_count = 0;  // that have no path over the second device
    std::uint64_t migrations = 0;
    std::uint64_t returns = 0;
};

inline PairCounters operator+(const PairCounters& a, const PairCounters& b) {
    return {a.protected_count + b.protected_count, a.idle_count + b.idle_count,
            a.unprotected_count + b.unprotected_count, a.migrations + b.migrations,
            a.returns + b.returns};
}

// All of it wants the lock of the pair of devices held.
class QueuePair {
  public:
    // Null with errno where the devices refuse.
    static std::unique_ptr<QueuePair> make(DevicePair& pair, ibv_pd *domain,
                                           const ibv_qp_init_attr& wanted);
    ~QueuePair();
    QueuePair(const QueuePair&) = delete;
    QueuePair& operator=(const QueuePair&) = delete;

    // What the program does: 0 or an errno.
    int modify(const ibv_qp_attr& attributes, unsigned mask);
    void query(ibv_qp_attr& attributes, ibv_qp_init_attr& init) const;
    int post_send(ibv_send_wr *work, ibv_send_wr **bad);
    int post_receive(ibv_recv_wr *work, ibv_recv_wr **bad);
    // Says good-bye to the peer. What is left answers its letters.
    void depart();
    void forget_completions();

    // What the hardware reports.
    void on_data(const ibv_wc& completion, unsigned device);
    void on_letter(const ibv_wc& completion, unsigned device);
    // A carrier has refused a request of the peer, and takes nothing any more.
    void on_refused_request() { fail(IBV_WC_WR_FLUSH_ERR); }
    // What the hardware has done is not known any more.
    void on_lost_completions() { fail(IBV_WC_GENERAL_ERR); }
    // The shared receive queue has receives again.
    void on_receives();
    // Ports have changed, or time has passed.
    void on_ports();
    void step();
    Nanoseconds deadline() const;

    DevicePair& pair() const { return pair_; }
    PairCounters counters() const;
    bool lacks_second_path() const { return lacks_second_path_; }
    Nanoseconds departed_at() const { return departed_at_; }
    const Carrier& carrier(unsigned device) const { return carriers_[device]; }
    bool belongs_to(const CompletionQueue *queue) const {
        return queue == send_queue_ || queue == receive_queue_;
    }

    // What the program has.
    struct Shown {
        ibv_qp qp{};
        QueuePair *owner = nullptr;
    };
    ibv_qp& shown() { return shown_.qp; }
    const ibv_qp& shown() const { return shown_.qp; }
    static QueuePair& of(ibv_qp *qp) { return *reinterpret_cast<Shown *>(qp)->owner; }

  private:
    QueuePair(DevicePair& pair, ibv_pd *domain, const ibv_qp_init_attr& wanted);
    bool make_carriers(ibv_pd *domain);
    bool make_carrier(unsigned device, ibv_pd *domain);
    bool make_control(unsigned device);
    void begin_anew();
    int reach(const ibv_ah_attr& path);
    bool leads() const;
    void connect();
    void learn(const Letter& letter);
    bool reach_over_second();
    void lack_second_path(const std::string& why);
    std::uint8_t usable() const;
    Terms own_terms() const;
    bool open(unsigned device);
    void freeze();
    void look_frozen();
    void start();
    void wait_in_vain(Nanoseconds now);
    void pump();
    bool post(const Message& message);
    bool translate(const Message& message, std::uint32_t& remote_key);
    void post_receives();
    void post_letter_receive(unsigned device, std::uint32_t slot);
    Letter letter(LetterKind kind) const;
    void send_letter(const Letter& letter, unsigned device);
    void send_everywhere(const Letter& letter);
    DomainRegions own_regions() const;
    void answer_key(const Letter& question, unsigned device);

    void on_trouble();
    void on_peer_gone(std::uint64_t received);
    void on_send_done(const ibv_wc& completion, Carrier& carrier);
    void on_message(std::uint32_t slot, const ibv_wc& completion);
    void on_frame(std::uint32_t slot, std::uint32_t length_bytes, const Frame& frame);
    void on_result(const Frame& frame);
    void deliver_held();
    void make_way_for_results();
    void finish_requests();
    void complete(const Request& request, ibv_wc_status status);
    void fail(ibv_wc_status status, std::uint64_t place = 0);
    void flush_receives();
    int add_request(const ibv_send_wr& work);

    Shown shown_;
    DevicePair& pair_;
    ibv_qp_init_attr init_;
    ibv_qp_attr attributes_{};
    CompletionQueue *send_queue_;
    CompletionQueue *receive_queue_;
    SharedReceives *shared_;
    Receives receives_;
    Memory memory_;
    std::array<Carrier, device_count> carriers_{};
    Agreement agreement_;
    SendLog log_;
    std::uint64_t requests_ = 0;  // of the program, ever
    std::uint64_t received_ = 0;  // messages
    std::vector<std::uint32_t> free_slots_;
    Deliveries deliveries_;
    PeerKeys peer_keys_;
    bool knows_peer_ = false;  // its carriers, and how to reach that of the first device
    bool lacks_second_path_ = false;
    bool peer_gone_ = false;
    bool has_refused_ = false;      // an atomic of the peer
    Nanoseconds fails_at_ = never;  // after the peer is gone
    bool failed_ = false;
    std::uint64_t starts_ = 0;
    std::uint64_t returns_ = 0;
    Nanoseconds departed_at_ = never;
};

}  // namespace lanewise::paths::carried
