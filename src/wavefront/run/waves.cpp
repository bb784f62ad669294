// SPDX-License-Identifier: BSD-3-Clause
//
// See waves.hpp.

#include "wavefront/run/waves.hpp"

#include <algorithm>

namespace lanewise::wavefront {
namespace {

// A few microseconds: less than waking a sleeper, more than a neighbour's jitter.
constexpr int spins_before_sleep = 400;

void pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

struct BandPointers {
    std::byte *above[64];
    std::byte *here[64];
    std::byte *below[64];
};

}  // namespace

void BandCounter::add(std::uint64_t bands) {
    bands_.fetch_add(bands, std::memory_order_acq_rel);
    bands_.notify_all();
}

bool BandCounter::wait_for(std::uint64_t bands) const {
    auto seen = bands_.load(std::memory_order_acquire);
    for (int i = 0; i < spins_before_sleep && seen < bands; ++i) {
        pause();
        seen = bands_.load(std::memory_order_acquire);
    }
    while (seen < bands) {
        bands_.wait(seen, std::memory_order_acquire);
        seen = bands_.load(std::memory_order_acquire);
    }
    return (seen & given_up) == 0;
}

void BandCounter::give_up() {
    bands_.fetch_or(given_up, std::memory_order_acq_rel);
    bands_.notify_all();
}

Waves::Waves(WaveSet set)
    : set_(std::move(set)),
      bands_((set_.shape.rows + set_.band_rows - 1) / set_.band_rows),
      scratch_bytes_(set_.kernel->scratch_rows * set_.shape.columns *
                     element_bytes(set_.shape.element) * set_.shape.data_count),
      scratch_(scratch_bytes_ * set_.waves),
      counters_(set_.waves),
      changes_(set_.waves, 0.0) {}

Waves::~Waves() {
    give_up();
    join();
}

void Waves::start() {
    const auto threads = std::min<std::uint64_t>(set_.threads, set_.waves);
    for (std::uint64_t p = 0; p < threads; ++p)
        threads_.emplace_back(&Waves::work, this, p * set_.waves / threads,
                              (p + 1) * set_.waves / threads);
}

void Waves::give_up() {
    loaded_.give_up();
    for (auto& counter : counters_) counter.give_up();
}

std::string Waves::join() {
    for (auto& thread : threads_) thread.join();
    threads_.clear();
    return failure_;
}

void Waves::fail(const std::string& sentence) {
    {
        const std::lock_guard lock(failure_mutex_);
        if (failure_.empty()) failure_ = sentence;
    }
    give_up();
    set_.last_wave_done(0);
}

void Waves::work(std::uint64_t first_wave, std::uint64_t end_wave) {
    const auto own = end_wave - first_wave;
    try {
        for (std::uint64_t round = 0; round < bands_ + own - 1; ++round) {
            for (std::uint64_t i = 0; i < own; ++i) {
                if (round < i || round - i >= bands_) continue;
                const auto wave = first_wave + i;
                const auto band = round - i;
                const auto& before = wave == 0 ? loaded_ : counters_[wave - 1];
                if (!before.wait_for(std::min(band + 2, bands_))) return;
                update(wave, band);
                counters_[wave].add(1);
                if (wave + 1 == set_.waves) set_.last_wave_done(band);
            }
        }
    } catch (const std::exception& error) {
        fail(error.what());
    }
}

void Waves::update(std::uint64_t wave, std::uint64_t band_index) {
    const auto& shape = set_.shape;
    const auto per_strip = bands_per_strip();
    const auto band_bytes = set_.band_rows * shape.row_elements() * element_bytes(shape.element);
    const auto at = [&](std::uint64_t band, std::uint32_t matrix) {
        return set_.locate(band / per_strip, matrix) + band % per_strip * band_bytes;
    };
    BandPointers pointers;
    for (std::uint32_t m = 0; m < shape.matrix_count(); ++m) {
        pointers.here[m] = at(band_index, m);
        // Only data are looked at in other rows than the cell's own.
        const bool data = m < shape.data_count;
        pointers.above[m] = data && band_index > 0 ? at(band_index - 1, m) : pointers.here[m];
        pointers.below[m] =
            data && band_index + 1 < bands_ ? at(band_index + 1, m) : pointers.here[m];
    }
    const auto first_row = band_index * set_.band_rows;
    const Band band{.rows = shape.rows,
                    .columns = shape.columns,
                    .first_row = first_row,
                    .row_count = std::min(set_.band_rows, shape.rows - first_row),
                    .band_rows = set_.band_rows,
                    .data_count = shape.data_count,
                    .coefficient_count = shape.coefficient_count,
                    .above = pointers.above,
                    .here = pointers.here,
                    .below = pointers.below,
                    .scratch = scratch_.data() + wave * scratch_bytes_};
    if (set_.measuring)
        changes_[wave] = std::max(changes_[wave], set_.kernel->update_and_measure(band));
    else
        set_.kernel->update(band);
}

}  // namespace lanewise::wavefront
