// SPDX-License-Identifier: BSD-3-Clause
//
// See waves.hpp.

#include "wavefront/run/waves.hpp"

#include <algorithm>

#include "base/background_thread.hpp"
#include "base/clock.hpp"

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

void RowBlockCounter::add(std::uint64_t row_blocks) {
    row_blocks_.fetch_add(row_blocks, std::memory_order_acq_rel);
    row_blocks_.notify_all();
}

bool RowBlockCounter::wait_for(std::uint64_t row_blocks) const {
    auto seen = row_blocks_.load(std::memory_order_acquire);
    for (int i = 0; i < spins_before_sleep && seen < row_blocks; ++i) {
        pause();
        seen = row_blocks_.load(std::memory_order_acquire);
    }
    while (seen < row_blocks) {
        row_blocks_.wait(seen, std::memory_order_acquire);
        seen = row_blocks_.load(std::memory_order_acquire);
    }
    return (seen & given_up) == 0;
}

void RowBlockCounter::give_up() {
    row_blocks_.fetch_or(given_up, std::memory_order_acq_rel);
    row_blocks_.notify_all();
}

HaloRowsSetting halo_rows_setting(const WaveSet& set, std::uint64_t row_block_bytes) {
    return {.halo_exchange = set.halo_exchange,
            .shape = set.shape,
            .rows_per_block = set.rows_per_block,
            .row_block_bytes = row_block_bytes,
            .radius = set.kernel->radius,
            .reading = set.kernel->reading,
            .parallelogram = set.parallelogram,
            .iterations_before = set.iterations_before};
}

Waves::Waves(WaveSet set)
    : set_(std::move(set)),
      stop_{set_.stop},
      turning_(std::any_of(set_.directions.begin(), set_.directions.end(),
                           [this](const Direction& one) { return one != set_.directions[0]; })),
      row_blocks_((set_.shape.rows + set_.rows_per_block - 1) / set_.rows_per_block),
      row_block_bytes_(set_.row_block_bytes ? set_.row_block_bytes
                                            : set_.rows_per_block * set_.shape.row_elements() *
                                                  element_bytes(set_.shape.element)),
      row_bytes_(row_block_bytes_ / set_.rows_per_block),
      slant_(set_.shape.layout == &layouts::slanted ? set_.shape.skew : 0),
      second_copies_at_(set_.kernel->second_copies ? set_.shape.matrix_count() : 0),
      scratch_bytes_(set_.kernel->scratch_rows * set_.shape.columns *
                     element_bytes(set_.shape.element) * set_.shape.data_count),
      scratch_(scratch_bytes_ * set_.waves),
      groups_(std::clamp<std::uint64_t>(set_.tiling.groups, 1, set_.waves)),
      changes_(set_.waves, 0.0) {
    if (set_.halo_exchange) {
        halo_rows_ = HaloRows(halo_rows_setting(set_, row_block_bytes_));
        set_.halo_exchange->call_on_arrival([this] { news_.add(1); });
    }
    const auto count = groups_.size();
    for (std::size_t g = 0; g < count; ++g) {
        groups_[g].first_wave = g * set_.waves / count;
        groups_[g].waves = (g + 1) * set_.waves / count - groups_[g].first_wave;
    }
}

Waves::~Waves() {
    if (set_.halo_exchange) set_.halo_exchange->call_on_arrival({});
    give_up();
    join();
}

void Waves::start() {
    const auto threads = std::min<std::uint64_t>(set_.threads, groups_.size());
    began_ns_ = monotonic_ns();
    for (std::uint64_t p = 0; p < threads; ++p) {
        std::thread thread;
        const int error = start_background_thread(thread, "lanewise-wave", [this] { work(); });
        // One thread alone makes all waves.
        if (error && threads_.empty()) return fail(no_thread_sentence(error));
        if (error) return;
        threads_.push_back(std::move(thread));
    }
}

void Waves::load(std::uint64_t row_blocks) {
    loaded_.add(row_blocks);
    news_.add(1);
}

void Waves::give_up() {
    loaded_.give_up();
    news_.give_up();
    for (auto& group : groups_) group.finished.give_up();
}

std::string Waves::join() {
    if (threads_.empty()) return failure_;
    for (auto& thread : threads_) thread.join();
    const auto had_ns =
        static_cast<double>(monotonic_ns() - began_ns_) * static_cast<double>(threads_.size());
    working_share_ = static_cast<double>(working_ns_.load()) / std::max(had_ns, 1.0);
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
        Batch batch;
        for (;;) {
            // Read before looking, so that an event that arrives while looking is not slept
            // through.
            const auto news = news_.ready();
            WaveGroup *group = nullptr;
            const auto turn = take(group);
            if (turn == Turn::all_done) return;
            if (turn == Turn::none_ready) {
                // No halo comes any more that would wake it.
                if (stop_asked(set_.stop)) throw KernelFailure(stopped_sentence);
                if (!news_.wait_for(news + 1)) return;
                continue;
            }
            const auto began_ns = monotonic_ns();
            advance(*group, batch);
            working_ns_.fetch_add(monotonic_ns() - began_ns, std::memory_order_relaxed);
            if (given_up()) return;
        }
    } catch (const std::exception& error) {
        fail(error.what());
    } catch (...) {
        fail("the kernel threw an exception that is no std::exception");
    }
}

// The last group first: what it finishes makes room in memory.
Waves::Turn Waves::take(WaveGroup *& group) {
    auto turn = Turn::all_done;
    for (auto index = groups_.size(); index-- > 0;) {
        auto& found = groups_[index];
        if (found.rounds.load(std::memory_order_acquire) >= rounds_of(found)) continue;
        turn = Turn::none_ready;
        if (!is_ready(index, found.rounds.load(std::memory_order_acquire))) continue;
        if (found.taken.exchange(true, std::memory_order_acquire)) continue;
        // Another thread may have done that batch in between.
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
    const auto iteration = iteration_of(groups_[index]);
    // The lower neighbour's rows may end one row block below those that are read now, and nobody
    // may read that from the disk any more, or write it.
    const auto needed = halo_rows_.meets_lower(iteration, rounds)
                            ? row_blocks_
                            : std::min(rounds + set_.tiling.rounds + 1, row_blocks_);
    return before.ready() >= needed && halo_rows_.ready(iteration, rounds);
}

void Waves::advance(WaveGroup& group, Batch& batch) {
    batch.first_round = group.rounds.load(std::memory_order_relaxed);
    batch.end_round = std::min(batch.first_round + set_.tiling.rounds, rounds_of(group));
    locate(group, batch);
    halo_rows_.before(iteration_of(group), batch.first_round,
                      [&](std::uint64_t s, std::uint32_t m) {
                          return set_.locate(s, reads(group.first_wave) + m);
                      });
    const auto vectors = set_.shape.row_elements();
    const bool whole = !goes_by_columns();
    const auto step = columns_a_round(set_.shape, set_.kernel->radius);
    const auto last_shift = step * (batch.end_round - batch.first_round - 1);
    // All waves of a group are equally far within the parallelogram: a wave's number and its row
    // block offset each other.
    const auto gone = static_cast<std::int64_t>(step * (batch.first_round + group.first_wave));
    const auto from = not_negative(set_.parallelogram.first - gone);
    const auto until = std::min(vectors + last_shift, not_negative(set_.parallelogram.end - gone));
    const auto column_block =
        whole || set_.tiling.column_block == 0 ? vectors + last_shift : set_.tiling.column_block;
    for (auto begin = from; begin < until; begin += column_block) {
        const auto last = std::min(begin + column_block, until);
        for (auto r = batch.first_round; r < batch.end_round; ++r) {
            const auto shift = whole ? 0 : step * (r - batch.first_round);
            const auto first = begin > shift ? begin - shift : 0;
            const auto end = last > shift ? last - shift : 0;
            if (first < std::min(end, vectors)) round(group, batch, r, first, end);
            if (stop_asked(set_.stop)) throw KernelFailure(stopped_sentence);
        }
    }
    halo_rows_.after(iteration_of(group), batch.first_round, [&](std::uint64_t s, std::uint32_t m) {
        return set_.locate(s, writes(group.first_wave) + m);
    });
    const auto done = batch.end_round;
    const auto before = group.finished.ready();
    const auto after = done >= group.waves ? std::min(done - group.waves + 1, row_blocks_) : 0;
    group.rounds.store(done, std::memory_order_release);
    if (after > before) group.finished.add(after - before);
    group.taken.store(false, std::memory_order_release);
    news_.add(1);
    if (&group == &groups_.back() && after > before) set_.last_wave_done(before, after);
}

void Waves::locate(const WaveGroup& group, Batch& batch) {
    const auto places = places_of_row_block();
    const auto per_strip = row_blocks_per_strip();
    const auto reach = group.waves; /* the last wave's row block, and the one above it */
    batch.first_row_block = batch.first_round > reach ? batch.first_round - reach : 0;
    const auto end_row_block = std::min(batch.end_round + 1, row_blocks_);
    batch.places.clear();
    for (auto row_block = batch.first_row_block; row_block < end_row_block; ++row_block) {
        for (std::uint32_t m = 0; m < places; ++m) {
            auto *const strip = set_.locate(row_block / per_strip, m);
            batch.places.push_back(strip + offset_in_strip(row_block));
        }
    }
}

// Going up, a row block of rows begins with its last one; one that is skewed begins where it lies.
std::uint64_t Waves::offset_in_strip(std::uint64_t row_block) const {
    const auto per_strip = row_blocks_per_strip();
    const auto index = row_block % per_strip;
    if (!set_.rows_upwards) return index * row_block_bytes_;
    if (set_.shape.layout == &layouts::skewed) return (per_strip - 1 - index) * row_block_bytes_;
    return (set_.shape.strip_rows - 1) * row_bytes_ - index * row_block_bytes_;
}

// Waves [i, i + count) of the group in round r are on row blocks r - i, r - i - 1, ...
void Waves::round(const WaveGroup& group, Batch& batch, std::uint64_t round, std::uint64_t first,
                  std::uint64_t end) {
    const auto& shape = set_.shape;
    const auto places = places_of_row_block();
    const auto from = round >= row_blocks_ ? round - row_blocks_ + 1 : 0;
    const auto until = std::min(group.waves, round + 1);
    if (from >= until) return;
    batch.row_blocks.clear();
    for (auto i = from; i < until; ++i) {
        const auto row_block = round - i;
        const auto wave = group.first_wave + i;
        auto *const here = batch.places.data() + (row_block - batch.first_row_block) * places;
        const auto first_row = row_block * set_.rows_per_block;
        batch.row_blocks.push_back(
            {.rows = shape.rows,
             .columns = shape.columns,
             .first_row = first_row,
             .row_count = std::min(set_.rows_per_block, shape.rows - first_row),
             .rows_per_block = set_.rows_per_block,
             .data_count = shape.data_count,
             .coefficient_count = shape.coefficient_count,
             .above = row_block > 0 ? here - places : here,
             .here = here,
             .below = row_block + 1 < row_blocks_ ? here + places : here,
             .scratch = scratch_.data() + wave * scratch_bytes_,
             .row_bytes =
                 static_cast<std::int64_t>(row_bytes_ + slant_ * element_bytes(shape.element)) *
                 (set_.rows_upwards ? -1 : 1),
             .slant = slant_,
             .reads = reads(wave),
             .writes = writes(wave),
             .up = shape.facing.up,
             .mirrored = shape.facing.left,
             .leftwards = set_.directions[wave].left && !shape.facing.left,
             .backwards = set_.directions[wave].back,
             .rows_before = shape.rows_before,
             .columns_before = shape.columns_before,
             .iteration = set_.first_iteration + wave});
    }
    // Edges are those of one wave before the next reads them, and rows may be long.
    const bool alone = set_.edges || !goes_by_columns();
    const std::size_t at_once = alone ? 1 : batch.row_blocks.size();
    for (std::size_t i = 0; i < batch.row_blocks.size(); i += at_once) {
        const auto& row_block = batch.row_blocks[i];
        const Step step{
            .row_blocks = &row_block,
            .count = static_cast<std::uint32_t>(at_once),
            .first = first,
            .end = end,
            .changes = set_.measuring ? &changes_[group.first_wave + from + i] : nullptr,
            .borders = set_.edges ? &set_.edges->borders() : nullptr,
            .stop = &stop_};
        if (stop_asked(set_.stop)) throw KernelFailure(stopped_sentence);
        if (set_.measuring)
            set_.kernel->advance_and_measure(step);
        else
            set_.kernel->advance(step);
        if (set_.edges)
            set_.edges->after(row_block.first_row, row_block.first_row + row_block.row_count);
    }
}

}  // namespace lanewise::wavefront
