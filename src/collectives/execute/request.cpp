// SPDX-License-Identifier: BSD-3-Clause
//
// All calls in flight are in one list, which is polled wherever the MPI makes progress: some of
// them each time, in turn, so that thousands do not slow down every call. While one thread polls
// the list, other threads return at once.

#include "collectives/execute/request.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "collectives/execute/cached_call.hpp"
#include "collectives/execute/held_handles.hpp"
#include "collectives/execute/prepare.hpp"
#include "collectives/execute/progress.hpp"

namespace lanewise::collectives {
namespace {

/* A call in flight, until the MPI frees its request. */
class CallInFlight : public InFlight {
  public:
    bool go_on() override {
        bool done = false;
        code = test(*pending, done, CalledFrom::progress);
        // Not when the request is freed: MPICH calls `release` where no MPI function may be called.
        if (done) pending.reset();
        return done;
    }

    PendingCall pending;
};

/* Called when the program has waited. The status is empty, as that of any collective. */
int query(void *state, MPI_Status *status) {
    PMPI_Status_set_elements(status, MPI_BYTE, 0);
    PMPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = MPI_UNDEFINED;
    status->MPI_TAG = MPI_UNDEFINED;
    return static_cast<InFlight *>(state)->code;
}

int release(void *state) {
    delete static_cast<InFlight *>(state);
    return MPI_SUCCESS;
}

/* No collective can be cancelled. */
int refuse_cancel(void *, int complete) {
    return complete != 0 ? MPI_SUCCESS : MPI_ERR_REQUEST;
}

/* Once the request is complete, another thread may free the call at any moment. */
void complete(InFlight& in_flight) {
    PMPI_Grequest_complete(in_flight.request);
}

constexpr std::size_t polled_at_once = 16;

/* The list. */
class CallsInFlight {
  public:
    void add(InFlight *in_flight) {
        bool first = false;
        {
            const std::lock_guard guard(lock_);
            added_.push_back(in_flight);
            first = !std::exchange(registered_, true);
        }
        if (first) start_polling(poll_all);
    }

    /* The MPI may call this from any thread, and also from within itself. Whether calls are left.
     */
    bool poll() {
        if (polling_.test_and_set(std::memory_order_acquire)) return true;
        take_added();
        // Completing may run code of the MPI that polls again, so the list is put in order before.
        for (auto *in_flight : take_ended()) complete(*in_flight);
        const bool more = is_needed();
        polling_.clear(std::memory_order_release);
        return more;
    }

  private:
    static bool poll_all();

    void take_added() {
        const std::lock_guard guard(lock_);
        all_.insert(all_.end(), added_.begin(), added_.end());
        added_.clear();
    }

    /* Lets the next calls in turn go on. */
    std::vector<InFlight *> take_ended() {
        std::vector<InFlight *> ended;
        for (auto left = std::min(all_.size(), polled_at_once); left > 0; --left) {
            if (next_ >= all_.size()) next_ = 0;
            auto *in_flight = all_[next_];
            if (!in_flight->go_on()) {
                ++next_;
                continue;
            }
            ended.push_back(in_flight);
            all_[next_] = all_.back();
            all_.pop_back();
        }
        return ended;
    }

    /* Whether there is still something to poll; stops polling otherwise. */
    bool is_needed() {
        const std::lock_guard guard(lock_);
        registered_ = !all_.empty() || !added_.empty();
        if (!registered_) stop_polling();
        return registered_;
    }

    std::mutex lock_; /* never held in a call that may run the MPI's progress */
    std::vector<InFlight *> added_;
    bool registered_ = false;
    std::atomic_flag polling_;
    std::vector<InFlight *> all_; /* belongs to the thread that has set `polling_` */
    std::size_t next_ = 0;        /* of them; so does this */
};

/* Never destroyed, because the MPI may poll until the very end of the process. */
CallsInFlight& calls_in_flight() {
    static CallsInFlight& instance = *new CallsInFlight;
    return instance;
}

bool CallsInFlight::poll_all() {
    return calls_in_flight().poll();
}

/* The MPI asks about one request until it is complete; all of them have their turn. */
int poll(void *) {
    calls_in_flight().poll();
    return MPI_SUCCESS;
}

constexpr RequestFunctions functions = {query, release, refuse_cancel, poll};

}  // namespace

bool can_be_requested(const Algorithm& algorithm) {
    if (shares_counts(algorithm)) return false;
    const auto progress = progress_here();
    return progress == Progress::in_any_call ||
           (progress == Progress::when_asked && algorithm.posts_at_once);
}

int make_request(InFlight& in_flight) {
    return make_request(functions, &in_flight, &in_flight.request);
}

void let_go_on(std::unique_ptr<InFlight> in_flight) {
    InFlight& released = *in_flight.release();
    if (released.go_on()) {
        complete(released);
    } else {
        calls_in_flight().add(&released);
    }
}

namespace {

/* Gives a call that has begun its request. An MPI error code. */
int give_request(std::unique_ptr<CallInFlight> in_flight, MPI_Request *request) {
    const int made = make_request(*in_flight);
    if (made != MPI_SUCCESS) return made;
    *request = in_flight->request;
    let_go_on(std::move(in_flight));
    return MPI_SUCCESS;
}

bool may_go_on(const Call& call, const Choice& choice) {
    return can_be_requested(*choice.algorithm) &&
           (frees_are_intercepted || is_predefined_op(call.op));
}

}  // namespace

int start_request(const Call& call, const Choice& choice, CommunicatorState& state, bool& served,
                  MPI_Request *request) {
    served = false;
    if (!may_go_on(call, choice)) return MPI_SUCCESS;
    auto in_flight = std::make_unique<CallInFlight>();
    const int started = start(call, choice, state, served, in_flight->pending);
    if (started != MPI_SUCCESS || !served) return started;
    return give_request(std::move(in_flight), request);
}

int start_request(const Call& call, const Choice& choice, bool& served, MPI_Request *request) {
    served = false;
    auto *state = state_for({call.collective, Calling::nonblocking}, call.comm);
    return state ? start_request(call, choice, *state, served, request) : MPI_ERR_INTERN;
}

int prepare_request(const Call& call, const Choice& choice, CommunicatorState& state,
                    SharedPersistentCall& prepared) {
    if (!may_go_on(call, choice)) return MPI_SUCCESS;
    return prepare_persistent(call, choice, state, prepared);
}

int start_request(const SharedPersistentCall& call, MPI_Request *request) {
    auto in_flight = std::make_unique<CallInFlight>();
    in_flight->pending = start(call);
    return give_request(std::move(in_flight), request);
}

void poll_requests() {
    calls_in_flight().poll();
}

}  // namespace lanewise::collectives
