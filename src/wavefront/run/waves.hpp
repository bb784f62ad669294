// SPDX-License-Identifier: BSD-3-Clause
//
// Waves: K iterations that travel down the bands together, on P threads.
//
// Wave k may update band b once wave k - 1 has finished band b + 1: then the
// rows below are as iteration k - 1 left them, and nobody writes what wave k
// reads. Each wave has one counter of finished bands; a thread that must wait
// sleeps on the counter of the wave before. There is no barrier, no lock and
// no task queue. A thread owns neighbouring waves and advances each by one
// band in turn, so it waits for others once a round and not once a band.
// (Paper 002, section 6, chains waves; chaining them by rows rather than by
// blocks is what lets tens of them share one pass over the disk.)

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
#include "wavefront/shape.hpp"

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
    bool measuring = false; /* the largest change of each wave is wanted */
    /* Where strip `strip` of matrix `matrix` lies in memory. */
    std::function<std::byte *(std::uint64_t strip, std::uint32_t matrix)> locate;
    /* Called by the thread of the last wave when it has finished band `band`. */
    std::function<void(std::uint64_t band)> last_wave_done;
};

class Waves {
  public:
    explicit Waves(WaveSet set);
    ~Waves();
    Waves(const Waves&) = delete;
    Waves& operator=(const Waves&) = delete;

    std::uint64_t band_count() const { return bands_; }
    std::uint64_t bands_per_strip() const { return set_.shape.strip_rows / set_.band_rows; }
    /* The first wave waits for this one. */
    BandCounter& loaded() { return loaded_; }
    const BandCounter& last() const { return counters_.back(); }

    void start();
    /* Ends all waves early; their threads return from whatever they wait for. */
    void give_up();
    /* Waits for the threads; returns the failure of a kernel, empty for none. */
    std::string join();
    /* Of each wave, after join. */
    const std::vector<double>& changes() const { return changes_; }

  private:
    void work(std::uint64_t first_wave, std::uint64_t end_wave);
    void update(std::uint64_t wave, std::uint64_t band);
    void fail(const std::string& sentence);

    WaveSet set_;
    std::uint64_t bands_;
    std::uint64_t scratch_bytes_;
    std::vector<std::byte> scratch_;
    BandCounter loaded_;
    std::vector<BandCounter> counters_;
    std::vector<double> changes_;
    std::vector<std::thread> threads_;
    std::mutex failure_mutex_;
    std::string failure_;
};

}  // namespace lanewise::wavefront
