// SPDX-License-Identifier: BSD-3-Clause
//
// Waves: K iterations that travel down the bands together, on P threads.
//
// Wave k may update band b once wave k - 1 has finished band b + 1: then the
// rows below are as iteration k - 1 left them, and nobody writes what wave k
// reads. Neighbouring waves form a group. A group advances by a block of
// rounds; in a round each of its waves goes one band further, so a band that
// one wave has left is taken by the next one a round later.
//
// Within a block the work goes by spans of columns, all rounds of a span before
// the next span: what a wave leaves in the processor's cache, the next wave finds
// there, and a band comes from memory once for the group and not once for each
// wave. A round needs some columns more of the round before, seven and one for
// most kernels, so spans move left a little each round; the result does not
// depend on their width.
//
// Each group has one counter of bands that its last wave has finished. A thread
// takes the last group that has a block to do, and sleeps where there is none.
// There is no barrier and no queue. (Paper 002, section 6, chains waves; chaining
// them by rows rather than by blocks lets tens of them share a pass over the disk.
// The order within a block is the parallelogram tiling known from sweeps in cache:
// Treibig, Wellein, Hager, arXiv 1004.1741.)

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
#include "wavefront/run/border.hpp"

namespace lanewise::wavefront {

/* Counts bands that are ready; sleeping on it costs nothing while nobody does. */
class BandCounter {
  public:
    void add(std::uint64_t bands);
    std::uint64_t ready() const { return bands_.load(std::memory_order_acquire) & ~given_up; }
    /* Returns false where the pass was given up meanwhile. */
    bool wait_for(std::uint64_t bands) const;
    void give_up();

  private:
    static constexpr std::uint64_t given_up = std::uint64_t{1} << 63;
    alignas(64) std::atomic<std::uint64_t> bands_{0};
};

struct WaveSet {
    const Kernel *kernel = nullptr;
    Shape shape;
    std::uint64_t band_rows = 8;
    std::uint64_t waves = 1;
    std::uint32_t threads = 1;
    Tiling tiling;
    Panel panel{};
    std::uint64_t band_bytes = 0;        /* from band to band in memory; 0: whole bands */
    Frontiers *frontiers = nullptr;      /* of a part, whose groups are single waves */
    std::uint64_t iterations_before = 0; /* that the part has gone through */
    bool measuring = false;              /* the largest change of each wave is wanted */
    /* Where strip `strip` of matrix `matrix` lies in memory; the kernel's twins come after all. */
    std::function<std::byte *(std::uint64_t strip, std::uint32_t matrix)> locate;
    /* Called when the last wave has finished the bands before `end`, and before `first` earlier. */
    std::function<void(std::uint64_t first, std::uint64_t end)> last_wave_done;
};

/* Of the border that these waves meet. */
BorderSetting border_setting(const WaveSet& set, std::uint64_t band_bytes);

class Waves {
  public:
    explicit Waves(WaveSet set);
    ~Waves();
    Waves(const Waves&) = delete;
    Waves& operator=(const Waves&) = delete;

    std::uint64_t band_count() const { return bands_; }
    std::uint64_t bands_per_strip() const { return set_.shape.strip_rows / set_.band_rows; }
    /* So many bands more are in memory. */
    void load(std::uint64_t bands);
    bool given_up() const { return !loaded_.wait_for(0); }
    /* Bands that the last wave has finished. */
    std::uint64_t finished() const { return groups_.back().finished.ready(); }
    /* Returns false where the waves were given up. */
    bool wait_finished(std::uint64_t bands) const {
        return groups_.back().finished.wait_for(bands);
    }

    void start();
    /* Ends all waves early; their threads return from whatever they wait for. */
    void give_up();
    /* Waits for the threads; returns the failure of a kernel, empty for none. */
    std::string join();
    /* Of each wave, after join. */
    const std::vector<double>& changes() const { return changes_; }

  private:
    struct Group {
        std::uint64_t first_wave = 0;
        std::uint64_t waves = 1;
        std::atomic<bool> taken{false};
        std::atomic<std::uint64_t> rounds{0}; /* done; changed by the thread that took the group */
        BandCounter finished;                 /* bands that its last wave has left */
    };
    /* Where the bands of a block lie, and what a step is given. */
    struct Block {
        std::uint64_t first_round = 0;
        std::uint64_t end_round = 0;
        std::uint64_t first_band = 0;
        std::vector<std::byte *> places; /* band by band, every matrix */
        std::vector<Band> bands;
    };
    enum class Turn { taken, none_ready, all_done };

    void work();
    Turn take(Group *& group);
    bool is_ready(std::size_t index, std::uint64_t rounds) const;
    std::uint64_t rounds_of(const Group& group) const { return bands_ + group.waves - 1; }
    void advance(Group& group, Block& block);
    void locate(const Group& group, Block& block);
    /* Where a wave reads and writes the data: by turns where they are twice in memory. */
    std::uint32_t reads(std::uint64_t wave) const { return wave % 2 == 1 ? twins_ : 0; }
    std::uint32_t writes(std::uint64_t wave) const { return wave % 2 == 0 ? twins_ : 0; }
    std::uint32_t places_of_band() const { return set_.shape.matrix_count() + set_.kernel->twins; }
    void round(const Group& group, Block& block, std::uint64_t round, std::uint64_t first,
               std::uint64_t end);
    std::uint64_t iteration_of(const Group& group) const {
        return set_.iterations_before + group.first_wave + 1;
    }
    void fail(const std::string& sentence);

    WaveSet set_;
    std::uint64_t bands_;
    std::uint64_t band_bytes_;
    std::uint64_t row_bytes_; /* in bands of rows */
    std::uint64_t slant_;
    std::uint32_t twins_; /* the first of them among the matrices; 0: there are none */
    std::uint64_t scratch_bytes_;
    std::vector<std::byte> scratch_;
    Border border_;
    BandCounter loaded_;
    BandCounter news_; /* counts what may let somebody go on */
    std::vector<Group> groups_;
    std::vector<double> changes_;
    std::vector<std::thread> threads_;
    std::mutex failure_mutex_;
    std::string failure_;
};

}  // namespace lanewise::wavefront
