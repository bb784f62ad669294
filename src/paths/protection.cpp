// SPDX-License-Identifier: BSD-3-Clause

#include "paths/protection.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>

#include "base/clock.hpp"
#include "paths/event_thread.hpp"
#include "paths/lock_at_end.hpp"

namespace lanewise::paths {
namespace {

bool is_about_paths(const ibv_async_event& event) {
    return event.event_type == IBV_EVENT_PATH_MIG || event.event_type == IBV_EVENT_PATH_MIG_ERR;
}

timespec timespec_of(Nanoseconds duration) {
    constexpr Nanoseconds second = 1'000'000'000;
    return {static_cast<time_t>(duration / second), static_cast<long>(duration % second)};
}

Outcome refused(const char *what, int error) {
    return Failure{LW_ERR_UNSUPPORTED,
                   fmt::format("the device refused {}: {}", what, std::strerror(error))};
}

}  // namespace

PathCounters operator+(const PathCounters& a, const PathCounters& b) {
    return {a.loads + b.loads,           a.loads_refused + b.loads_refused, a.armed + b.armed,
            a.migrations + b.migrations, a.commanded + b.commanded,         a.returns + b.returns,
            a.errors + b.errors};
}

Protection::Protection(ibv_context *context, const Calls& calls, ProtectionOptions options)
    : context_(context),
      calls_(calls),
      options_(std::move(options)),
      events_(context->async_fd),
      flags_(fcntl(events_, F_GETFL)) {}

Result<std::unique_ptr<Protection>> Protection::open(ibv_context *context, const Calls& calls,
                                                     ProtectionOptions options) {
    std::unique_ptr<Protection> made(new Protection(context, calls, std::move(options)));
    if (const Outcome started = made->start(); !started) return started.failure();
    return made;
}

Outcome Protection::start() {
    const Result<int> wake = open_wake();
    if (!wake) return wake.failure();
    wake_ = *wake;
    read_device();
    // An event may be forgotten, with its queue pair, between the notice of it and the taking.
    fcntl(events_, F_SETFL, flags_ | O_NONBLOCK);
    if (options_.shown_events >= 0) context_->async_fd = options_.shown_events;
    return start_thread(thread_, "lanewise-paths", [this] { run(); });
}

Protection::~Protection() {
    stop_ = true;
    wake();
    if (thread_.joinable()) thread_.join();
    context_->async_fd = events_;
    fcntl(events_, F_SETFL, flags_);
    if (wake_ >= 0) close(wake_);
}

void Protection::abandon() {
    thread_.detach();
}

void Protection::wake() {
    eventfd_write(wake_, 1);
}

void Protection::read_device() {
    ports_ = read_ports(context_, calls_);
    for (const Port& port : ports_) {
        if (port.number <= up_.size()) up_[port.number - 1U] = port.active;
    }
}

Protection::Watched *Protection::find(ibv_qp *queue_pair) {
    const auto found = watched_.find(queue_pair);
    return found == watched_.end() ? nullptr : &found->second;
}

void Protection::note(NoticeKind kind, ibv_qp *queue_pair, std::uint8_t port,
                      std::optional<Failure> failure) {
    if (!options_.notice) return;
    notices_.push_back(
        {kind, queue_pair, port, monotonic_ns(), std::move(failure), MigrationCause::unknown});
    wake();
}

// One thread at a time, so that they come in order.
void Protection::deliver_notices() {
    std::unique_lock guard(lock_);
    delivered_.wait(guard, [&] { return delivering_.empty(); });
    delivering_.swap(notices_);
    if (delivering_.empty()) return;
    deliverer_ = std::this_thread::get_id();
    guard.unlock();
    // A callback may forget a queue pair, whose other notices then go.
    for (delivering_at_ = 0; delivering_at_ < delivering_.size(); ++delivering_at_) {
        options_.notice(delivering_[delivering_at_]);
    }
    guard.lock();
    delivering_.clear();
    deliverer_ = {};
    delivered_.notify_all();
}

bool Protection::is_delivering(const ibv_qp *queue_pair) const {
    return std::any_of(delivering_.begin(), delivering_.end(),
                       [&](const Notice& one) { return one.queue_pair == queue_pair; });
}

// Both ends take the same port for the home of a queue pair, since both know both numbers.
Outcome Protection::changed(ibv_qp *queue_pair) {
    if (const Outcome type = check_type(*queue_pair); !type) return type;
    const std::lock_guard guard(lock_);
    Outcome outcome = Done{};
    Watched& watched =
        watched_.try_emplace(queue_pair, Watched{Machine(options_.rules, up_), {}, {}})
            .first->second;
    const std::optional<QueuePairStatus> status = read_status(queue_pair, ports_, calls_);
    if (!status) return Failure{LW_ERR_IO, "the queue pair cannot be queried"};
    std::uint8_t home = status->primary.port;
    const bool other = ((queue_pair->qp_num ^ status->peer_number) & 1U) != 0;
    if (options_.rules.policy == Policy::balance && ports_.size() == 2) home = other ? 2 : 1;
    const Nanoseconds now = monotonic_ns();
    watched.machine.on_communication(status->communication, status->primary.port, home, now);
    if (watched.machine.next(now) == Action::load) {
        outcome = load_as_told(queue_pair, watched, now);
    }
    plan(queue_pair, watched);
    return outcome;
}

void Protection::look(ibv_qp *queue_pair) {
    {
        const std::lock_guard guard(lock_);
        Watched *watched = find(queue_pair);
        if (!watched || watched->machine.path() != PathState::rearm) return;
        observe(queue_pair, *watched, monotonic_ns());
    }
    deliver_notices();
}

void Protection::forget(ibv_qp *queue_pair) {
    std::unique_lock guard(lock_);
    // In a callback, it must not wait for itself.
    const bool delivers = deliverer_ == std::this_thread::get_id();
    const bool forwards = thread_.get_id() == std::this_thread::get_id();
    delivered_.wait(guard, [&] {
        return (delivers || !is_delivering(queue_pair)) && (forwards || forwarded_ != queue_pair);
    });
    const auto is_its = [&](const Notice& one) { return one.queue_pair == queue_pair; };
    if (delivers) {
        const auto later = delivering_.begin() + static_cast<std::ptrdiff_t>(delivering_at_) + 1;
        delivering_.erase(std::remove_if(later, delivering_.end(), is_its), delivering_.end());
    }
    std::erase_if(notices_, is_its);
    const Watched *watched = find(queue_pair);
    if (!watched) return;
    past_counters_ = past_counters_ + watched->machine.counters();
    deadlines_.erase({watched->planned, queue_pair});
    watched_.erase(queue_pair);
}

Result<Alternate> Protection::alternate_for(ibv_qp *queue_pair, const Watched& watched) {
    const std::optional<QueuePairStatus> status = read_status(queue_pair, ports_, calls_);
    if (!status) return Failure{LW_ERR_IO, "the queue pair cannot be queried"};
    if (watched.given) {
        const Route route = route_of(watched.given->address, ports_);
        const Outcome fits = check_alternate(status->primary, route, ports_, status->mtu_bytes);
        if (!fits) return fits.failure();
        return *watched.given;
    }
    const Result<Route> route =
        choose_alternate(status->primary, ports_, status->mtu_bytes,
                         options_.directory ? &*options_.directory : nullptr);
    if (!route) return route.failure();
    return alternate_on(*route, status->like_primary);
}

Outcome Protection::load_now(ibv_qp *queue_pair, Watched& watched, Nanoseconds now) {
    read_device();
    const Result<Alternate> alternate = alternate_for(queue_pair, watched);
    Outcome outcome = Done{};
    if (!alternate) {
        outcome = alternate.failure();
    } else if (const int error = load_alternate(queue_pair, *alternate, calls_)) {
        outcome = refused("the alternate path", error);
    }
    if (!outcome) {
        watched.machine.on_load_refused(now);
        plan(queue_pair, watched);
        return outcome;
    }
    watched.given.reset();
    watched.chosen = *alternate;
    watched.machine.on_loaded(alternate->address.port_num, now);
    plan(queue_pair, watched);
    note(NoticeKind::loaded, queue_pair, alternate->address.port_num);
    return Done{};
}

// By a call, which returns the failure, so that the notice need not tell it again.
Outcome Protection::load_as_told(ibv_qp *queue_pair, Watched& watched, Nanoseconds now) {
    const Outcome outcome = load_now(queue_pair, watched, now);
    if (!outcome) note(NoticeKind::refused, queue_pair, watched.machine.port());
    return outcome;
}

void Protection::load_as_due(ibv_qp *queue_pair, Watched& watched, Nanoseconds now) {
    const Outcome outcome = load_now(queue_pair, watched, now);
    if (outcome) return;
    note(NoticeKind::refused, queue_pair, watched.machine.port(), outcome.failure());
}

Outcome Protection::migrate_now(ibv_qp *queue_pair, Watched& watched, Nanoseconds now) {
    watched.machine.on_commanded(now);
    const int error = paths::migrate(queue_pair, calls_);
    if (error) watched.machine.on_command_refused(now);
    plan(queue_pair, watched);
    return error ? refused("to migrate", error) : Done{};
}

void Protection::observe(ibv_qp *queue_pair, Watched& watched, Nanoseconds now) {
    const std::optional<QueuePairStatus> status = read_status(queue_pair, ports_, calls_);
    const PathState before = watched.machine.path();
    watched.machine.on_observed(status ? status->path : before, now);
    plan(queue_pair, watched);
    if (watched.machine.path() == PathState::armed && before != PathState::armed) {
        note(NoticeKind::armed, queue_pair, watched.machine.port());
    }
}

void Protection::perform(ibv_qp *queue_pair, Watched& watched, Nanoseconds now) {
    const Action action = watched.machine.next(now);
    if (action == Action::query) observe(queue_pair, watched, now);
    if (action == Action::load) load_as_due(queue_pair, watched, now);
    if (action == Action::migrate) static_cast<void>(migrate_now(queue_pair, watched, now));
}

Outcome Protection::specify(ibv_qp *queue_pair, const std::optional<Alternate>& alternate) {
    const std::lock_guard guard(lock_);
    Watched *watched = find(queue_pair);
    if (!watched) return Failure{LW_ERR_NOT_FOUND, "this queue pair is not watched; add it first"};
    read_device();
    const std::optional<Alternate> before = std::exchange(watched->given, alternate);
    const Result<Alternate> usable = alternate_for(queue_pair, *watched);
    if (!usable) {
        watched->given = before;
        return usable.failure();
    }
    watched->given = *usable;
    return Done{};
}

Outcome Protection::load(ibv_qp *queue_pair) {
    const std::lock_guard guard(lock_);
    Watched *watched = find(queue_pair);
    if (!watched) return Failure{LW_ERR_NOT_FOUND, "this queue pair is not watched; add it"};
    if (watched->machine.path() == PathState::armed) {
        return Failure{LW_ERR_ARGUMENT, "the queue pair is armed; its alternate is loaded"};
    }
    return load_as_told(queue_pair, *watched, monotonic_ns());
}

Outcome Protection::migrate(ibv_qp *queue_pair) {
    const std::lock_guard guard(lock_);
    Watched *watched = find(queue_pair);
    if (!watched) return Failure{LW_ERR_NOT_FOUND, "this queue pair is not watched; add it first"};
    observe(queue_pair, *watched, monotonic_ns());
    if (watched->machine.path() != PathState::armed) {
        return Failure{LW_ERR_ARGUMENT,
                       "the queue pair is not armed; load an alternate first, and "
                       "wait for traffic in both directions"};
    }
    if (watched->machine.is_commanded()) {
        return Failure{LW_ERR_ARGUMENT, "the queue pair is migrating already; wait for the notice"};
    }
    return migrate_now(queue_pair, *watched, monotonic_ns());
}

Result<Snapshot> Protection::query(ibv_qp *queue_pair) {
    const std::lock_guard guard(lock_);
    Watched *watched = find(queue_pair);
    if (!watched) return Failure{LW_ERR_NOT_FOUND, "this queue pair is not watched; add it first"};
    observe(queue_pair, *watched, monotonic_ns());
    const Machine& machine = watched->machine;
    return Snapshot{machine.communication(),  machine.path(), machine.port(),
                    machine.alternate_port(), machine.home(), machine.since(),
                    machine.counters()};
}

PathCounters Protection::sum_of_all() const {
    PathCounters made = past_counters_;
    for (const auto& [queue_pair, watched] : watched_) made = made + watched.machine.counters();
    return made;
}

PathCounters Protection::sum() {
    const std::lock_guard guard(lock_);
    return sum_of_all();
}

PathCounters Protection::sum_at_end() {
    const std::unique_lock guard = lock_at_end(lock_);
    return guard ? sum_of_all() : PathCounters{};
}

std::size_t Protection::watched() {
    const std::lock_guard guard(lock_);
    return watched_.size();
}

// Wakes the thread where it would sleep for too long.
void Protection::plan(ibv_qp *queue_pair, Watched& watched) {
    const Nanoseconds deadline = watched.machine.deadline();
    if (deadline == watched.planned) return;
    deadlines_.erase({watched.planned, queue_pair});
    watched.planned = deadline;
    if (deadline == never) return;
    deadlines_.insert({deadline, queue_pair});
    if (deadline < wakes_at_) wake();
}

Nanoseconds Protection::next_wake() {
    const std::lock_guard guard(lock_);
    wakes_at_ = deadlines_.empty() ? never : deadlines_.begin()->first;
    return wakes_at_;
}

void Protection::perform_due() {
    const std::lock_guard guard(lock_);
    wakes_at_ = 0;  // awake
    const Nanoseconds now = monotonic_ns();
    std::vector<ibv_qp *> due;
    for (const auto& [deadline, queue_pair] : deadlines_) {
        if (deadline > now) break;
        due.push_back(queue_pair);
    }
    for (ibv_qp *queue_pair : due) perform(queue_pair, *find(queue_pair), now);
}

void Protection::run() {
    while (!stop_) {
        const Nanoseconds deadline = next_wake();
        const Nanoseconds left = std::max<Nanoseconds>(deadline - monotonic_ns(), 0);
        const timespec timeout = timespec_of(deadline == never ? 0 : left);
        pollfd wanted[] = {{wake_, POLLIN, 0}, {events_, POLLIN, 0}};
        ppoll(wanted, 2, deadline == never ? nullptr : &timeout, nullptr);
        if (stop_) break;
        if (wanted[0].revents) {
            eventfd_t unused = 0;
            eventfd_read(wake_, &unused);
        }
        while (wanted[1].revents & POLLIN && take_event()) {
        }
        perform_due();
        deliver_notices();
    }
    deliver_notices();
}

// Under the lock from the taking on, so that nobody who has called forget() can meet an event of
// that queue pair. While one is handed on without the lock, forget() waits for it.
bool Protection::take_event() {
    std::unique_lock guard(lock_);
    ibv_async_event event{};
    if (!take_event_from(events_, context_, calls_.get_async_event, event)) return false;
    const bool ours = is_about_paths(event) && find(event.element.qp);
    if (ours || !is_about_paths(event)) on_event(event, monotonic_ns());
    if (ours || !options_.forward) {
        calls_.ack_async_event(&event);
        return true;
    }
    forwarded_ = event.element.qp;
    guard.unlock();
    if (!options_.forward(event)) calls_.ack_async_event(&event);
    guard.lock();
    forwarded_ = nullptr;
    delivered_.notify_all();
    return true;
}

void Protection::on_event(const ibv_async_event& event, Nanoseconds now) {
    switch (event.event_type) {
        case IBV_EVENT_PATH_MIG:
        case IBV_EVENT_PATH_MIG_ERR:
            on_path(event.element.qp, event.event_type == IBV_EVENT_PATH_MIG, now);
            return;
        case IBV_EVENT_PORT_ACTIVE:
        case IBV_EVENT_PORT_ERR:
            on_port(static_cast<std::uint8_t>(event.element.port_num),
                    event.event_type == IBV_EVENT_PORT_ACTIVE, now);
            return;
        case IBV_EVENT_GID_CHANGE:
        case IBV_EVENT_LID_CHANGE:
        case IBV_EVENT_CLIENT_REREGISTER: on_addresses(now); return;
        case IBV_EVENT_QP_FATAL:
        case IBV_EVENT_QP_REQ_ERR:
        case IBV_EVENT_QP_ACCESS_ERR:
            if (Watched *watched = find(event.element.qp)) {
                on_failed(event.element.qp, *watched, now);
            }
            return;
        case IBV_EVENT_DEVICE_FATAL:
            for (auto& [queue_pair, watched] : watched_) on_failed(queue_pair, watched, now);
            return;
        default: return;
    }
}

void Protection::on_path(ibv_qp *queue_pair, bool migrated, Nanoseconds now) {
    Watched& watched = *find(queue_pair);
    if (migrated) {
        watched.machine.on_migrated(now);
    } else {
        watched.machine.on_migration_error(now);
    }
    plan(queue_pair, watched);
    note(migrated ? NoticeKind::migrated : NoticeKind::error, queue_pair, watched.machine.port());
    if (migrated && options_.notice) {
        notices_.back().cause = cause_of_last(queue_pair, watched);
    }
}

MigrationCause Protection::cause_of_last(ibv_qp *queue_pair, const Watched& watched) {
    if (!calls_.migration_cause) return MigrationCause::unknown;
    const std::uint64_t number = watched.machine.counters().migrations;
    return static_cast<MigrationCause>(calls_.migration_cause(queue_pair, number));
}

void Protection::on_port(std::uint8_t port, bool up, Nanoseconds now) {
    read_device();
    for (auto& [queue_pair, watched] : watched_) {
        watched.machine.on_port(port, up, now);
        plan(queue_pair, watched);
    }
    note(up ? NoticeKind::port_up : NoticeKind::port_down, nullptr, port);
}

// What was refused for want of an address may go well now.
void Protection::on_addresses(Nanoseconds now) {
    read_device();
    for (auto& [queue_pair, watched] : watched_) {
        watched.machine.on_addresses(now);
        plan(queue_pair, watched);
    }
}

void Protection::on_failed(ibv_qp *queue_pair, Watched& watched, Nanoseconds now) {
    watched.machine.on_communication(Communication::error, 0, 0, now);
    plan(queue_pair, watched);
}

}  // namespace lanewise::paths
