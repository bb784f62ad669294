// SPDX-License-Identifier: BSD-3-Clause
//
// Frontiers between MPI ranks, rank r above rank r + 1.
//
// One thread makes every call of MPI; waves leave rows with it and find rows
// that have come. What a rank sent downwards in its last passes is kept beside
// the store: a rank that was killed a pass behind gets it again.

#pragma once

#include <mpi.h>

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "wavefront/run/frontiers.hpp"

namespace lanewise::wavefront {

class MpiFrontiers final : public Frontiers {
  public:
    /* `row_bytes` of one frontier; `iterations` that this rank's part has gone through, and its
     * rows at the upper end; every rank of `comm` calls this together. */
    MpiFrontiers(MPI_Comm comm, std::string folder, std::size_t row_bytes,
                 std::uint64_t iterations);
    ~MpiFrontiers() override;
    MpiFrontiers(const MpiFrontiers&) = delete;
    MpiFrontiers& operator=(const MpiFrontiers&) = delete;

    /* Sends what the neighbours lack from before: `first_rows` as they lie in the store. */
    Outcome begin(const std::byte *first_rows);
    /* Returns when everything that was given has been sent. */
    void finish();

    bool has(Side side) const override;
    bool ready(Side side, std::uint64_t iteration) const override;
    void take(Side side, std::uint64_t iteration, std::byte *rows) override;
    void give(Side side, std::uint64_t iteration, const std::byte *rows) override;
    void call_on_arrival(std::function<void()> news) override;
    Outcome before_commit(std::uint64_t iterations) override;
    void after_commit(std::uint64_t iterations) override;

  private:
    struct Letter {
        int to = 0;
        int tag = 0;
        std::vector<std::byte> bytes; /* the iteration, then rows */
        MPI_Request request = MPI_REQUEST_NULL;
    };
    using Rows = std::map<std::uint64_t, std::vector<std::byte>>;

    void post(int to, int tag, std::uint64_t iteration, const std::byte *rows);
    void carry();
    bool send_waiting(std::deque<Letter>& under_way);
    bool receive_one();
    std::string log_path(int slot) const;
    Outcome read_logs();

    MPI_Comm comm_;
    std::string folder_;
    std::size_t row_bytes_;
    std::uint64_t iterations_;
    int rank_ = 0;
    int ranks_ = 1;
    std::vector<std::uint64_t> all_iterations_;

    mutable std::mutex mutex_;
    std::condition_variable changed_;
    Rows come_[2];
    Rows sent_down_; /* since the last commit */
    Rows logged_;    /* before it */
    std::deque<Letter> outbox_;
    std::uint64_t upper_committed_ = 0;
    std::size_t unsent_ = 0;
    bool closing_ = false;
    bool abandoned_ = false;
    std::function<void()> news_;
    std::thread carrier_;
};

}  // namespace lanewise::wavefront
