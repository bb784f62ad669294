// SPDX-License-Identifier: BSD-3-Clause
//
// The interposer: a handful of verbs in the place of libibverbs' own, for LD_PRELOAD. It gives
// every RC and UC queue pair of a program that knows nothing of it an alternate path, as soon as
// the program has made it ready to send. Its symbols have no version, so they stand before those
// of any version; what it does not define goes straight to libibverbs. The way of data is not
// touched: posting and polling are calls through the context.

#include <pthread.h>
#include <unistd.h>

#include <cerrno>
#include <map>
#include <memory>
#include <set>

#include "paths/preload/inbox.hpp"
#include "paths/preload/next.hpp"
#include "paths/preload/report.hpp"
#include "paths/preload/wishes.hpp"

namespace lanewise::paths::preload {
namespace {

constexpr std::size_t notices_max = 1000;

struct Guarded {
    int device_events = -1;  // the device's own descriptor
    Inbox inbox;
    std::unique_ptr<Protection> protection;
};

// Never taken down: the last call may come after the end of main.
struct Process {
    pid_t number = getpid();
    std::mutex lock;
    Wishes wishes;
    bool usable = false;
    std::map<ibv_context *, std::shared_ptr<Guarded>> guarded;
    std::set<const ibv_qp *> protected_ones;
    std::set<const ibv_qp *> left_alone;
    std::set<std::string> complained;
    Tale tale;
};

Process *make_process() {
    auto *made = new Process;
    Result<Wishes> wishes = read_wishes();
    made->usable = static_cast<bool>(wishes);
    if (wishes) {
        made->wishes = std::move(*wishes);
    } else {
        complain(wishes.failure().sentence + "; the program runs unprotected");
    }
    return made;
}

Process& process() {
    static Process *the = make_process();
    return *the;
}

void complain_once(const std::string& sentence) {
    if (process().complained.insert(sentence).second) complain(sentence);
}

void count_protected(const ibv_qp *queue_pair) {
    if (process().protected_ones.insert(queue_pair).second) ++process().tale.protected_count;
}

void remember(const Notice& notice) {
    const bool told = notice.kind == NoticeKind::migrated || notice.kind == NoticeKind::error ||
                      notice.kind == NoticeKind::port_down || notice.kind == NoticeKind::port_up;
    const std::lock_guard guard(process().lock);
    if (notice.kind == NoticeKind::loaded) count_protected(notice.queue_pair);
    if (told && process().tale.notices.size() < notices_max) {
        process().tale.notices.push_back(notice);
    }
}

std::shared_ptr<Guarded> guarded_of(ibv_context *context) {
    const std::lock_guard guard(process().lock);
    const auto found = process().guarded.find(context);
    return found == process().guarded.end() ? nullptr : found->second;
}

void protect_device(ibv_context *context) {
    const Calls& calls = next().calls;
    if (const Outcome fits = check_device(context, calls); !fits) {
        const std::lock_guard guard(process().lock);
        complain_once(fits.failure().sentence + "; it runs unprotected");
        return;
    }
    auto made = std::make_shared<Guarded>();
    made->device_events = context->async_fd;
    Inbox *inbox = &made->inbox;
    ProtectionOptions options;
    options.rules = process().wishes.rules;
    options.directory = process().wishes.directory;
    options.notice = remember;
    options.hand_on = [inbox](const ibv_async_event& event) { return inbox->add(event); };
    made->protection = std::make_unique<Protection>(context, calls, std::move(options));
    context->async_fd = inbox->descriptor();
    const std::lock_guard guard(process().lock);
    process().guarded.emplace(context, std::move(made));
}

// 0, or what ibv_modify_qp is to answer.
int attend(ibv_qp *queue_pair, unsigned mask, ibv_qp_state state) {
    const std::shared_ptr<Guarded> guarded = guarded_of(queue_pair->context);
    if (!guarded) return 0;
    const bool own_way = (mask & (IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE)) != 0;
    {
        const std::lock_guard guard(process().lock);
        if (own_way) process().left_alone.insert(queue_pair);
        if (process().left_alone.contains(queue_pair)) {
            guarded->protection->forget(queue_pair);
            return 0;
        }
    }
    if (!(mask & IBV_QP_STATE) || (state != IBV_QPS_RTR && state != IBV_QPS_RTS &&
                                   state != IBV_QPS_RESET && state != IBV_QPS_ERR)) {
        return 0;
    }
    const Outcome outcome = guarded->protection->changed(queue_pair);
    if (state != IBV_QPS_RTS) return 0;
    const std::lock_guard guard(process().lock);
    Tale& tale = process().tale;
    if (outcome) {
        count_protected(queue_pair);
        return 0;
    }
    if (check_type(*queue_pair)) {
        ++tale.unprotected_count;
    } else {
        ++tale.pathless_count;
    }
    complain_once(outcome.failure().sentence + (process().wishes.strict
                                                    ? "; --strict refuses the queue pair"
                                                    : "; the queue pair runs unprotected"));
    return process().wishes.strict ? EOPNOTSUPP : 0;
}

// A child of fork has no thread, and nothing to tell.
void leave_to_parent() {
    for (auto& [context, guarded] : process().guarded) guarded->protection->abandon();
    process().usable = false;
}

[[gnu::constructor]] void begin() {
    pthread_atfork(nullptr, nullptr, leave_to_parent);
}

[[gnu::destructor]] void end() {
    Process& all = process();
    if (!all.usable || all.number != getpid()) return;
    const std::unique_lock guard(all.lock, std::try_to_lock);
    if (!guard) return;
    for (const auto& [context, guarded] : all.guarded) {
        all.tale.counters = all.tale.counters + guarded->protection->sum();
    }
    if (all.tale.protected_count + all.tale.unprotected_count + all.tale.pathless_count == 0)
        return;
    if (all.wishes.report.empty()) {
        complain(sentence_of(all.tale));
    } else {
        append(all.wishes.report, line_of(all.tale));
    }
}

template <typename Element>
int destroy(Element *element, ibv_context *context, int (*call)(Element *)) {
    const std::shared_ptr<Guarded> guarded = guarded_of(context);
    if (!guarded) return call(element);
    guarded->inbox.close(element, next().calls.ack_async_event);
    const int error = call(element);
    guarded->inbox.reopen(element);
    return error;
}

}  // namespace
}  // namespace lanewise::paths::preload

using namespace lanewise::paths::preload;

#define SHOWN extern "C" __attribute__((visibility("default")))

SHOWN ibv_context *ibv_open_device(ibv_device *device) {
    ibv_context *context = next().open_device(device);
    if (context && process().usable) protect_device(context);
    return context;
}

SHOWN int ibv_close_device(ibv_context *context) {
    const std::shared_ptr<Guarded> guarded = guarded_of(context);
    if (guarded && process().number == getpid()) {
        const lanewise::paths::Counters sum = guarded->protection->sum();
        {
            const std::lock_guard guard(process().lock);
            process().guarded.erase(context);
            process().tale.counters = process().tale.counters + sum;
        }
        guarded->protection.reset();
        context->async_fd = guarded->device_events;
    }
    return next().close_device(context);
}

SHOWN int ibv_modify_qp(ibv_qp *qp, ibv_qp_attr *attr, int attr_mask) {
    const int error = next().calls.modify_qp(qp, attr, attr_mask);
    if (error) return error;
    return attend(qp, static_cast<unsigned>(attr_mask), attr->qp_state);
}

SHOWN int ibv_destroy_qp(ibv_qp *qp) {
    if (const std::shared_ptr<Guarded> guarded = guarded_of(qp->context)) {
        guarded->protection->forget(qp);
        const std::lock_guard guard(process().lock);
        process().protected_ones.erase(qp);
        process().left_alone.erase(qp);
    }
    return destroy(qp, qp->context, next().destroy_qp);
}

SHOWN int ibv_destroy_cq(ibv_cq *cq) {
    return destroy(cq, cq->context, next().destroy_cq);
}

SHOWN int ibv_destroy_srq(ibv_srq *srq) {
    return destroy(srq, srq->context, next().destroy_srq);
}

SHOWN int ibv_get_async_event(ibv_context *context, ibv_async_event *event) {
    const std::shared_ptr<Guarded> guarded = guarded_of(context);
    if (!guarded) return next().calls.get_async_event(context, event);
    return guarded->inbox.take(*event);
}

SHOWN void ibv_ack_async_event(ibv_async_event *event) {
    next().calls.ack_async_event(event);
}
