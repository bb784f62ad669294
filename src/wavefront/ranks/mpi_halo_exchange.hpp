// SPDX-License-Identifier: BSD-3-Clause
//
// Halo exchange between MPI ranks; rank r is above rank r + 1.
//
// One thread makes every MPI call; waves hand rows to it and collect rows that have
// arrived. What a rank sent downwards in its last passes is logged beside the store, so
// that a rank that was killed a pass behind gets it again. A discarded pass begins a
// new epoch; messages of the one before are ignored.
//
// Once the run is stopped, whoever waits here is woken, and nothing is sent or received any more.
//
// Where rows are swept in parallelograms there is no log: ranks end each pass together,
// and a rank that had committed a pass in which others were killed goes back with them
// to the pass before.

#pragma once

#include <mpi.h>

#include <atomic>
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

class MpiHaloExchange final : public HaloExchange {
  public:
    /* `row_bytes` of one halo, where rows are whole; `iterations` that this rank's part has
     * gone through; `stop` may be null. Every rank of `comm` calls this together. */
    MpiHaloExchange(MPI_Comm comm, std::string folder, std::size_t row_bytes,
                    std::uint64_t iterations, Reading reading, Pace pace,
                    const std::atomic<bool> *stop);
    ~MpiHaloExchange() override;
    MpiHaloExchange(const MpiHaloExchange&) = delete;
    MpiHaloExchange& operator=(const MpiHaloExchange&) = delete;

    /* Prepares the halos that the neighbours still lack, with the part's own rows at both ends as
     * they lie in the store. Where ranks end their passes together, nobody lacks anything. */
    Outcome prepare(const std::vector<std::byte>& first_rows,
                    const std::vector<std::byte>& last_rows);
    /* From here on only the thread of this calls MPI, until finish() or the end. */
    Outcome start();
    /* Returns when every halo has been sent. */
    void finish();

    bool has(Side side) const override;
    bool ready(Side side, const HaloVersion& version) const override;
    bool wait(Side side, const HaloVersion& version) override;
    std::vector<std::byte> receive(Side side, const HaloVersion& version) override;
    void send(Side side, const HaloVersion& version, const std::vector<std::byte>& rows) override;
    void call_on_arrival(std::function<void()> arrived) override;
    Result<std::vector<double>> largest_changes(const std::vector<double>& changes) override;
    void begin_again() override;
    Outcome before_commit(std::uint64_t iterations) override;
    void after_commit(std::uint64_t iterations) override;

  private:
    struct Message {
        int to = 0;
        int tag = 0;
        std::vector<std::byte> bytes; /* the head, then rows */
        MPI_Request request = MPI_REQUEST_NULL;
    };
    using Rows = std::map<std::uint64_t, std::vector<std::byte>>;
    /* Epoch, parallelogram, iteration: what is older than what is wanted sorts before it. */
    using Key = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>;
    enum class Reduction { none, requested, under_way, done };

    std::uint64_t first_wanted_by(Side side) const;
    Key key(const HaloVersion& version) const {
        return {epoch_, version.parallelogram, version.iteration};
    }
    void post(int to, int tag, const HaloVersion& version, const std::vector<std::byte>& rows);
    Outcome wait_for_all();
    void progress();
    bool is_cut_off();
    void leave_to_mpi();
    bool send_waiting();
    bool receive_one();
    bool advance_reduction();
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
    std::map<Key, std::vector<std::byte>> received_[2];
    Rows sent_[2]; /* at each side, from the last commit on: what begins a pass again */
    Rows logged_;  /* downwards, in the passes before this began */
    std::uint64_t committed_;
    std::uint64_t epoch_ = 0;
    std::vector<double> changes_; /* of this part, then the largest of all */
    Reduction reduction_ = Reduction::none;
    MPI_Request reduction_request_ = MPI_REQUEST_NULL;
    std::deque<Message> to_send_;
    std::deque<Message> under_way_; /* of the progress thread */
    std::uint64_t upper_committed_ = 0;
    bool closing_ = false;
    bool abandoned_ = false;
    bool cut_off_ = false; /* the thread ended before all had left */
    const std::atomic<bool> *stop_;
    std::function<void()> on_arrival_;
    std::thread progress_thread_;
};

}  // namespace lanewise::wavefront
