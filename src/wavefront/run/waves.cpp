// SPDX-License-Identifier: BSD-3-Clause
//
// See waves.hpp.

#include "wavefront/run/waves.hpp"

#include <algorithm>

namespace lanewise::wavefront {
namespace {

// A few microseconds: less than waking a sleeper, more than a neighbour's jitter.
constexpr int spins_before_sleep = 400;

std::uint64_t not_negative(std::int64_t value) {
    return value > 0 ? static_cast<std::uint64_t>(value) : 0;
}

void pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

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

BorderSetting border_setting(const WaveSet& set, std::uint64_t band_bytes) {
    return {.frontiers = set.frontiers,
            .shape = set.shape,
            .band_rows = set.band_rows,
            .band_bytes = band_bytes,
            .thickness = set.kernel->thickness,
            .reading = set.kernel->reading,
            .panel = set.panel,
            .iterations_before = set.iterations_before};
}

Waves::Waves(WaveSet set)
    : set_(std::move(set)),
      bands_((set_.shape.rows + set_.band_rows - 1) / set_.band_rows),
      band_bytes_(set_.band_bytes ? set_.band_bytes
                                  : set_.band_rows * set_.shape.row_elements() *
                                        element_bytes(set_.shape.element)),
      row_bytes_(band_bytes_ / set_.band_rows),
      slant_(set_.shape.layout == &layouts::slanted ? set_.shape.skew : 0),
      twins_(set_.kernel->twins ? set_.shape.matrix_count() : 0),
      scratch_bytes_(set_.kernel->scratch_rows * set_.shape.columns *
                     element_bytes(set_.shape.element) * set_.shape.data_count),
      scratch_(scratch_bytes_ * set_.waves),
      groups_(std::clamp<std::uint64_t>(set_.tiling.groups, 1, set_.waves)),
      changes_(set_.waves, 0.0) {
    if (set_.frontiers) {
        border_ = Border(border_setting(set_, band_bytes_));
        set_.frontiers->call_on_arrival([this] { news_.add(1); });
    }
    const auto count = groups_.size();
    for (std::size_t g = 0; g < count; ++g) {
        groups_[g].first_wave = g * set_.waves / count;
        groups_[g].waves = (g + 1) * set_.waves / count - groups_[g].first_wave;
    }
}

Waves::~Waves() {
    if (set_.frontiers) set_.frontiers->call_on_arrival({});
    give_up();
    join();
}

void Waves::start() {
    const auto threads = std::min<std::uint64_t>(set_.threads, groups_.size());
    for (std::uint64_t p = 0; p < threads; ++p) threads_.emplace_back(&Waves::work, this);
}

void Waves::load(std::uint64_t bands) {
    loaded_.add(bands);
    news_.add(1);
}

void Waves::give_up() {
    loaded_.give_up();
    news_.give_up();
    for (auto& group : groups_) group.finished.give_up();
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
    set_.last_wave_done(0, 1);
}

void Waves::work() {
    try {
        Block block;
        for (;;) {
            // Read before looking: news that come while looking are not slept over.
            const auto news = news_.ready();
            Group *group = nullptr;
            const auto turn = take(group);
            if (turn == Turn::all_done) return;
            if (turn == Turn::none_ready) {
                if (!news_.wait_for(news + 1)) return;
                continue;
            }
            advance(*group, block);
            if (given_up()) return;
        }
    } catch (const std::exception& error) {
        fail(error.what());
    }
}

// The last group first: what it finishes makes room in memory.
Waves::Turn Waves::take(Group *& group) {
    auto turn = Turn::all_done;
    for (auto index = groups_.size(); index-- > 0;) {
        auto& found = groups_[index];
        if (found.rounds.load(std::memory_order_acquire) >= rounds_of(found)) continue;
        turn = Turn::none_ready;
        if (!is_ready(index, found.rounds.load(std::memory_order_acquire))) continue;
        if (found.taken.exchange(true, std::memory_order_acquire)) continue;
        // Somebody else may have done that block in between.
        const auto rounds = found.rounds.load(std::memory_order_acquire);
        if (rounds < rounds_of(found) && is_ready(index, rounds)) {
            group = &found;
            return Turn::taken;
        }
        found.taken.store(false, std::memory_order_release);
    }
    return turn;
}

bool Waves::is_ready(std::size_t index, std::uint64_t rounds) const {
    const auto& before = index == 0 ? loaded_ : groups_[index - 1].finished;
    if (before.ready() < std::min(rounds + set_.tiling.rounds + 1, bands_)) return false;
    return border_.ready(iteration_of(groups_[index]), rounds);
}

void Waves::advance(Group& group, Block& block) {
    block.first_round = group.rounds.load(std::memory_order_relaxed);
    block.end_round = std::min(block.first_round + set_.tiling.rounds, rounds_of(group));
    locate(group, block);
    border_.before(iteration_of(group), block.first_round,
                   [&](std::uint64_t s) { return set_.locate(s, reads(group.first_wave)); });
    const auto vectors = set_.shape.row_elements();
    const bool whole = set_.kernel->steps == Steps::whole;
    const auto step = columns_a_round(set_.shape, set_.kernel->thickness);
    const auto last_shift = step * (block.end_round - block.first_round - 1);
    // All waves of a group are as far within the panel: what one gains by its number, it loses by
    // its band.
    const auto gone = static_cast<std::int64_t>(step * (block.first_round + group.first_wave));
    const auto from = not_negative(set_.panel.first - gone);
    const auto until = std::min(vectors + last_shift, not_negative(set_.panel.end - gone));
    const auto span = whole || set_.tiling.span == 0 ? vectors + last_shift : set_.tiling.span;
    for (auto begin = from; begin < until; begin += span) {
        const auto last = std::min(begin + span, until);
        for (auto r = block.first_round; r < block.end_round; ++r) {
            const auto shift = whole ? 0 : step * (r - block.first_round);
            const auto first = begin > shift ? begin - shift : 0;
            const auto end = last > shift ? last - shift : 0;
            if (first < std::min(end, vectors)) round(group, block, r, first, end);
        }
    }
    border_.after(iteration_of(group), block.first_round,
                  [&](std::uint64_t s) { return set_.locate(s, writes(group.first_wave)); });
    const auto done = block.end_round;
    const auto before = group.finished.ready();
    const auto after = done >= group.waves ? std::min(done - group.waves + 1, bands_) : 0;
    group.rounds.store(done, std::memory_order_release);
    if (after > before) group.finished.add(after - before);
    group.taken.store(false, std::memory_order_release);
    news_.add(1);
    if (&group == &groups_.back() && after > before) set_.last_wave_done(before, after);
}

void Waves::locate(const Group& group, Block& block) {
    const auto places = places_of_band();
    const auto per_strip = bands_per_strip();
    const auto reach = group.waves; /* the last wave's band, and the one above it */
    block.first_band = block.first_round > reach ? block.first_round - reach : 0;
    const auto end_band = std::min(block.end_round + 1, bands_);
    block.places.clear();
    for (auto band = block.first_band; band < end_band; ++band) {
        for (std::uint32_t m = 0; m < places; ++m)
            block.places.push_back(set_.locate(band / per_strip, m) +
                                   band % per_strip * band_bytes_);
    }
}

// Waves [i, i + count) of the group in round r are on bands r - i, r - i - 1, ...
void Waves::round(const Group& group, Block& block, std::uint64_t round, std::uint64_t first,
                  std::uint64_t end) {
    const auto& shape = set_.shape;
    const auto places = places_of_band();
    const auto from = round >= bands_ ? round - bands_ + 1 : 0;
    const auto until = std::min(group.waves, round + 1);
    if (from >= until) return;
    block.bands.clear();
    for (auto i = from; i < until; ++i) {
        const auto band = round - i;
        const auto wave = group.first_wave + i;
        auto *const here = block.places.data() + (band - block.first_band) * places;
        const auto first_row = band * set_.band_rows;
        block.bands.push_back({.rows = shape.rows,
                               .columns = shape.columns,
                               .first_row = first_row,
                               .row_count = std::min(set_.band_rows, shape.rows - first_row),
                               .band_rows = set_.band_rows,
                               .data_count = shape.data_count,
                               .coefficient_count = shape.coefficient_count,
                               .above = band > 0 ? here - places : here,
                               .here = here,
                               .below = band + 1 < bands_ ? here + places : here,
                               .scratch = scratch_.data() + wave * scratch_bytes_,
                               .row_bytes = row_bytes_ + slant_ * element_bytes(shape.element),
                               .slant = slant_,
                               .reads = reads(wave),
                               .writes = writes(wave)});
    }
    const Step step{.bands = block.bands.data(),
                    .count = static_cast<std::uint32_t>(block.bands.size()),
                    .first = first,
                    .end = end,
                    .changes = set_.measuring ? &changes_[group.first_wave + from] : nullptr};
    if (set_.measuring)
        set_.kernel->advance_and_measure(step);
    else
        set_.kernel->advance(step);
}

}  // namespace lanewise::wavefront
