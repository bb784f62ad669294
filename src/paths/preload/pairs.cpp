// SPDX-License-Identifier: BSD-3-Clause

#include "paths/preload/pairs.hpp"

#include <pthread.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "paths/lock_at_end.hpp"
#include "paths/preload/look_up.hpp"

namespace lanewise::paths::preload {
namespace {

// With less there would be no time to find out which device works.
constexpr Nanoseconds retry_window_min_ns = 1'000'000'000;

PairCalls find_calls() {
    PairCalls made;
    carried::Verbs& verbs = made.verbs;
    fill(verbs.get_device_list, "ibv_get_device_list");
    fill(verbs.free_device_list, "ibv_free_device_list");
    fill(verbs.open_device, "ibv_open_device");
    fill(verbs.close_device, "ibv_close_device");
    fill(verbs.query_device, "ibv_query_device");
    fill(verbs.query_gid, "ibv_query_gid");
    fill_if_there(verbs.query_gid_ex, "_ibv_query_gid_ex", "IBVERBS_1.11");
    fill(verbs.alloc_pd, "ibv_alloc_pd");
    fill(verbs.dealloc_pd, "ibv_dealloc_pd");
    fill(verbs.reg_mr_iova2, "ibv_reg_mr_iova2", "IBVERBS_1.8");
    fill(verbs.dereg_mr, "ibv_dereg_mr");
    fill(verbs.create_comp_channel, "ibv_create_comp_channel", "IBVERBS_1.0");
    fill(verbs.destroy_comp_channel, "ibv_destroy_comp_channel", "IBVERBS_1.0");
    fill(verbs.get_cq_event, "ibv_get_cq_event");
    fill(verbs.ack_cq_events, "ibv_ack_cq_events");
    fill(verbs.create_cq, "ibv_create_cq");
    fill(verbs.resize_cq, "ibv_resize_cq");
    fill(verbs.destroy_cq, "ibv_destroy_cq");
    fill(verbs.create_qp, "ibv_create_qp");
    fill(verbs.modify_qp, "ibv_modify_qp");
    fill(verbs.query_qp, "ibv_query_qp");
    fill(verbs.destroy_qp, "ibv_destroy_qp");
    fill(verbs.create_ah, "ibv_create_ah");
    fill(verbs.destroy_ah, "ibv_destroy_ah");
    fill(verbs.get_async_event, "ibv_get_async_event");
    fill(verbs.ack_async_event, "ibv_ack_async_event");
    fill(made.reg_mr, "ibv_reg_mr");
    fill(made.reg_mr_iova, "ibv_reg_mr_iova", "IBVERBS_1.7");
    fill(made.rereg_mr, "ibv_rereg_mr");
    fill(made.query_qp, "ibv_query_qp");
    fill(made.create_srq, "ibv_create_srq");
    fill(made.modify_srq, "ibv_modify_srq");
    fill(made.query_srq, "ibv_query_srq");
    fill(made.destroy_srq, "ibv_destroy_srq");
    fill_if_there(made.query_ece, "ibv_query_ece", "IBVERBS_1.10");
    fill_if_there(made.set_ece, "ibv_set_ece", "IBVERBS_1.10");
    fill_if_there(made.qp_to_qp_ex, "ibv_qp_to_qp_ex", "IBVERBS_1.6");
    fill_if_there(made.query_qp_data_in_order, "ibv_query_qp_data_in_order", "IBVERBS_1.14");
    fill_if_there(made.reg_dmabuf_mr, "ibv_reg_dmabuf_mr", "IBVERBS_1.12");
    return made;
}

std::mutex pairs_lock;
std::map<ibv_context *, std::shared_ptr<Pair>>& pairs() {
    static auto *all = new std::map<ibv_context *, std::shared_ptr<Pair>>;
    return *all;
}

// So that a child finds it free.
void hold_lock_over_fork() {
    static std::once_flag once;
    std::call_once(once, [] {
        pthread_atfork([] { pairs_lock.lock(); }, [] { pairs_lock.unlock(); },
                       [] { pairs_lock.unlock(); });
    });
}

std::optional<int> ports_of(ibv_context *context) {
    ibv_device_attr attributes{};
    if (pair_calls().verbs.query_device(context, &attributes) != 0) return std::nullopt;
    return attributes.phys_port_cnt;
}

bool has_link_layer_of(ibv_context *one, ibv_context *other) {
    ibv_port_attr first{};
    ibv_port_attr second{};
    return carried::query_port(one, first) && carried::query_port(other, second) &&
           first.link_layer == second.link_layer;
}

// The next device in the list that has one port, of the same link layer if there is such a one,
// opened; null if there is none.
ibv_context *open_second(ibv_context *first) {
    const carried::Verbs& verbs = pair_calls().verbs;
    int count = 0;
    ibv_device **list = verbs.get_device_list(&count);
    int mine = 0;
    while (mine < count && std::strcmp(list[mine]->name, first->device->name) != 0) ++mine;
    ibv_context *found = nullptr;
    bool is_alike = false;
    for (int step = 1; step < count && !is_alike; ++step) {
        ibv_context *next = verbs.open_device(list[(mine + step) % count]);
        if (!next) continue;
        is_alike = ports_of(next) == 1 && has_link_layer_of(next, first);
        if (is_alike || (!found && ports_of(next) == 1)) std::swap(found, next);
        if (next) verbs.close_device(next);
    }
    if (list) verbs.free_device_list(list);
    return found;
}

NoticeKind kind_of(carried::Occasion occasion) {
    switch (occasion) {
        case carried::Occasion::port_down: return NoticeKind::port_down;
        case carried::Occasion::port_up: return NoticeKind::port_up;
        default: return NoticeKind::migrated;
    }
}

carried::PairOptions options_of(const PairSettings& settings, EventQueue *event_queue) {
    const MigrationRules& rules = settings.protection.rules;
    carried::PairOptions made;
    made.rules.returns = rules.policy != Policy::stay;
    made.rules.failback_delay_ns = rules.failback_delay_ns;
    made.rules.retry_window_ns = std::max(settings.protection.retry_window_ns, retry_window_min_ns);
    made.balances = rules.policy == Policy::balance;
    made.shown_events = event_queue->descriptor();
    made.forward = [event_queue](const ibv_async_event& event) { return event_queue->add(event); };
    made.note = [note = settings.note](carried::Occasion occasion, std::uint8_t device) {
        if (occasion == carried::Occasion::protection) return;  // counted at the end
        const auto number = static_cast<std::uint8_t>(device + 1);
        note({kind_of(occasion), nullptr, number, monotonic_ns(), {}, MigrationCause::unknown});
    };
    made.warn = [](const std::string& sentence) { warn(sentence); };
    return made;
}

}  // namespace

const PairCalls& pair_calls() {
    static const PairCalls found = find_calls();
    return found;
}

Result<std::shared_ptr<Pair>> make_pair(ibv_context *context, const PairSettings& settings) {
    if (ports_of(context) != 1) return std::shared_ptr<Pair>();
    auto made = std::make_shared<Pair>();
    if (const Outcome ready = made->event_queue.check(); !ready) return ready.failure();
    ibv_context *second = open_second(context);
    if (!second) return std::shared_ptr<Pair>();
    Result<std::unique_ptr<carried::DevicePair>> devices = carried::DevicePair::open(
        context, second, pair_calls().verbs, options_of(settings, &made->event_queue));
    if (!devices) return devices.failure();
    made->devices = std::move(*devices);
    hold_lock_over_fork();
    const std::lock_guard guard(pairs_lock);
    pairs()[context] = made;
    return made;
}

std::shared_ptr<Pair> pair_on(ibv_context *context) {
    const std::lock_guard guard(pairs_lock);
    const auto found = pairs().find(context);
    return found == pairs().end() ? nullptr : found->second;
}

PairReport close_pair(ibv_context *context) {
    std::shared_ptr<Pair> gone;
    {
        const std::lock_guard guard(pairs_lock);
        const auto found = pairs().find(context);
        if (found == pairs().end()) return {};
        gone = std::move(found->second);
        pairs().erase(found);
    }
    const PairReport report = gone->devices->counters();
    gone->devices.reset();
    return report;
}

PairReport end_pairs() {
    PairReport report;
    const std::unique_lock guard = lock_at_end(pairs_lock);
    if (!guard) return report;
    for (const auto& [context, pair] : pairs()) report = report + pair->devices->depart();
    return report;
}

void leave_pairs_to_parent() {
    for (auto& [context, pair] : pairs()) {
        pair->devices->abandon();
        new std::shared_ptr(pair);  // it must not be destroyed
    }
    pairs().clear();
}

}  // namespace lanewise::paths::preload
