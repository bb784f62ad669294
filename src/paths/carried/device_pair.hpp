// SPDX-License-Identifier: BSD-3-Clause
//
// Two devices of one port each, of which the program has opened the first. It keeps the context of
// that device, with other functions behind it: reliable queue pairs, completion queues and shared
// receive queues are ours (queue_pair.hpp), protection domains and memory regions are those of the
// first device, each with a second on the second. Queue pairs of other types are the first device's
// own, and not protected.
//
// Whoever polls or posts makes progress, under one lock. A thread reads letters, lets time pass and
// takes the devices' events; it also makes progress while the program does not poll.

#pragma once

#include <infiniband/verbs.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "paths/carried/agreement.hpp"
#include "paths/carried/completions.hpp"
#include "paths/carried/queue_pair.hpp"
#include "paths/carried/receives.hpp"
#include "paths/carried/regions.hpp"
#include "paths/carried/verbs.hpp"
#include "paths/route.hpp"

namespace lanewise::paths::carried {

enum class Occasion : std::uint8_t { protection, migration, returning, port_down, port_up };

// Who makes progress while the program does not: a thread, or whoever calls serve().
enum class Helper : std::uint8_t { thread, caller };

// What addresses have in common over which two ends can meet: IPv4, IPv6 or link-local, as `like`
// is, and the type.
struct GidKind {
    Gid like{};
    GidType type = GidType::unknown;
};

struct PairOptions {
    AgreementRules rules;
    Nanoseconds (*now)() = monotonic_ns;
    Helper helper = Helper::thread;
    // Of the completion queues of carriers, which grow with the number of queue pairs.
    int entries_first = 1 << 16;
    bool balances = false;  // homes are spread over the devices by the numbers of queue pairs
    int shown_events = -1;  // the descriptor of events that the program sees; -1: the device's own
    // An event of the first device that is not about carriers: true if it was taken over.
    std::function<bool(const ibv_async_event&)> forward;
    std::function<void(Occasion, std::uint8_t device)> note;
    std::function<void(const std::string&)> warn;
};

class DevicePair {
  public:
    // Takes over `second`, and gives it back when it is destroyed.
    static Result<std::unique_ptr<DevicePair>> open(ibv_context *first, ibv_context *second,
                                                    const Verbs& verbs, PairOptions options);
    ~DevicePair();
    DevicePair(const DevicePair&) = delete;
    DevicePair& operator=(const DevicePair&) = delete;
    // After fork: the child leaves everything to the parent.
    void abandon();

    // What the program calls; locks.
    int query_device(ibv_device_attr& attributes) const;
    int query_device_ex(const ibv_query_device_ex_input *input, ibv_device_attr_ex& attributes,
                        std::size_t bytes) const;
    ibv_pd *alloc_pd();
    int dealloc_pd(ibv_pd *domain);
    ibv_mr *reg_mr(ibv_pd *domain, void *memory, std::size_t bytes, std::uint64_t address,
                   unsigned access);
    int dereg_mr(ibv_mr *region);
    ibv_comp_channel *create_channel();
    int destroy_channel(ibv_comp_channel *channel);
    int resize_cq(ibv_cq *queue, int entries);
    ibv_cq *create_cq(int entries, void *cq_context, ibv_comp_channel *channel, int vector);
    int destroy_cq(ibv_cq *queue);
    int poll_cq(ibv_cq *queue, int count, ibv_wc *into);
    int req_notify_cq(ibv_cq *queue, int solicited_only);
    ibv_srq *create_srq(ibv_pd *domain, const ibv_srq_init_attr& wanted);
    int destroy_srq(ibv_srq *queue);
    int post_srq_receive(ibv_srq *queue, ibv_recv_wr *work, ibv_recv_wr **bad);
    ibv_qp *create_qp(ibv_pd *domain, ibv_qp_init_attr *wanted);
    int modify_qp(ibv_qp *queue_pair, const ibv_qp_attr& attributes, unsigned mask);
    int query_qp(ibv_qp *queue_pair, ibv_qp_attr *attributes, ibv_qp_init_attr *init);
    int destroy_qp(ibv_qp *queue_pair);
    // Whether a queue pair is known to have no path over the second device.
    bool lacks_second_path(ibv_qp *queue_pair);
    int post_send(ibv_qp *queue_pair, ibv_send_wr *work, ibv_send_wr **bad);
    int post_receive(ibv_qp *queue_pair, ibv_recv_wr *work, ibv_recv_wr **bad);
    PairCounters counters();
    // A round of progress without the program, as the thread makes them.
    struct Rest {
        Nanoseconds until = never;  // when the next is due, if nothing happens before
        bool watches_data = true;   // the program does not poll
    };
    Rest serve();
    // At the end of the program: says good-bye for queue pairs that it has left behind, and returns
    // what all have done; nothing if the program ends in the middle of a call.
    PairCounters depart();

    // What queue pairs of this folder use, under the lock.
    const Verbs& verbs() const { return verbs_; }
    ibv_context *context(unsigned device) const { return sides_[device].context; }
    const ibv_context_ops& operations(unsigned device) const { return sides_[device].operations; }
    ibv_pd *control_domain(unsigned device) const { return sides_[device].control_domain; }
    ibv_cq *control_queue(unsigned device) const { return sides_[device].control_queue; }
    ibv_cq *data_queue(unsigned device) const { return sides_[device].data_queue; }
    ibv_pd *domain_on(unsigned device, ibv_pd *domain) const;
    const Regions& regions() const { return regions_; }
    const PairOptions& options() const { return options_; }
    Nanoseconds now() const { return options_.now(); }
    std::uint8_t usable() const { return usable_; }
    // The devices whose ports have been up for a while, as a mask like `usable`; all that are up if
    // there is none, and all if none is up.
    std::uint8_t settled() const;
    // The kind of address at both ends of a path from the program's device.
    GidKind kind_of(const ibv_ah_attr& path) const;
    // The address of a device that is of this kind; its index in `index`.
    Gid own_gid(unsigned device, const GidKind& kind, std::uint8_t& index) const;
    std::uint16_t own_lid(unsigned device) const { return sides_[device].lid; }
    // Whether a path from the program's device leads back to it.
    bool is_own(const ibv_ah_attr& path) const;
    // Whether the second device has an address of the kind that the path uses.
    bool reaches_like(const ibv_ah_attr& path) const;
    unsigned mtu(unsigned device) const { return sides_[device].mtu; }
    std::uint32_t message_bytes_max() const;
    std::uint8_t reads_max(unsigned device) const { return sides_[device].reads_max; }
    std::uint32_t draw();
    void warn_once(const std::string& sentence);
    void add_numbers(QueuePair *queue_pair);
    void wake();
    // Reads what the hardware has completed on the carriers of a device.
    void read_data(unsigned device);
    void count_live(unsigned device, int by) { sides_[device].live += by; }

  private:
    struct Side {
        ibv_context *context = nullptr;
        ibv_context_ops operations{};
        ibv_pd *control_domain = nullptr;
        ibv_comp_channel *control_channel = nullptr;
        ibv_comp_channel *data_channel = nullptr;
        ibv_cq *control_queue = nullptr;
        ibv_cq *data_queue = nullptr;
        std::uint16_t lid = 0;
        unsigned mtu = 0;  // enum ibv_mtu
        std::uint8_t reads_max = 1;
        std::uint32_t message_bytes_max = 0;
        ibv_device_attr limits{};
        int live = 0;  // carriers that may have completions
        int events = -1;
        Nanoseconds up_since = 0;
        std::unordered_map<std::uint32_t, QueuePair *> by_carrier;
        std::unordered_map<std::uint32_t, QueuePair *> by_control;
    };

    DevicePair(const Verbs& verbs, PairOptions options)
        : verbs_(verbs), options_(std::move(options)) {}
    PairCounters sum() const;
    void limit(ibv_device_attr& attributes) const;
    ibv_device_attr limits() const;
    bool fits(const ibv_qp_init_attr& wanted) const;
    bool grow(ibv_cq *queue, std::size_t entries, int most);
    bool has_room_for_another();
    Outcome fill(unsigned device, ibv_context *context);
    void replace_operations();
    void restore_operations();
    void progress();
    // False if it stopped before the end, so that others get the lock.
    bool read_control(unsigned device);
    void step_all();
    void drop_departed();
    void remove_numbers(const QueuePair& queue_pair);
    void read_ports();
    GidType type_at(unsigned device, unsigned index) const;
    bool take_event(unsigned device);
    void on_lost_completions(unsigned device, const ibv_cq *queue);
    void on_refused_request(unsigned device, const ibv_qp& queue_pair);
    bool program_polls() const;
    void arm(ibv_cq *queue, unsigned device);
    void drain(ibv_comp_channel *channel);
    Nanoseconds next_deadline() const;
    ibv_cq *plain_of(ibv_cq *queue);
    ibv_qp *create_plain(ibv_pd *domain, ibv_qp_init_attr *wanted);
    void run();

    Verbs verbs_;
    PairOptions options_;
    std::mutex lock_;
    std::array<Side, device_count> sides_{};
    bool replaced_ = false;
    verbs_context extended_before_{};
    std::unordered_map<const ibv_pd *, ibv_pd *> second_domains_;
    Regions regions_;
    std::vector<std::unique_ptr<QueuePair>> queue_pairs_;
    std::vector<std::unique_ptr<QueuePair>> departed_;
    std::vector<CompletionQueue *> plain_queues_;
    PairCounters past_;
    std::uint8_t usable_ = 0;
    std::uint32_t random_ = 1;
    std::set<std::string> warned_;
    int armed_queues_ = 0;
    bool reading_ = false;
    Nanoseconds polled_at_ = 0;
    int wake_ = -1;
    int flags_ = 0;
    std::atomic<bool> stop_ = false;
    std::atomic<bool> abandoned_ = false;
    std::thread thread_;
};

}  // namespace lanewise::paths::carried
