// SPDX-License-Identifier: BSD-3-Clause
//
// The interposer: a handful of functions in place of libibverbs' own, for LD_PRELOAD. It gives
// every RC and UC queue pair of an unmodified program an alternate path as soon as the program has
// made it ready to send. Its symbols have no version, so they take precedence over those of any
// version; functions that it does not define go straight to libibverbs. The data path is not
// touched: posting and polling are calls through the context. Only where the device has one port
// and there is another such device, queue pairs are carried by both (pairs.hpp).

#include <pthread.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "base/use_mark.hpp"
#include "paths/lock_at_end.hpp"
#include "paths/preload/event_queue.hpp"
#include "paths/preload/look_up.hpp"
#include "paths/preload/pairs.hpp"
#include "paths/preload/report.hpp"
#include "paths/preload/settings.hpp"

namespace lanewise::paths::preload {
namespace {

// The functions of libibverbs behind this interposer.
struct Next {
    Calls calls;
    ibv_context *(*open_device)(ibv_device *) = nullptr;
    int (*close_device)(ibv_context *) = nullptr;
    int (*destroy_qp)(ibv_qp *) = nullptr;
    int (*destroy_cq)(ibv_cq *) = nullptr;
    int (*destroy_srq)(ibv_srq *) = nullptr;
};

Next find_next() {
    Next made;
    fill(made.calls.modify_qp, "ibv_modify_qp");
    fill(made.calls.query_qp, "ibv_query_qp");
    fill(made.calls.query_device, "ibv_query_device");
    fill(made.calls.query_gid, "ibv_query_gid");
    fill_if_there(made.calls.query_gid_ex, "_ibv_query_gid_ex", "IBVERBS_1.11");
    fill(made.calls.get_async_event, "ibv_get_async_event");
    fill(made.calls.ack_async_event, "ibv_ack_async_event");
    made.calls.migration_cause = reinterpret_cast<int (*)(ibv_qp *, std::uint64_t)>(
        dlsym(RTLD_NEXT, "lanewise_migration_cause"));
    fill(made.open_device, "ibv_open_device");
    fill(made.close_device, "ibv_close_device");
    fill(made.destroy_qp, "ibv_destroy_qp");
    fill(made.destroy_cq, "ibv_destroy_cq");
    fill(made.destroy_srq, "ibv_destroy_srq");
    return made;
}

// Ends the program with one line if there is no libibverbs.
const Next& next() {
    static const Next found = find_next();
    return found;
}

constexpr std::size_t notices_max = 1000;

struct ProtectedDevice {
    EventQueue event_queue;
    std::unique_ptr<Protection> protection;
};

// Never destroyed: the last call may come after the end of main.
struct Process {
    pid_t number = getpid();
    std::mutex lock;
    ProtectSettings settings;
    bool usable = false;
    std::map<ibv_context *, std::shared_ptr<ProtectedDevice>> devices;
    std::set<const ibv_qp *> loaded_queue_pairs;
    std::set<const ibv_qp *> armed_queue_pairs;
    std::set<const ibv_qp *> unmanaged;
    std::set<std::string> warned;
    ProcessReport report;
};

Process *make_process() {
    auto *made = new Process;
    Result<ProtectSettings> settings = read_settings();
    made->usable = static_cast<bool>(settings);
    if (settings) {
        made->settings = std::move(*settings);
    } else {
        made->settings.strict = is_strict();
        warn(settings.failure().sentence + (made->settings.strict
                                                ? "; --strict refuses all queue pairs"
                                                : "; the program runs unprotected"));
    }
    return made;
}

Process& process() {
    static Process *the = make_process();
    return *the;
}

// What processes of the command have done (base/use_mark.hpp).
constexpr unsigned use_connected = 0;

const UseMark& use_mark() {
    static const UseMark mark("LANEWISE_PROTECT_USE_MARK");
    return mark;
}

void warn_once(const std::string& sentence) {
    if (process().warned.insert(sentence).second) warn(sentence);
}

void count_loaded(const ibv_qp *queue_pair) {
    if (process().loaded_queue_pairs.insert(queue_pair).second) ++process().report.loaded_count;
}

void count_armed(const ibv_qp *queue_pair) {
    count_loaded(queue_pair);
    if (process().armed_queue_pairs.insert(queue_pair).second) ++process().report.armed_count;
}

// Our own device sends datagrams over both of its ports (verbs/abi/config.hpp).
bool covers_datagrams(ibv_context *context) {
    const char *wanted = std::getenv("LANEWISE_HCA_PROTECTED");
    ibv_device_attr device{};
    return wanted && std::string_view(wanted) == "1" &&
           std::string_view(context->device->name) == "lanewise0" &&
           next().calls.query_device(context, &device) == 0 && device.phys_port_cnt == 2;
}

// A queue pair of a type that has no paths, before it sends.
Outcome check_covered(const ibv_qp& queue_pair) {
    if (queue_pair.qp_type == IBV_QPT_UD && covers_datagrams(queue_pair.context)) return Done{};
    const std::string device = queue_pair.context->device->name;
    return Failure{LW_ERR_UNSUPPORTED,
                   "only queue pairs of type RC and UC have paths that can migrate; what the "
                   "program sends over others on " +
                       device + " waits while a port is out, as UCX does when it sets up and ends"};
}

void record(const Notice& notice) {
    const bool shown = notice.kind == NoticeKind::migrated || notice.kind == NoticeKind::error ||
                       notice.kind == NoticeKind::port_down || notice.kind == NoticeKind::port_up;
    const std::lock_guard guard(process().lock);
    if (notice.kind == NoticeKind::loaded) count_loaded(notice.queue_pair);
    if (notice.kind == NoticeKind::armed) count_armed(notice.queue_pair);
    if (shown && process().report.notices.size() < notices_max) {
        process().report.notices.push_back(notice);
    }
}

std::shared_ptr<ProtectedDevice> protected_device(ibv_context *context) {
    const std::lock_guard guard(process().lock);
    const auto found = process().devices.find(context);
    return found == process().devices.end() ? nullptr : found->second;
}

// Whether a second device carries the queue pairs of this one as well.
bool has_second_device(ibv_context *context) {
    const Result<std::shared_ptr<Pair>> pair = make_pair(context, {process().settings, record});
    if (pair) return *pair != nullptr;
    const std::lock_guard guard(process().lock);
    warn_once(pair.failure().sentence);
    return false;
}

// The end of a warning on a device that cannot be protected.
std::string consequence(const std::string& unprotected) {
    return "; " + (process().settings.strict ? "--strict refuses its queue pairs" : unprotected);
}

void protect_device(ibv_context *context) {
    if (has_second_device(context)) return;
    const Calls& calls = next().calls;
    if (const Outcome fits = check_device(context, calls); !fits) {
        const std::lock_guard guard(process().lock);
        warn_once(fits.failure().sentence + consequence("it runs unprotected"));
        return;
    }
    auto made = std::make_shared<ProtectedDevice>();
    EventQueue *event_queue = &made->event_queue;
    if (const Outcome ready = event_queue->check(); !ready) {
        const std::lock_guard guard(process().lock);
        warn_once(ready.failure().sentence + consequence("a device runs unprotected"));
        return;
    }
    ProtectionOptions options;
    options.shown_events = event_queue->descriptor();
    options.rules = process().settings.rules;
    options.directory = process().settings.directory;
    options.notice = record;
    options.forward = [event_queue](const ibv_async_event& event) {
        return event_queue->add(event);
    };
    auto protection = Protection::open(context, calls, std::move(options));
    const std::lock_guard guard(process().lock);
    if (!protection) {
        warn_once(protection.failure().sentence +
                  consequence(std::string(context->device->name) + " runs unprotected"));
        return;
    }
    made->protection = std::move(*protection);
    process().devices.emplace(context, std::move(made));
}

// Queue pairs whose paths the program handles itself.
void leave_to_program(const ibv_qp *queue_pair) {
    const std::lock_guard guard(process().lock);
    process().unmanaged.insert(queue_pair);
}

bool is_left_to_program(const ibv_qp *queue_pair) {
    const std::lock_guard guard(process().lock);
    return process().unmanaged.contains(queue_pair);
}

// Of a device that cannot be protected, of which a line was written when it was opened, or that was
// not opened by ibv_open_device in this process.
int refuse_unknown() {
    const std::lock_guard guard(process().lock);
    if (process().warned.empty())
        warn_once(
            "a device was not opened by ibv_open_device in this process and is not protected"
            "; --strict refuses its queue pairs");
    ++process().report.unprotected_count;
    return EOPNOTSUPP;
}

// 0, or what ibv_modify_qp is to answer.
int on_modified(ibv_qp *queue_pair, unsigned mask, ibv_qp_state state) {
    const std::shared_ptr<ProtectedDevice> device = protected_device(queue_pair->context);
    if (!device) {
        const bool becomes_ready = (mask & IBV_QP_STATE) != 0 && state == IBV_QPS_RTS;
        return becomes_ready && process().settings.strict ? refuse_unknown() : 0;
    }
    if (mask & IBV_QP_STATE && state == IBV_QPS_RTR) use_mark().set(use_connected);
    const bool program_migrates = (mask & (IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE)) != 0;
    if (program_migrates) leave_to_program(queue_pair);
    if (is_left_to_program(queue_pair)) {
        device->protection->forget(queue_pair);
        return 0;
    }
    if (!(mask & IBV_QP_STATE) || (state != IBV_QPS_RTR && state != IBV_QPS_RTS &&
                                   state != IBV_QPS_RESET && state != IBV_QPS_ERR)) {
        return 0;
    }
    const bool has_paths = static_cast<bool>(check_type(*queue_pair));
    const Outcome outcome =
        has_paths ? device->protection->changed(queue_pair) : check_covered(*queue_pair);
    if (state != IBV_QPS_RTS) return 0;
    const std::lock_guard guard(process().lock);
    ProcessReport& report = process().report;
    if (outcome) {
        if (has_paths) {
            count_loaded(queue_pair);
        } else {
            ++report.doubled_count;
        }
        return 0;
    }
    ++(has_paths ? report.unprotected_count : report.pathless_count);
    warn_once(outcome.failure().sentence + (process().settings.strict
                                                ? "; --strict refuses the queue pair"
                                                : "; the queue pair runs unprotected"));
    return process().settings.strict ? EOPNOTSUPP : 0;
}

// Pairs report with their own lock held, so nothing is asked of them under that of the process.
void add(const PairReport& of_pairs, ProcessReport& report) {
    report.armed_count += of_pairs.protected_count;
    report.loaded_count += of_pairs.protected_count + of_pairs.idle_count;
    report.unprotected_count += of_pairs.unprotected_count;
    report.counters.migrations += of_pairs.migrations;
    report.counters.returns += of_pairs.returns;
}

void add_to_report(const PairReport& of_pair) {
    const std::lock_guard guard(process().lock);
    add(of_pair, process().report);
}

// A queue pair of a pair of devices has been modified: 0, or what ibv_modify_qp is to answer.
int on_carried_modified(const Pair& pair, ibv_qp& queue_pair, unsigned mask, ibv_qp_state state) {
    if (!(mask & IBV_QP_STATE)) return 0;
    if (state == IBV_QPS_RTR) use_mark().set(use_connected);
    if (state != IBV_QPS_RTS) return 0;
    if (queue_pair.qp_type == IBV_QPT_RC) {
        const bool is_refused =
            process().settings.strict && pair.devices->lacks_second_path(&queue_pair);
        if (!is_refused) return 0;
        const std::lock_guard guard(process().lock);
        warn_once("--strict refuses queue pairs that are not protected");
        return EOPNOTSUPP;
    }
    const std::lock_guard guard(process().lock);
    ++process().report.pathless_count;
    warn_once(std::string("only queue pairs of type RC are carried by two devices; what the "
                          "program sends over others on ") +
              queue_pair.context->device->name + " waits while its port is out");
    return process().settings.strict ? EOPNOTSUPP : 0;
}

// A child of fork has no thread, and nothing to report of the devices of its parent. It may open
// its own, as servers do that fork for each client.
void begin_in_child() {
    Process& all = process();
    for (auto& [context, device] : all.devices) {
        device->protection->abandon();
        new std::shared_ptr(device);  // it must not be destroyed
    }
    all.devices.clear();
    leave_pairs_to_parent();
    all.loaded_queue_pairs.clear();
    all.armed_queue_pairs.clear();
    all.unmanaged.clear();
    all.report = {};
    all.number = getpid();
    all.lock.unlock();
}

[[gnu::constructor]] void begin() {
    pthread_atfork([] { process().lock.lock(); }, [] { process().lock.unlock(); }, begin_in_child);
}

[[gnu::destructor]] void end() {
    Process& all = process();
    if (!all.usable || all.number != getpid()) return;
    if (use_mark().is_first() && !use_mark().is_set(use_connected)) {
        warn("no program that was started here used a queue pair, so nothing was protected");
        return;
    }
    const PairReport of_pairs = end_pairs();
    const std::unique_lock guard = lock_at_end(all.lock);
    if (!guard) return;
    add(of_pairs, all.report);
    for (const auto& [context, device] : all.devices) {
        all.report.counters = all.report.counters + device->protection->sum_at_end();
    }
    if (is_empty(all.report)) return;
    if (all.settings.report.empty()) {
        warn(sentence_of(all.report));
    } else {
        append(all.settings.report, line_of(all.report));
    }
}

template <typename Element>
int destroy(Element *element, ibv_context *context, int (*call)(Element *)) {
    const std::shared_ptr<ProtectedDevice> device = protected_device(context);
    if (!device) return call(element);
    device->event_queue.close(element, next().calls.ack_async_event);
    const int error = call(element);
    device->event_queue.reopen(element);
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
    const std::shared_ptr<ProtectedDevice> device = protected_device(context);
    if (process().number == getpid()) add_to_report(close_pair(context));
    if (device && process().number == getpid()) {
        const lanewise::paths::PathCounters sum = device->protection->sum();
        {
            const std::lock_guard guard(process().lock);
            process().devices.erase(context);
            process().report.counters = process().report.counters + sum;
        }
        device->protection.reset();
    }
    return next().close_device(context);
}

SHOWN int ibv_modify_qp(ibv_qp *qp, ibv_qp_attr *attr, int attr_mask) {
    const auto mask = static_cast<unsigned>(attr_mask);
    if (const auto pair = pair_on(qp->context)) {
        const int error = qp->qp_type == IBV_QPT_RC ? pair->devices->modify_qp(qp, *attr, mask)
                                                    : next().calls.modify_qp(qp, attr, attr_mask);
        return error ? error : on_carried_modified(*pair, *qp, mask, attr->qp_state);
    }
    const int error = next().calls.modify_qp(qp, attr, attr_mask);
    if (error) return error;
    return on_modified(qp, mask, attr->qp_state);
}

SHOWN int ibv_destroy_qp(ibv_qp *qp) {
    if (qp->qp_type == IBV_QPT_RC) {
        if (const auto pair = pair_on(qp->context)) return pair->devices->destroy_qp(qp);
    }
    if (const std::shared_ptr<ProtectedDevice> device = protected_device(qp->context)) {
        device->protection->look(qp);
        device->protection->forget(qp);
        const std::lock_guard guard(process().lock);
        process().loaded_queue_pairs.erase(qp);
        process().armed_queue_pairs.erase(qp);
        process().unmanaged.erase(qp);
    }
    return destroy(qp, qp->context, next().destroy_qp);
}

SHOWN int ibv_destroy_cq(ibv_cq *cq) {
    if (const auto pair = pair_on(cq->context)) return pair->devices->destroy_cq(cq);
    return destroy(cq, cq->context, next().destroy_cq);
}

SHOWN int ibv_destroy_srq(ibv_srq *srq) {
    if (const auto pair = pair_on(srq->context)) return pair->devices->destroy_srq(srq);
    return destroy(srq, srq->context, next().destroy_srq);
}

SHOWN int ibv_get_async_event(ibv_context *context, ibv_async_event *event) {
    if (const auto pair = pair_on(context)) return pair->event_queue.take(*event);
    const std::shared_ptr<ProtectedDevice> device = protected_device(context);
    if (!device) return next().calls.get_async_event(context, event);
    return device->event_queue.take(*event);
}

SHOWN void ibv_ack_async_event(ibv_async_event *event) {
    next().calls.ack_async_event(event);
}
