// SPDX-License-Identifier: BSD-3-Clause
//
// Frontiers between MPI ranks, rank r above rank r + 1.
//
// One thread makes every call of MPI; waves leave rows with it and find rows
// that have come. What a rank sent downwards in its last passes is kept beside
// the store: a rank that was killed a pass behind gets it again. A pass that is
// thrown away begins a new epoch; letters of the one before are not looked at.
//
// Where rows are too long to be held, nothing of that is kept: ranks end each pass
// together, and one that was killed before the others had ended it goes back with
// them to the pass before.

#pragma once

#include <mpi.h>

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "wavefront/kernel/kernel.hpp"
#include "wavefront/run/halo_exchange.hpp"

namespace lanewise::wavefront {

/* When ranks end their passes: each by itself, or all together. */
enum class Pace { own, together };

class MpiFrontiers final : public Frontiers {
  public:
    /* `row_bytes` of one frontier, where rows are whole; `iterations` that this rank's part has
     * gone through; every rank of `comm` calls this together. */
    MpiFrontiers(MPI_Comm comm, std::string folder, std::size_t row_bytes, std::uint64_t iterations,
                 Reading reading, Pace pace);
    ~MpiFrontiers() override;
    MpiFrontiers(const MpiFrontiers&) = delete;
    MpiFrontiers& operator=(const MpiFrontiers&) = delete;

    /* Sends what the neighbours lack from before: the part's own rows at both ends as they lie in
     * the store. */
    Outcome begin(const std::vector<std::byte>& first_rows,
                  const std::vector<std::byte>& last_rows);
    /* The same where ranks end their passes together: nobody lacks anything. */
    void begin_together();
    /* Returns when everything that was given has been sent. */
    void finish();

    bool has(Side side) const override;
    bool ready(Side side, const Moment& moment) const override;
    void wait(Side side, const Moment& moment) override;
    std::vector<std::byte> take(Side side, const Moment& moment) override;
    void give(Side side, const Moment& moment, const std::vector<std::byte>& rows) override;
    void call_on_arrival(std::function<void()> news) override;
    std::vector<double> largest_changes(const std::vector<double>& changes) override;
    void begin_again() override;
    Outcome before_commit(std::uint64_t iterations) override;
    void after_commit(std::uint64_t iterations) override;

  private:
    struct Letter {
        int to = 0;
        int tag = 0;
        std::vector<std::byte> bytes; /* the head, then rows */
        MPI_Request request = MPI_REQUEST_NULL;
    };
    using Rows = std::map<std::uint64_t, std::vector<std::byte>>;
    /* Epoch, panel, iteration: what is older than what is wanted sorts before it. */
    using Key = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>;
    enum class Vote { none, cast, under_way, counted };

    std::uint64_t first_wanted_by(Side side) const;
    Key key(const Moment& moment) const { return {epoch_, moment.panel, moment.iteration}; }
    void post(int to, int tag, const Moment& moment, const std::vector<std::byte>& rows);
    void wait_for_all();
    void carry();
    bool send_waiting(std::deque<Letter>& under_way);
    bool receive_one();
    bool count_votes();
    std::string log_path(int slot) const;
    int next_slot(std::uint64_t first) const;
    Outcome read_logs();

    MPI_Comm comm_;
    std::string folder_;
    std::size_t row_bytes_;
    std::uint64_t iterations_; /* when this began */
    Reading reading_;
    Pace pace_;
    int rank_ = 0;
    int ranks_ = 1;
    std::vector<std::uint64_t> all_iterations_;

    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::map<Key, std::vector<std::byte>> come_[2];
    Rows given_[2]; /* at each side, from the last commit on: what begins a pass again */
    Rows logged_;   /* downwards, in the passes before this began */
    std::uint64_t committed_;
    std::uint64_t epoch_ = 0;
    std::vector<double> changes_; /* of this part, then the largest of all */
    Vote vote_ = Vote::none;
    MPI_Request counting_ = MPI_REQUEST_NULL;
    std::deque<Letter> outbox_;
    std::uint64_t upper_committed_ = 0;
    std::size_t unsent_ = 0;
    bool closing_ = false;
    bool abandoned_ = false;
    std::function<void()> news_;
    std::thread carrier_;
};

}  // namespace lanewise::wavefront
