// SPDX-License-Identifier: BSD-3-Clause
//
// See request.hpp. All calls in flight are in one list, which is looked at from
// wherever the MPI makes progress; whoever comes second leaves it to the first.

#include "collectives/execute/request.hpp"

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "collectives/execute/cached_call.hpp"
#include "collectives/execute/prepare.hpp"
#include "collectives/execute/progress.hpp"

namespace lanewise::collectives {
namespace {

/* A call in flight and its request. Lives until the MPI frees the request. */
struct Flight {
    PendingCall pending;
    MPI_Request request = MPI_REQUEST_NULL;
    int code = MPI_SUCCESS;
};

/* What the program learns when it has waited: an error, or a status that says nothing. */
int query(void *state, MPI_Status *status) {
    PMPI_Status_set_elements(status, MPI_BYTE, 0);
    PMPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = MPI_UNDEFINED;
    status->MPI_TAG = MPI_UNDEFINED;
    return static_cast<Flight *>(state)->code;
}

int forget(void *state) {
    delete static_cast<Flight *>(state);
    return MPI_SUCCESS;
}

/* No collective can be cancelled. */
int refuse_cancel(void *, int complete) {
    return complete != 0 ? MPI_SUCCESS : MPI_ERR_REQUEST;
}

/* Messages of a call that failed may still arrive: their memory stays for ever. */
void give_up(PendingCall& pending) {
    static std::mutex& lock = *new std::mutex;
    static auto& given_up = *new std::vector<PendingCall>;
    const std::lock_guard guard(lock);
    given_up.push_back(std::move(pending));
}

/* Goes on; whether the call has ended. */
bool has_landed(Flight& flight) {
    bool done = false;
    flight.code = test(*flight.pending, done, From::progress);
    if (flight.code != MPI_SUCCESS) {
        give_up(flight.pending);
        return true;
    }
    // Not when the request is freed: MPICH calls `forget` where no MPI function may be called.
    if (done) flight.pending.reset();
    return done;
}

/* Once the request is complete, another thread may free the flight at any moment. */
void land(Flight& flight) {
    PMPI_Grequest_complete(flight.request);
}

/* All that is in flight. */
class Flights {
  public:
    void enter(Flight *flight) {
        bool first = false;
        {
            const std::lock_guard guard(lock_);
            arrivals_.push_back(flight);
            first = !std::exchange(watched_, true);
        }
        if (first) begin_looking(look_at_all);
    }

    /* Called by the MPI, by any thread and also while it is being called already. */
    bool look() {
        if (looking_.test_and_set(std::memory_order_acquire)) return true;
        take_arrivals();
        // Landing may run code of the MPI's that looks again, so the list is in order before.
        std::vector<Flight *> landed;
        std::erase_if(all_, [&](Flight *flight) {
            const bool ended = has_landed(*flight);
            if (ended) landed.push_back(flight);
            return ended;
        });
        for (auto *flight : landed) land(*flight);
        const bool more = goes_on();
        looking_.clear(std::memory_order_release);
        return more;
    }

  private:
    static bool look_at_all();

    void take_arrivals() {
        const std::lock_guard guard(lock_);
        all_.insert(all_.end(), arrivals_.begin(), arrivals_.end());
        arrivals_.clear();
    }

    /* Whether there is still something to look at; ends the looking where there is not. */
    bool goes_on() {
        const std::lock_guard guard(lock_);
        watched_ = !all_.empty() || !arrivals_.empty();
        if (!watched_) end_looking();
        return watched_;
    }

    std::mutex lock_; /* never held in a call that may run the MPI's progress */
    std::vector<Flight *> arrivals_;
    bool watched_ = false;
    std::atomic_flag looking_;
    std::vector<Flight *> all_; /* of whoever has set `looking_` */
};

/* Never destroyed: the MPI may look until the very end of the process. */
Flights& flights() {
    static Flights& instance = *new Flights;
    return instance;
}

bool Flights::look_at_all() {
    return flights().look();
}

/* The MPI asks after one; the others are none the worse for it. */
int poll(void *) {
    flights().look();
    return MPI_SUCCESS;
}

constexpr RequestFunctions functions = {query, forget, refuse_cancel, poll};

}  // namespace

bool can_be_requested(const Algorithm& algorithm) {
    if (shares_counts(algorithm)) return false;
    const auto progress = progress_here();
    return progress == Progress::in_any_call ||
           (progress == Progress::when_asked && algorithm.posts_at_once);
}

int start_request(const Call& call, const Choice& choice, bool& served, MPI_Request *request) {
    served = false;
    if (!can_be_requested(*choice.algorithm) || !is_predefined(call.op)) return MPI_SUCCESS;
    auto flight = std::make_unique<Flight>();
    const int started = start(call, choice, served, flight->pending);
    if (started != MPI_SUCCESS) give_up(flight->pending);
    if (started != MPI_SUCCESS || !served) return started;
    const int made = make_request(functions, flight.get(), &flight->request);
    if (made != MPI_SUCCESS) {
        give_up(flight->pending);
        return made;
    }
    *request = flight->request;
    Flight& flying = *flight.release();
    if (has_landed(flying)) {
        land(flying);
    } else {
        flights().enter(&flying);
    }
    return MPI_SUCCESS;
}

void look_at_requests() {
    flights().look();
}

}  // namespace lanewise::collectives
