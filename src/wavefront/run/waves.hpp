// SPDX-License-Identifier: BSD-3-Clause
//
// Waves: K iterations that travel down the row blocks together, on P threads.
//
// Wave k may update row block b once wave k - 1 has finished block b + 1: then the rows
// below are as iteration k - 1 left them, and nobody writes what wave k reads.
// Neighbouring waves form a wave group. A group advances by a batch of rounds; in each
// round every wave of the group moves one row block further, so a block that one wave
// has left is taken by the next wave a round later.
//
// Within a batch the work goes by blocks of columns, all rounds of a column block
// before the next column block: what a wave leaves in the processor's cache is still
// there for the next wave, and a row block comes from memory once per group rather than
// once per wave. A round needs a few more columns of the round before, eight for most
// kernels, so column blocks move left a little each round; the result does not depend
// on their width.
//
// Each group has one counter of row blocks that its last wave has finished. A thread
// takes the last group that has a batch to do, and sleeps where there is none; there is
// no barrier and no queue. (Clauss, Gustedt and Suter (PDP 2008), section 6, chain
// waves; chaining them by rows rather than by blocks lets tens of them share a pass
// over the disk. The order within a batch is the parallelogram tiling known from sweeps
// in cache: Treibig, Wellein, Hager, arXiv 1004.1741.)

#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "wavefront/kernel/kernel.hpp"
#include "wavefront/layout/shape.hpp"
#include "wavefront/plan/parallelograms.hpp"
#include "wavefront/run/edges.hpp"
#include "wavefront/run/halo_rows.hpp"
#include "wavefront/stop.hpp"

namespace lanewise::wavefront {

/* Counts row blocks that are ready; sleeping on it costs nothing while nobody does. */
class RowBlockCounter {
  public:
    void add(std::uint64_t row_blocks);
    std::uint64_t ready() const { return row_blocks_.load(std::memory_order_acquire) & ~given_up; }
    /* Returns false where the pass was given up meanwhile. */
    bool wait_for(std::uint64_t row_blocks) const;
    void give_up();

  private:
    static constexpr std::uint64_t given_up = std::uint64_t{1} << 63;
    alignas(64) std::atomic<std::uint64_t> row_blocks_{0};
};

struct WaveSet {
    const Kernel *kernel = nullptr;
    MatrixShape shape;
    std::uint64_t rows_per_block = 8;
    std::uint64_t waves = 1;
    std::uint32_t threads = 1;
    Tiling tiling;
    Parallelogram parallelogram{};
    std::uint64_t row_block_bytes =
        0; /* from row block to row block in memory; 0: whole row blocks */
    HaloExchange *halo_exchange = nullptr; /* of a part, whose groups are single waves */
    std::uint64_t iterations_before = 0;   /* that the part has gone through */
    bool measuring = false;                /* the largest change of each wave is wanted */
    std::vector<Direction> directions{};   /* of each wave; all go up, or all go down */
    std::uint64_t first_iteration = 0;     /* of the run, from 0 */
    bool rows_upwards = false;             /* the last row of a strip is the first for the waves */
    Edges *edges = nullptr;                /* null: the borders are fixed */
    const std::atomic<bool> *stop = nullptr; /* once true, the waves fail; may be null */
    /* Where strip `strip` of matrix `matrix` lies in memory; the second copies come after all. */
    std::function<std::byte *(std::uint64_t strip, std::uint32_t matrix)> locate;
    /* Called when the last wave has finished row blocks [first, end). */
    std::function<void(std::uint64_t first, std::uint64_t end)> last_wave_done;
};

/* Of the halo rows that these waves read and send. */
HaloRowsSetting halo_rows_setting(const WaveSet& set, std::uint64_t row_block_bytes);

class Waves {
  public:
    explicit Waves(WaveSet set);
    ~Waves();
    Waves(const Waves&) = delete;
    Waves& operator=(const Waves&) = delete;

    std::uint64_t row_block_count() const { return row_blocks_; }
    std::uint64_t row_blocks_per_strip() const {
        return set_.shape.strip_rows / set_.rows_per_block;
    }
    /* `row_blocks` more are in memory. */
    void load(std::uint64_t row_blocks);
    bool given_up() const { return !loaded_.wait_for(0); }
    /* Row blocks that the last wave has finished. */
    std::uint64_t finished() const { return groups_.back().finished.ready(); }
    /* Returns false where the waves were given up. */
    bool wait_finished(std::uint64_t row_blocks) const {
        return groups_.back().finished.wait_for(row_blocks);
    }

    void start();
    /* Ends all waves early; their threads return from whatever they wait for. */
    void give_up();
    /* Waits for the threads; returns the failure of a kernel, empty for none. */
    std::string join();
    /* Of each wave, after join. */
    const std::vector<double>& changes() const { return changes_; }
    /* Of the time that the threads had, after join: the rest they waited. */
    double working_share() const { return working_share_; }

  private:
    struct WaveGroup {
        std::uint64_t first_wave = 0;
        std::uint64_t waves = 1;
        std::atomic<bool> taken{false};
        std::atomic<std::uint64_t> rounds{0}; /* done; changed by the thread that took the group */
        RowBlockCounter finished;             /* row blocks that its last wave has left */
    };
    /* Where the row blocks of a batch lie, and what a step is given. */
    struct Batch {
        std::uint64_t first_round = 0;
        std::uint64_t end_round = 0;
        std::uint64_t first_row_block = 0;
        std::vector<std::byte *> places; /* row block by row block, every matrix */
        std::vector<RowBlock> row_blocks;
    };
    enum class Turn { taken, none_ready, all_done };

    void work();
    Turn take(WaveGroup *& group);
    bool is_ready(std::size_t index, std::uint64_t rounds) const;
    std::uint64_t rounds_of(const WaveGroup& group) const { return row_blocks_ + group.waves - 1; }
    void advance(WaveGroup& group, Batch& batch);
    void locate(const WaveGroup& group, Batch& batch);
    /* The copy of the data that a wave reads or writes, alternately where there are two. */
    std::uint32_t reads(std::uint64_t wave) const { return wave % 2 == 1 ? second_copies_at_ : 0; }
    std::uint32_t writes(std::uint64_t wave) const { return wave % 2 == 0 ? second_copies_at_ : 0; }
    std::uint32_t places_of_row_block() const {
        return set_.shape.matrix_count() + set_.kernel->second_copies;
    }
    void round(const WaveGroup& group, Batch& batch, std::uint64_t round, std::uint64_t first,
               std::uint64_t end);
    std::uint64_t iteration_of(const WaveGroup& group) const {
        return set_.iterations_before + group.first_wave + 1;
    }
    /* Whether a step may be part of a row block: steps of waves that turn are whole. */
    bool goes_by_columns() const { return set_.kernel->steps == Steps::column_blocks && !turning_; }
    /* Where row block `row_block` begins among the bytes of its strip. */
    std::uint64_t offset_in_strip(std::uint64_t row_block) const;
    void fail(const std::string& sentence);

    WaveSet set_;
    Stop stop_;
    bool turning_; /* the waves do not all go in one direction */
    std::uint64_t row_blocks_;
    std::uint64_t row_block_bytes_;
    std::uint64_t row_bytes_; /* where row blocks are not skewed */
    std::uint64_t slant_;
    std::uint32_t second_copies_at_; /* where they begin among the matrices; 0: there are none */
    std::uint64_t scratch_bytes_;
    std::vector<std::byte> scratch_;
    HaloRows halo_rows_;
    RowBlockCounter loaded_;
    RowBlockCounter news_; /* counts events that may let a waiting thread continue */
    std::vector<WaveGroup> groups_;
    std::vector<double> changes_;
    std::int64_t began_ns_ = 0;
    std::atomic<std::int64_t> working_ns_{0}; /* of all threads */
    double working_share_ = 0.0;
    std::vector<std::thread> threads_;
    std::mutex failure_mutex_;
    std::string failure_;
};

}  // namespace lanewise::wavefront
