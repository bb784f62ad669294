// SPDX-License-Identifier: BSD-3-Clause

#include "collectives/tuned/pending_calls.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>

namespace lanewise::tuned {

constinit std::atomic<int> known_requests{0};

namespace {

struct Pending {
    LoggedCall call{};
    bool logged = false; /* the call belongs into the log, not only the time in it */
    profile::Form form = profile::Form::nonblocking;
    std::shared_ptr<const ExpectedResult> expected{}; /* null: its result is not noted */
    StartedResult result{};
    std::uint64_t starts = 0; /* of a persistent request */
    bool active = false;
    bool asked = false;
    std::int64_t asking_ns = 0; /* in calls that waited for it or tested it */
};

/* An MPI may give the handle of a request to another one as soon as it is complete, before the
   thread that waited for it tells here, and it may have one handle for all that is complete at
   once. */
using Pendings = std::unordered_multimap<MPI_Request, Pending>;

struct Table {
    std::mutex mutex;
    Pendings by_request;
};

Table& table() {
    static Table instance;
    return instance;
}

void count_requests(const Table& in) {
    known_requests.store(static_cast<int>(in.by_request.size()), std::memory_order_relaxed);
}

/* The active call behind a handle that was started last, but not after `asked_ns`: then it was
   another request that was asked for. */
Pendings::iterator active_call(Pendings& in, MPI_Request request, std::int64_t asked_ns) {
    auto found = in.end();
    const auto [begin, end] = in.equal_range(request);
    for (auto place = begin; place != end; ++place) {
        const auto& [handle, one] = *place;
        if (!one.active || one.call.entry_ns > asked_ns) continue;
        if (found == in.end() || one.call.entry_ns > found->second.call.entry_ns) found = place;
    }
    return found;
}

Pendings::iterator persistent_call(Pendings& in, MPI_Request request) {
    const auto [begin, end] = in.equal_range(request);
    const auto found = std::find_if(begin, end, [](const auto& entry) {
        return entry.second.form == profile::Form::persistent;
    });
    return found == end ? in.end() : found;
}

void activate(Pending& pending, std::int64_t entry_ns, std::int64_t exit_ns) {
    pending.call.entry_ns = entry_ns;
    pending.call.exit_ns = exit_ns;
    pending.call.starting_ns = exit_ns - entry_ns;
    pending.active = true;
    pending.asked = false;
    pending.asking_ns = 0;
}

/* Of a call that is complete when it returns from its start. */
void add_complete(Pending& pending) {
    auto& call = pending.call;
    call.asked_after_ns = call.exit_ns - call.entry_ns;
    if (pending.logged) add_to_log(call);
    note_result(pending.result);
}

void count_active(const Pending& pending) {
    if (pending.active && pending.logged) count_unended();
}

// A program that tests again so soon has computed nothing meanwhile.
constexpr std::int64_t polling_pause_max_ns = 1000;

/* Returns the pause before this call that counts as waiting. */
std::int64_t asked(Pending& pending, std::int64_t entry_ns, std::int64_t exit_ns) {
    std::int64_t counted_ns = 0;
    if (std::exchange(pending.asked, true)) {
        const auto pause_ns = entry_ns - pending.call.exit_ns;
        if (pause_ns > 0 && pause_ns < polling_pause_max_ns) counted_ns = pause_ns;
    } else {
        pending.call.asked_after_ns = entry_ns - pending.call.entry_ns;
    }
    pending.asking_ns += counted_ns + exit_ns - entry_ns;
    pending.call.exit_ns = exit_ns;
    return counted_ns;
}

void end_call(Pending& pending) {
    auto& call = pending.call;
    const auto open_ns = call.exit_ns - call.entry_ns - call.asked_after_ns;
    // Threads may ask at the same time.
    call.computing_ns = std::max<std::int64_t>(0, open_ns - pending.asking_ns);
    if (pending.logged) add_to_log(call);
    note_result(std::exchange(pending.result, {}));
    pending.active = false;
}

}  // namespace

void keep_started(const collectives::Call& call, const void *site, MPI_Request request,
                  std::int64_t entry_ns, std::int64_t exit_ns) {
    add_time_in_calls(entry_ns, exit_ns);
    const auto begun = begin_call(call, site, profile::Form::nonblocking);
    auto result = start_result(expect_result(call, profile::Form::nonblocking), site);
    if (!begun && !result.expected && !is_logging()) return;
    auto& in = table();
    const std::scoped_lock lock(in.mutex);
    Pending pending{.call = begun.value_or(LoggedCall{}),
                    .logged = begun.has_value(),
                    .result = std::move(result)};
    activate(pending, entry_ns, exit_ns);
    if (request == MPI_REQUEST_NULL) return add_complete(pending);
    in.by_request.emplace(request, std::move(pending));
    count_requests(in);
}

void keep_prepared(const collectives::Call& call, MPI_Request request) {
    if (inside_recorded || request == MPI_REQUEST_NULL) return;
    const auto prepared = prepare_call(call);
    auto expected = expect_result(call, profile::Form::persistent);
    if (!prepared && !expected && !is_logging()) return;
    auto& in = table();
    const std::scoped_lock lock(in.mutex);
    if (const auto former = persistent_call(in.by_request, request);
        former != in.by_request.end()) {
        count_active(former->second);
        in.by_request.erase(former);
    }
    in.by_request.emplace(request, Pending{.call = prepared.value_or(LoggedCall{}),
                                           .logged = prepared.has_value(),
                                           .form = profile::Form::persistent,
                                           .expected = std::move(expected)});
    count_requests(in);
}

void begin_persistent(const std::vector<MPI_Request>& requests, const void *site,
                      std::int64_t entry_ns, std::int64_t exit_ns) {
    auto& in = table();
    const std::scoped_lock lock(in.mutex);
    bool any = false;
    for (const auto request : requests) {
        const auto found = persistent_call(in.by_request, request);
        if (found == in.by_request.end()) continue;
        auto& pending = found->second;
        count_active(pending);
        pending.call.call = pending.starts++;
        if (pending.logged) pending.call.site = number_of_site(site);
        pending.result = start_result(pending.expected, site);
        activate(pending, entry_ns, exit_ns);
        any = true;
    }
    if (any) add_time_in_calls(entry_ns, exit_ns);
}

void forget_request(MPI_Request request) {
    auto& in = table();
    const std::scoped_lock lock(in.mutex);
    auto found = persistent_call(in.by_request, request);
    if (found == in.by_request.end()) {
        found = active_call(in.by_request, request, std::numeric_limits<std::int64_t>::max());
    }
    if (found == in.by_request.end()) return;
    count_active(found->second);
    in.by_request.erase(found);
    count_requests(in);
}

void drop_pending() {
    auto& in = table();
    const std::scoped_lock lock(in.mutex);
    for (const auto& [request, pending] : in.by_request) {
        count_active(pending);
    }
    in.by_request.clear();
    count_requests(in);
}

void CompletionCall::end() {
    const auto exit_ns = monotonic_ns();
    auto& in = table();
    const std::scoped_lock lock(in.mutex);
    bool any = false;
    std::int64_t pause_ns = 0;
    auto left_ns = exit_ns;
    for (std::size_t i = 0; i < handles_.size(); ++i) {
        const auto found = active_call(in.by_request, handles_[i], entry_ns_);
        if (found == in.by_request.end()) continue;
        any = true;
        auto& pending = found->second;
        const bool is_done =
            all_done_ || std::ranges::find(done_, static_cast<int>(i)) != done_.end();
        // A program that does nothing but test waits in this bookkeeping, too.
        if (!is_done) left_ns = monotonic_ns();
        pause_ns = std::max(pause_ns, asked(pending, entry_ns_, is_done ? exit_ns : left_ns));
        if (!is_done) continue;
        end_call(pending);
        if (pending.form == profile::Form::nonblocking) in.by_request.erase(found);
    }
    if (any) add_time_in_calls(entry_ns_ - pause_ns, left_ns);
    count_requests(in);
}

}  // namespace lanewise::tuned
