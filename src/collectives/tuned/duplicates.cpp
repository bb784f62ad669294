// SPDX-License-Identifier: BSD-3-Clause

#include "collectives/tuned/duplicates.hpp"

#include <array>
#include <memory>
#include <utility>

#include "collectives/execute/progress.hpp"
#include "collectives/execute/request.hpp"
#include "collectives/tuned/agreement.hpp"
#include "collectives/tuned/communicator_ids.hpp"
#include "collectives/tuned/environment.hpp"
#include "collectives/tuned/intercept.hpp"

namespace lanewise::tuned {
namespace {

using collectives::Progress;

/* The communicator of the program and the private one, until both are there. */
class DuplicateInFlight : public collectives::InFlight {
  public:
    explicit DuplicateInFlight(std::shared_ptr<CommunicatorState> original)
        : original_(std::move(original)) {}

    /* An error code of MPI. A function that fails may leave anything behind. */
    int begin(const Idup& idup) {
        const int first = PMPI_Comm_idup(original_->duplicate, &private_, requests_.data());
        if (first != MPI_SUCCESS) {
            requests_[0] = MPI_REQUEST_NULL;
            return first;
        }
        const int second = idup(&comm_, &requests_[1]);
        if (second != MPI_SUCCESS) {
            comm_ = MPI_COMM_NULL;
            requests_[1] = MPI_REQUEST_NULL;
        }
        return second;
    }
    MPI_Comm comm() const { return comm_; }

    bool go_on() override {
        bool done = false;
        code = test_all(requests_, done, collectives::CalledFrom::progress);
        if (code == MPI_SUCCESS && done) adopt();
        return code != MPI_SUCCESS || done;
    }

  private:
    void adopt() {
        // The program's own could not be begun.
        if (comm_ == MPI_COMM_NULL) return;
        auto *state = collectives::state_of(comm_);
        if (!state || state->interception.compared) return;
        collectives::take_duplicate(*state, private_);
        state->tags.count_to(original_->tags.last());
        state->placement = original_->placement;
        // With them, whether neighbours repeat.
        state->knows_neighbors = original_->knows_neighbors;
        state->neighbors = original_->neighbors;
        state->has_ranks_of_world = original_->has_ranks_of_world;
        agree_like(*original_, *state);
    }

    std::shared_ptr<CommunicatorState> original_;
    MPI_Comm comm_ = MPI_COMM_NULL;
    MPI_Comm private_ = MPI_COMM_NULL;
    std::array<MPI_Request, 2> requests_{MPI_REQUEST_NULL, MPI_REQUEST_NULL};
};

/* The state of a communicator whose ranks agreed on what their duplicates need to know; else null,
   on all of them. */
CommunicatorState *agreed_state(MPI_Comm comm) {
    if (!active || inside || comm == MPI_COMM_NULL) return nullptr;
    if (environment().same_bits == SameBits::unasked || !has_world()) return nullptr;
    // Before MPICH 4.3 a request goes on only while the program asks after it.
    if (collectives::progress_here() != Progress::in_any_call) return nullptr;
    auto *state = collectives::state_of(comm);
    const bool agreed = state && state->interception.same_bits != SameBits::unasked &&
                        state->duplicate != MPI_COMM_NULL;
    return agreed ? state : nullptr;
}

int begin_to_duplicate(MPI_Comm comm, MPI_Comm *new_comm, MPI_Request *request, const Idup& idup) {
    auto *original = new_comm && request ? agreed_state(comm) : nullptr;
    if (!original) return idup(new_comm, request);
    const Inside here;
    auto made = std::make_unique<DuplicateInFlight>(original->shared_from_this());
    int code = make_request(*made);
    if (code != MPI_SUCCESS) return raise_error(comm, code);
    MPI_Request later = made->request;
    code = made->begin(idup);
    // Both MPIs set the handle at once, and say later that it may be used.
    const MPI_Comm begun = made->comm();
    // Other ranks take part in the private one even if that of the program could not be begun, so
    // it goes on to its end. It is not freed: that would be a matter of all ranks.
    let_go_on(std::move(made));
    if (code != MPI_SUCCESS) {
        PMPI_Request_free(&later);
        return raise_error(comm, code);
    }
    *new_comm = begun;
    *request = later;
    return MPI_SUCCESS;
}

}  // namespace

int duplicate_later(MPI_Comm comm, MPI_Comm *new_comm, MPI_Request *request, const Idup& idup) {
    const int code = begin_to_duplicate(comm, new_comm, request, idup);
    if (code == MPI_SUCCESS) give_id_later(*new_comm, comm);
    return code;
}

}  // namespace lanewise::tuned
