// SPDX-License-Identifier: BSD-3-Clause
//
// See pass.hpp.

#include "wavefront/run/pass.hpp"

#include <algorithm>

#include "wavefront/run/edges.hpp"
#include "wavefront/run/finite.hpp"
#include "wavefront/run/waves.hpp"
#include "wavefront/store/checksum.hpp"

namespace lanewise::wavefront {
namespace {

class Pass {
  public:
    Pass(const PassRequest& request, std::vector<StripFiles> sources,
         std::vector<StripFiles> targets, std::vector<std::vector<std::uint64_t>> sums)
        : request_(request),
          disk_(request.store->shape()),
          shape_(working_shape(*request.kernel, disk_)),
          slots_(slots_of(disk_, shape_, request.placement)),
          converted_rows_(lie_alike(disk_, shape_)
                              ? 0
                              : disk_.strip_rows * disk_.columns * element_bytes(disk_.element)),
          sources_(std::move(sources)),
          targets_(std::move(targets)),
          expected_sums_(std::move(sums)),
          strips_(shape_.strip_count()),
          held_(held_strips(request.borders, disk_)),
          edges_(request.borders, shape_, request.kernel->radius,
                 [this](std::uint64_t row, std::uint32_t matrix) { return at_row(row, matrix); }),
          reads_pending_(strips_, shape_.matrix_count()),
          writes_pending_(strips_, shape_.data_count),
          in_flight_(*request.queue),
          waves_(wave_set()) {
        result_.sums.assign(shape_.data_count, std::vector<std::uint64_t>(strips_));
    }

    Result<PassResult> run() {
        const auto begun = edges_.begin(*request_.store);
        if (!begun) return begun.failure();
        take_kept();
        waves_.start();
        auto outcome = move_strips();
        if (!outcome) waves_.give_up();
        const auto kernel_failure = waves_.join();
        if (!kernel_failure.empty()) return Failure{LW_ERR_OPERATION, kernel_failure};
        if (!outcome) return outcome.failure();
        for (const auto& files : targets_) {
            const auto synced = files.sync();
            if (!synced) return synced.failure();
        }
        result_.changes = waves_.changes();
        result_.working_share = waves_.working_share();
        if (leaves_strips()) result_.strips_left = std::min(request_.buffers, strips_);
        return std::move(result_);
    }

  private:
    WaveSet wave_set() {
        const auto per_strip = shape_.strip_rows / request_.rows_per_block;
        return {.kernel = request_.kernel,
                .shape = shape_,
                .rows_per_block = request_.rows_per_block,
                .waves = request_.waves,
                .threads = request_.threads,
                .tiling = request_.tiling,
                .halo_exchange = request_.halo_exchange,
                .iterations_before = request_.store->manifest().iterations,
                .measuring = request_.measuring,
                .directions = request_.directions,
                .first_iteration = request_.first_iteration,
                .rows_upwards = shape_.facing.up,
                .edges = has_edges() ? &edges_ : nullptr,
                .stop = request_.stop,
                .locate = [this](std::uint64_t strip,
                                 std::uint32_t matrix) { return slot(strip, matrix); },
                // A strip may be written after its last row block, and its buffer be used again
                // after the first row block below it.
                .last_wave_done =
                    [this, per_strip](std::uint64_t first, std::uint64_t end) {
                        const bool strip_ended = end / per_strip > first / per_strip;
                        const bool row_block_below =
                            (end + per_strip - 1) / per_strip > (first + per_strip - 1) / per_strip;
                        if (strip_ended || row_block_below || end == waves_.row_block_count())
                            request_.queue->wake();
                    }};
    }

    // Strips that are held to the end have buffers of their own, behind the others. The next pass,
    // which may go the other way, finds a strip where it was.
    std::uint64_t buffer(std::uint64_t strip) const {
        return strip < held_ ? request_.buffers + strip : on_disk(strip) % request_.buffers;
    }

    std::byte *slot(std::uint64_t strip, std::uint32_t matrix) const {
        return request_.ring->begin() + slots_.offset(buffer(strip), matrix);
    }

    // Of matrices that lie row by row, as waves count the rows.
    std::byte *at_row(std::uint64_t row, std::uint32_t matrix) const {
        const auto in_strip = row % shape_.strip_rows;
        const auto at = shape_.facing.up ? shape_.strip_rows - 1 - in_strip : in_strip;
        return slot(row / shape_.strip_rows, matrix) +
               at * shape_.columns * element_bytes(shape_.element);
    }

    bool converting() const { return !converted_rows_.empty(); }
    bool has_edges() const { return !are_fixed(request_.borders); }
    bool leaves_strips() const { return !converting() && !has_edges(); }

    // The strip on disk that is strip `strip` for the waves.
    std::uint64_t on_disk(std::uint64_t strip) const {
        return shape_.facing.up ? strips_ - 1 - strip : strip;
    }

    void convert_read(std::uint64_t strip, std::byte *bytes) {
        if (!converting()) return;
        const auto rows = rows_in_strip(disk_, on_disk(strip));
        unpack_strip(disk_, bytes, rows, converted_rows_.data());
        pack_strip(shape_, converted_rows_.data(), rows, bytes);
    }
    void convert_written(std::uint64_t strip, std::byte *bytes) {
        if (!converting()) return;
        const auto rows = rows_in_strip(disk_, on_disk(strip));
        unpack_strip(shape_, bytes, rows, converted_rows_.data());
        pack_strip(disk_, converted_rows_.data(), rows, bytes);
    }

    // Where a strip was converted, its rows are those of the disk.
    Outcome check_finite(std::uint32_t matrix, std::uint64_t strip, const std::byte *bytes) const {
        if (request_.finite == Finite::assumed) return Done{};
        auto checked = with_layout(disk_, converting() ? &layouts::row_major : disk_.layout);
        checked.rows = rows_in_strip(disk_, on_disk(strip));
        if (converting()) checked.strip_rows = checked.rows;
        const auto first_row = request_.first_row + on_disk(strip) * disk_.strip_rows;
        const auto cell =
            cell_not_finite(checked, {first_row, 0}, converting() ? converted_rows_.data() : bytes);
        return cell.empty() ? Outcome(Done{}) : Outcome(not_finite(*request_.store, matrix, cell));
    }

    Outcome move_strips() {
        while (strips_written_ < strips_) {
            if (stop_asked(request_.stop)) return Failure{LW_ERR_OPERATION, stopped_sentence};
            submit_reads();
            const auto written = submit_writes();
            if (!written) return written;
            const auto landed = in_flight_.wait();
            if (!landed) {
                // A kernel that failed wakes this thread; join() returns its sentence.
                if (waves_.given_up()) return Failure{LW_ERR_OPERATION, "a kernel failed"};
                continue;
            }
            if (!landed->outcome) return landed->outcome;
            const auto taken = take(landed->tag);
            if (!taken) return taken;
        }
        return Done{};
    }

    // They have been checked, or written, by the pass before.
    void take_kept() {
        if (!leaves_strips()) return;
        next_read_ = request_.kept_strips;
        std::fill_n(reads_pending_.begin(), next_read_, 0);
        load_strips();
    }

    // Row blocks of the last wave after which the buffer of `strip` is free.
    bool is_free(std::uint64_t strip) const {
        const auto needed =
            std::min((strip + 1) * waves_.row_blocks_per_strip() + 1, waves_.row_block_count());
        return writes_pending_[strip] == 0 && waves_.finished() >= needed;
    }

    void submit_reads() {
        while (next_read_ < strips_ &&
               (next_read_ < request_.buffers + held_ || is_free(next_read_ - request_.buffers))) {
            for (std::uint32_t m = 0; m < shape_.matrix_count(); ++m)
                submit(Transfer::Direction::read, sources_[m].place(on_disk(next_read_)),
                       next_read_, m);
            ++next_read_;
        }
    }

    // Row blocks of the last wave after which `strip` is as it is to be. A strip is converted in
    // place, so the row block below must have finished reading it, which may also set the border.
    std::uint64_t needed_to_write(std::uint64_t strip) const {
        const std::uint64_t below = converting() || has_edges() ? 1 : 0;
        const auto all = waves_.row_block_count();
        if (strip < held_) return all;
        return std::min((strip + 1) * waves_.row_blocks_per_strip() + below, all);
    }

    Outcome submit_writes() {
        while (next_write_ < strips_) {
            const auto strip = (next_write_ + held_) % strips_;
            if (waves_.finished() < needed_to_write(strip)) break;
            for (std::uint32_t m = 0; m < shape_.data_count; ++m) {
                const auto written = submit_write(strip, m);
                if (!written) return written;
            }
            ++next_write_;
        }
        return Done{};
    }

    Outcome submit_write(std::uint64_t strip, std::uint32_t matrix) {
        auto *bytes = slot(strip, matrix);
        convert_written(strip, bytes);
        const auto sound = check_finite(matrix, strip, bytes);
        if (!sound) return sound;
        const auto place = on_disk(strip);
        result_.sums[matrix][place] = checksum(bytes, strip_bytes(disk_));
        submit(Transfer::Direction::write, targets_[matrix].place(place), strip, matrix);
        return Done{};
    }

    // The slot of a strip's buffer is free: a strip is read into it only after it was written.
    void submit(Transfer::Direction direction, const StripFiles::Place& place, std::uint64_t strip,
                std::uint32_t matrix) {
        const bool writes = direction == Transfer::Direction::write;
        in_flight_.submit(
            buffer(strip),
            {.direction = direction,
             .file = place.file,
             .memory = slot(strip, matrix),
             .bytes = strip_bytes(disk_),
             .offset = place.offset,
             .tag = (strip * shape_.matrix_count() + matrix) * 2 + (writes ? 1 : 0)},
            (writes ? "writing " : "reading ") + request_.store->tile_name(matrix, on_disk(strip)));
    }

    Outcome take(std::uint64_t tag) {
        const auto matrix = static_cast<std::uint32_t>(tag / 2 % shape_.matrix_count());
        const auto strip = tag / 2 / shape_.matrix_count();
        return tag % 2 == 1 ? take_write(strip) : take_read(strip, matrix);
    }

    Outcome take_read(std::uint64_t strip, std::uint32_t matrix) {
        result_.read_bytes += strip_bytes(disk_);
        if (checksum(slot(strip, matrix), strip_bytes(disk_)) !=
            expected_sums_[matrix][on_disk(strip)])
            return Failure{LW_ERR_IO, request_.store->tile_name(matrix, on_disk(strip)) +
                                          ": the checksum is wrong; restore it from a copy"};
        convert_read(strip, slot(strip, matrix));
        if (has_edges() && matrix < shape_.data_count) edges_.set_strip(strip, matrix);
        --reads_pending_[strip];
        load_strips();
        return Done{};
    }

    void load_strips() {
        while (strips_loaded_ < strips_ && reads_pending_[strips_loaded_] == 0) {
            const auto per_strip = waves_.row_blocks_per_strip();
            const auto first = strips_loaded_ * per_strip;
            waves_.load(std::min(first + per_strip, waves_.row_block_count()) - first);
            ++strips_loaded_;
        }
    }

    Outcome take_write(std::uint64_t strip) {
        result_.written_bytes += strip_bytes(disk_);
        if (--writes_pending_[strip] > 0) return Done{};
        ++strips_written_;
        if (request_.progress)
            request_.progress({strips_written_, strips_, request_.waves, result_.read_bytes,
                               result_.written_bytes});
        return Done{};
    }

    const PassRequest& request_;
    MatrixShape disk_;  /* as strips lie on disk */
    MatrixShape shape_; /* as the kernel works on them */
    Slots slots_;
    std::vector<std::byte> converted_rows_; /* between the two, where they differ */
    std::vector<StripFiles> sources_;
    std::vector<StripFiles> targets_;
    std::vector<std::vector<std::uint64_t>> expected_sums_;
    std::uint64_t strips_;
    std::uint64_t held_; /* at the beginning, whose borders are set at the end */
    Edges edges_;
    std::vector<std::uint32_t> reads_pending_;
    std::vector<std::uint32_t> writes_pending_;
    std::uint64_t next_read_ = 0;
    std::uint64_t next_write_ = 0;
    std::uint64_t strips_loaded_ = 0;
    std::uint64_t strips_written_ = 0;
    PassResult result_;
    InFlight in_flight_;
    Waves waves_;
};

}  // namespace

Result<PassResult> run_pass(const PassRequest& request) {
    const auto& store = *request.store;
    std::vector<StripFiles> sources;
    std::vector<StripFiles> targets;
    std::vector<std::vector<std::uint64_t>> sums;
    for (std::uint32_t m = 0; m < store.shape().matrix_count(); ++m) {
        auto files = store.open_current(m);
        if (!files) return files.failure();
        auto known = store.read_sums(m);
        if (!known) return known.failure();
        sources.push_back(std::move(*files));
        sums.push_back(std::move(*known));
    }
    for (std::uint32_t m = 0; m < store.shape().data_count; ++m) {
        auto files = store.open_next(m, request.stop);
        if (!files) return files.failure();
        targets.push_back(std::move(*files));
    }
    return Pass(request, std::move(sources), std::move(targets), std::move(sums)).run();
}

}  // namespace lanewise::wavefront
