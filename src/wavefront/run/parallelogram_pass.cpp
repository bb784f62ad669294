// SPDX-License-Identifier: BSD-3-Clause
//
// Parallelogram pass: a pass over a store in tiles; see plan/parallelograms.hpp.
//
// The calling thread moves windows: it reads that of the next strip while waves work on
// those before, and writes tiles that no wave will touch again. What lies between two
// parallelograms is written to the file `carried` beside the data and read back from
// it; a run that is killed begins its pass again and does not need that file.

#include <algorithm>
#include <cstring>

#include "wavefront/plan/parallelograms.hpp"
#include "wavefront/run/finite.hpp"
#include "wavefront/run/pass.hpp"
#include "wavefront/run/waves.hpp"
#include "wavefront/store/checksum.hpp"

namespace lanewise::wavefront {
namespace {

// Tiles into and out of a window: what a parallelogram holds of a strip, in skewed or slanted row
// blocks.

/* Vectors [first, end) of each row block of a strip; `bytes` is where vector `first` of row block 0
 * lies; the rows of a slanted row block lie row_block_bytes / rows_per_block apart. */
struct WindowPlace {
    std::byte *bytes = nullptr;
    std::uint64_t row_block_bytes = 0;
    std::uint64_t first = 0;
    std::uint64_t end = 0;
};

struct Wide {
    std::uint64_t halves[2];
};

// Calls act(element of the window, element of the rows) for each that both have. `tile` and rows of
// the window are those of the waves; the elements of the rows lie as on the disk.
template <typename Word, typename Act>
void each(const MatrixShape& shape, const WindowPlace& window, std::uint64_t tile,
          std::uint64_t row_count, const Act& act) {
    const auto corner = tile * shape.tile_columns;
    const auto begin = std::max(corner, shape.columns_before);
    const auto end = std::min(corner + shape.tile_columns, shape.columns);
    const auto lanes = shape.rows_per_block;
    const auto first_row = shape.facing.up ? shape.strip_rows - row_count : 0;
    const auto row_on_disk = [&](std::uint64_t row) {
        return shape.facing.up ? shape.strip_rows - 1 - row : row;
    };
    const auto column_on_disk = [&](std::uint64_t column) {
        return shape.facing.left ? shape.tile_columns - 1 - (column - corner) : column - corner;
    };
    const bool by_rows = shape.layout == &layouts::slanted;
    const auto vector_words = by_rows ? 1 : lanes;
    const auto lane_words = by_rows ? window.row_block_bytes / sizeof(Word) / lanes : 1;
    for (auto row = first_row; row < first_row + row_count; ++row) {
        const auto lane = row % lanes;
        const auto lag = shape.skew * lane;
        const auto from = std::max(begin, window.first > lag ? window.first - lag : 0);
        const auto until = std::min(end, window.end > lag ? window.end - lag : 0);
        auto *const row_block =
            reinterpret_cast<Word *>(window.bytes + row / lanes * window.row_block_bytes);
        for (auto column = from; column < until; ++column)
            act(row_block[(column + lag - window.first) * vector_words + lane * lane_words],
                row_on_disk(row) * shape.tile_columns + column_on_disk(column));
    }
}

template <typename Word>
void put(const MatrixShape& shape, const WindowPlace& window, std::uint64_t tile,
         std::uint64_t row_count, const std::byte *rows) {
    const auto *const from = reinterpret_cast<const Word *>(rows);
    each<Word>(shape, window, tile, row_count,
               [&](Word& element, std::uint64_t at) { element = from[at]; });
}

template <typename Word>
void get(const MatrixShape& shape, const WindowPlace& window, std::uint64_t tile,
         std::uint64_t row_count, std::byte *rows) {
    auto *const to = reinterpret_cast<Word *>(rows);
    each<Word>(shape, window, tile, row_count,
               [&](const Word& element, std::uint64_t at) { to[at] = element; });
}

/* `rows` are those of tile `tile` in row-major order; elements outside of the window stay out. */
void put_tile(const MatrixShape& shape, const WindowPlace& window, std::uint64_t tile,
              std::uint64_t row_count, const std::byte *rows) {
    switch (element_bytes(shape.element)) {
        case sizeof(std::uint16_t): return put<std::uint16_t>(shape, window, tile, row_count, rows);
        case sizeof(std::uint32_t): return put<std::uint32_t>(shape, window, tile, row_count, rows);
        case sizeof(std::uint64_t): return put<std::uint64_t>(shape, window, tile, row_count, rows);
        default: return put<Wide>(shape, window, tile, row_count, rows);
    }
}

void get_tile(const MatrixShape& shape, const WindowPlace& window, std::uint64_t tile,
              std::uint64_t row_count, std::byte *rows) {
    switch (element_bytes(shape.element)) {
        case sizeof(std::uint16_t): return get<std::uint16_t>(shape, window, tile, row_count, rows);
        case sizeof(std::uint32_t): return get<std::uint32_t>(shape, window, tile, row_count, rows);
        case sizeof(std::uint64_t): return get<std::uint64_t>(shape, window, tile, row_count, rows);
        default: return get<Wide>(shape, window, tile, row_count, rows);
    }
}

// Slots of transfers: two strips being loaded, one being stored.
constexpr std::uint64_t loads[2] = {0, 1};
constexpr std::uint64_t stores = 2;

struct Files {
    std::vector<StripFiles> sources;
    std::vector<std::vector<std::uint64_t>> sums;
    std::vector<StripFiles> targets;
    StripFiles carried; /* a file of its own: one place */
};

class ParallelogramPass {
  public:
    ParallelogramPass(const PassRequest& request, std::uint64_t parallelogram_vectors,
                      const ParallelogramPlace& place, Files files)
        : request_(request),
          disk_(request.store->shape()),
          shape_(working_shape(*request.kernel, disk_)),
          geometry_(shape_, request.kernel->radius, request.waves, parallelogram_vectors, place),
          second_copies_(request.kernel->second_copies),
          memory_(parallelogram_memory(shape_, disk_.layout, second_copies_, geometry_)),
          files_(std::move(files)),
          tile_rows_(disk_.strip_rows * disk_.tile_columns * element_bytes(disk_.element)),
          carried_sums_(shape_.strip_count()),
          in_flight_(*request.queue) {
        result_.sums.assign(shape_.data_count, std::vector<std::uint64_t>(shape_.tile_count()));
        result_.changes.assign(request.waves, 0.0);
    }

    Result<PassResult> run() {
        for (parallelogram_ = 0; parallelogram_ < geometry_.parallelograms(); ++parallelogram_) {
            if (stop_asked(request_.stop)) return Failure{LW_ERR_OPERATION, stopped_sentence};
            const auto done = run_parallelogram();
            if (!done) return done.failure();
            report_progress();
        }
        for (const auto& target : files_.targets) {
            const auto synced = target.sync();
            if (!synced) return synced.failure();
        }
        return std::move(result_);
    }

  private:
    Outcome run_parallelogram() {
        const auto set = wave_set();
        halo_rows_ = HaloRows(halo_rows_setting(set, set.row_block_bytes));
        lower_is_settled_ = false;
        Waves waves(set);
        waves.start();
        auto outcome = move_strips(waves);
        if (!outcome) waves.give_up();
        const auto kernel_failure = waves.join();
        if (!kernel_failure.empty()) return Failure{LW_ERR_OPERATION, kernel_failure};
        if (!outcome) return outcome;
        for (std::uint64_t k = 0; k < request_.waves; ++k)
            result_.changes[k] = std::max(result_.changes[k], waves.changes()[k]);
        return Done{};
    }

    WaveSet wave_set() {
        return {.kernel = request_.kernel,
                .shape = shape_,
                .rows_per_block = shape_.rows_per_block,
                .waves = request_.waves,
                .threads = request_.threads,
                .tiling = request_.tiling,
                .parallelogram = geometry_.parallelogram(parallelogram_),
                .row_block_bytes = geometry_.row_block_bytes(geometry_.window_vectors_max()),
                .halo_exchange = request_.halo_exchange,
                .iterations_before = request_.store->manifest().iterations,
                .measuring = request_.measuring,
                .directions = request_.directions,
                .first_iteration = request_.first_iteration,
                .stop = request_.stop,
                .locate = [this](std::uint64_t strip,
                                 std::uint32_t matrix) { return origin(strip, matrix); },
                .last_wave_done = [](std::uint64_t /*first*/, std::uint64_t /*end*/) {}};
    }

    Outcome move_strips(Waves& waves) {
        const auto strips = shape_.strip_count();
        const auto per_strip = waves.row_blocks_per_strip();
        std::uint64_t stored = 0;
        submit_load(0);
        for (std::uint64_t s = 0; s < strips; ++s) {
            if (s + 1 < strips) submit_load(s + 1);
            const auto loaded = in_flight_.wait_for(loads[s % 2]);
            if (!loaded) return loaded;
            for (; stored < s && (stored + request_.buffers <= s || is_left(waves, stored));
                 ++stored) {
                const auto done = store(waves, stored);
                if (!done) return done;
            }
            const auto put = unpack(s);
            if (!put) return put;
            waves.load(std::min(per_strip, waves.row_block_count() - s * per_strip));
        }
        for (; stored < strips; ++stored) {
            const auto done = store(waves, stored);
            if (!done) return done;
        }
        return in_flight_.wait_for(stores);
    }

    // Rows of the lower neighbour lie in the last strip, and maybe in the one before.
    bool has_lower_halo(std::uint64_t strip) const {
        return request_.halo_exchange && request_.halo_exchange->has(Side::lower) &&
               (strip + 1) * shape_.strip_rows > shape_.rows - request_.kernel->radius;
    }

    // Until the last wave has left the strip and the row block below it, or all row blocks where
    // the strip is to get what the neighbour's last wave leaves.
    std::uint64_t row_blocks_to_leave(const Waves& waves, std::uint64_t strip) const {
        if (has_lower_halo(strip)) return waves.row_block_count();
        return std::min((strip + 1) * waves.row_blocks_per_strip() + 1, waves.row_block_count());
    }
    bool is_left(const Waves& waves, std::uint64_t strip) const {
        return waves.finished() >= row_blocks_to_leave(waves, strip);
    }

    // Puts the neighbours' rows in place for the next pass.
    Outcome settle(std::uint64_t strip) {
        const auto iteration = request_.store->manifest().iterations + request_.waves;
        const auto locate = [this](std::uint64_t s, std::uint32_t m) {
            return origin(s, written_by_last(m));
        };
        const auto upper =
            strip == 0 ? halo_rows_.settle(Side::upper, iteration, locate) : Outcome(Done{});
        if (!upper || !has_lower_halo(strip) || lower_is_settled_) return upper;
        lower_is_settled_ = true;
        return halo_rows_.settle(Side::lower, iteration, locate);
    }

    // Where vector 0 of a strip would lie, if all of it were in memory.
    std::byte *origin(std::uint64_t strip, std::uint32_t matrix) const {
        const auto first = geometry_.window(strip, parallelogram_).first;
        return slot(strip, matrix) - geometry_.piece_bytes(first);
    }

    std::byte *slot(std::uint64_t strip, std::uint32_t matrix) const {
        return request_.ring->begin() +
               (strip % request_.buffers * memory_.slots + matrix) * memory_.slot_bytes;
    }
    std::byte *staging(std::uint64_t which) const {
        return request_.ring->begin() + memory_.slots_bytes(request_.buffers) +
               which * memory_.load_bytes;
    }
    WindowPlace place(std::uint64_t strip, std::uint32_t matrix, const Window& window) const {
        return {slot(strip, matrix), geometry_.row_block_bytes(geometry_.window_vectors_max()),
                window.first, window.end};
    }
    std::uint64_t strip_on_disk(std::uint64_t strip) const {
        return shape_.facing.up ? shape_.strip_count() - 1 - strip : strip;
    }
    std::uint64_t tile_on_disk(std::uint64_t tile) const {
        return shape_.facing.left ? shape_.tiles_in_strip() - 1 - tile : tile;
    }
    std::uint64_t tile_index(std::uint64_t strip, std::uint64_t tile) const {
        return strip_on_disk(strip) * shape_.tiles_in_strip() + tile_on_disk(tile);
    }
    // The one that lies first on the disk.
    std::uint64_t first_of(const std::uint64_t *tiles) const {
        return shape_.facing.left ? tiles[1] - 1 : tiles[0];
    }
    // Where tile `tile` lies among those of `tiles`, which are staged as they lie on the disk.
    std::uint64_t staged(const std::uint64_t *tiles, std::uint64_t tile) const {
        return (shape_.facing.left ? tiles[1] - 1 - tile : tile - tiles[0]) * tile_bytes(disk_);
    }
    std::uint64_t rows_on_disk(std::uint64_t strip) const {
        return rows_in_strip(disk_, strip_on_disk(strip));
    }

    bool is_data(std::uint32_t matrix) const { return matrix < shape_.data_count; }
    // Data matrices and their second copies.
    std::uint32_t carried_count() const { return shape_.data_count + second_copies_; }
    std::uint32_t carried_matrix(std::uint32_t i) const {
        return is_data(i) ? i : shape_.matrix_count() + i - shape_.data_count;
    }
    // Where the last wave has left data matrix `matrix`.
    std::uint32_t written_by_last(std::uint32_t matrix) const {
        return second_copies_ > 0 && request_.waves % 2 == 1 ? shape_.matrix_count() + matrix
                                                             : matrix;
    }

    // Staged one after the other: tiles of the data, tiles of the coefficients, what is carried
    // over. Tiles of a strip are contiguous on the disk too.
    void submit_load(std::uint64_t strip) {
        const auto window = geometry_.window(strip, parallelogram_);
        auto *to = staging(strip % 2);
        for (std::uint32_t m = 0; m < shape_.matrix_count(); ++m) {
            const auto *tiles = is_data(m) ? window.data_tiles : window.coefficient_tiles;
            const auto bytes = (tiles[1] - tiles[0]) * tile_bytes(disk_);
            if (bytes == 0) continue;
            const auto index = tile_index(strip, first_of(tiles));
            move(loads[strip % 2], Transfer::Direction::read, files_.sources[m].place(index), to,
                 bytes, request_.store->tile_name(m, index));
            to += bytes;
        }
        const auto bytes = carried_count() * carried_bytes(geometry_, window.carried_in());
        if (bytes > 0)
            move(loads[strip % 2], Transfer::Direction::read, carried_place(strip), to, bytes,
                 carried_name(strip));
    }

    Outcome unpack(std::uint64_t strip) {
        const auto window = geometry_.window(strip, parallelogram_);
        const auto rows = rows_on_disk(strip);
        auto *from = staging(strip % 2);
        for (std::uint32_t i = 0; i < carried_count(); ++i) clear(strip, carried_matrix(i), window);
        for (std::uint32_t m = 0; m < shape_.matrix_count(); ++m) {
            const auto *tiles = is_data(m) ? window.data_tiles : window.coefficient_tiles;
            auto to = place(strip, m, window);
            if (is_data(m)) skip_carried(to, window);
            for (auto t = tiles[0]; t < tiles[1]; ++t) {
                const auto index = tile_index(strip, t);
                const auto *const tile = from + staged(tiles, t);
                if (checksum(tile, tile_bytes(disk_)) != files_.sums[m][index])
                    return Failure{LW_ERR_IO, request_.store->tile_name(m, index) +
                                                  ": the checksum is wrong; restore it from a "
                                                  "copy"};
                unpack_strip(tile_of(disk_), tile, rows, tile_rows_.data());
                put_tile(shape_, to, t, rows, tile_rows_.data());
                if (is_data(m) && second_copies_ > 0) put_second_copy(strip, m, window, t);
            }
            from += (tiles[1] - tiles[0]) * tile_bytes(disk_);
        }
        if (window.carried_in() == 0) return Done{};
        const auto bytes = carried_bytes(geometry_, window.carried_in());
        if (checksum(from, carried_count() * bytes) != carried_sums_[strip])
            return Failure{LW_ERR_IO, carried_name(strip) + ": the checksum is wrong; resume"};
        for (std::uint32_t i = 0; i < carried_count(); ++i, from += bytes)
            copy_pieces(slot(strip, carried_matrix(i)), from, window.carried_in(), Way::in);
        return Done{};
    }

    // Lanes outside of the matrix hold zeros, which never count as a change.
    void clear(std::uint64_t strip, std::uint32_t matrix, const Window& window) {
        const auto stride = geometry_.piece_bytes(geometry_.window_vectors_max());
        auto *to = slot(strip, matrix);
        for (std::uint64_t i = 0; i < geometry_.pieces_in_strip(); ++i, to += stride)
            std::memset(to, 0, geometry_.piece_bytes(window.vectors()));
    }
    // Only vectors that have not been carried over come from tiles.
    void skip_carried(WindowPlace& to, const Window& window) const {
        to.first += window.carried_in();
        to.bytes += geometry_.piece_bytes(window.carried_in());
    }
    // Both copies have the border, which no wave writes.
    void put_second_copy(std::uint64_t strip, std::uint32_t matrix, const Window& window,
                         std::uint64_t tile) {
        auto to = place(strip, shape_.matrix_count() + matrix, window);
        skip_carried(to, window);
        put_tile(shape_, to, tile, rows_on_disk(strip), tile_rows_.data());
    }

    Outcome store(Waves& waves, std::uint64_t strip) {
        if (!waves.wait_finished(row_blocks_to_leave(waves, strip)))
            return Failure{LW_ERR_OPERATION, "a kernel failed"};
        const auto settled = settle(strip);
        if (!settled) return settled;
        const auto free = in_flight_.wait_for(stores);
        if (!free) return free;
        const auto window = geometry_.window(strip, parallelogram_);
        const auto rows = rows_on_disk(strip);
        auto *to = staging(2);
        for (std::uint32_t m = 0; m < shape_.data_count; ++m) {
            const auto *const tiles = window.done_tiles;
            if (tiles[0] >= tiles[1]) continue;
            for (auto t = tiles[0]; t < tiles[1]; ++t) {
                std::fill(tile_rows_.begin(), tile_rows_.end(), std::byte{0});
                get_tile(shape_, place(strip, written_by_last(m), window), t, rows,
                         tile_rows_.data());
                const auto sound = check_finite(m, strip, t, rows);
                if (!sound) return sound;
                auto *const tile = to + staged(tiles, t);
                pack_strip(tile_of(disk_), tile_rows_.data(), rows, tile);
                result_.sums[m][tile_index(strip, t)] = checksum(tile, tile_bytes(disk_));
            }
            const auto index = tile_index(strip, first_of(tiles));
            const auto bytes = (tiles[1] - tiles[0]) * tile_bytes(disk_);
            move(stores, Transfer::Direction::write, files_.targets[m].place(index), to, bytes,
                 request_.store->tile_name(m, index));
            to += bytes;
        }
        if (window.carried_out() > 0) store_carried(strip, window, to);
        return Done{};
    }

    void store_carried(std::uint64_t strip, const Window& window, std::byte *to) {
        const auto bytes = carried_bytes(geometry_, window.carried_out());
        const auto all = carried_count() * bytes;
        std::memset(to, 0, all);
        const auto off = geometry_.piece_bytes(window.carried_first - window.first);
        for (std::uint32_t i = 0; i < carried_count(); ++i)
            copy_pieces(slot(strip, carried_matrix(i)) + off, to + i * bytes, window.carried_out(),
                        Way::out);
        carried_sums_[strip] = checksum(to, all);
        move(stores, Transfer::Direction::write, carried_place(strip), to, all,
             carried_name(strip));
    }

    Outcome check_finite(std::uint32_t matrix, std::uint64_t strip, std::uint64_t tile,
                         std::uint64_t rows) const {
        if (request_.finite == Finite::assumed) return Done{};
        auto cut = tile_of(disk_);
        cut.layout = &layouts::row_major;
        cut.rows = rows;
        const auto first_row = request_.first_row + strip_on_disk(strip) * disk_.strip_rows;
        const auto cell = cell_not_finite(cut, {first_row, tile_on_disk(tile) * disk_.tile_columns},
                                          tile_rows_.data());
        if (cell.empty()) return Done{};
        return not_finite(*request_.store, matrix, cell);
    }

    enum class Way { in, out };
    // Row blocks or rows one behind the other, out of or into a window.
    void copy_pieces(std::byte *window, std::byte *packed, std::uint64_t vectors, Way way) const {
        const auto stride = geometry_.piece_bytes(geometry_.window_vectors_max());
        const auto bytes = geometry_.piece_bytes(vectors);
        for (std::uint64_t i = 0; i < geometry_.pieces_in_strip(); ++i) {
            auto *const there = window + i * stride;
            auto *const here = packed + i * bytes;
            std::memcpy(way == Way::in ? there : here, way == Way::in ? here : there, bytes);
        }
    }

    StripFiles::Place carried_place(std::uint64_t strip) const {
        return {
            files_.carried.place(0).file,
            strip * carried_count() * carried_bytes(geometry_, geometry_.carried_vectors_max())};
    }
    std::string carried_name(std::uint64_t strip) const {
        return "what is carried over of strip " + std::to_string(strip) + " of " +
               request_.store->folder();
    }

    void move(std::uint64_t slot, Transfer::Direction direction, const StripFiles::Place& place,
              std::byte *memory, std::uint64_t bytes, const std::string& name) {
        const bool reads = direction == Transfer::Direction::read;
        (reads ? result_.read_bytes : result_.written_bytes) += bytes;
        in_flight_.submit(slot,
                          {.direction = direction,
                           .file = place.file,
                           .memory = memory,
                           .bytes = bytes,
                           .offset = place.offset},
                          (reads ? "reading " : "writing ") + name);
    }

    void report_progress() {
        if (request_.progress)
            request_.progress(
                {shape_.strip_count() * (parallelogram_ + 1) / geometry_.parallelograms(),
                 shape_.strip_count(), request_.waves, result_.read_bytes, result_.written_bytes});
    }

    const PassRequest& request_;
    MatrixShape disk_;  /* as tiles lie on disk */
    MatrixShape shape_; /* as the kernel works on windows of them */
    ParallelogramGeometry geometry_;
    std::uint32_t second_copies_;
    ParallelogramMemory memory_;
    Files files_;
    std::vector<std::byte> tile_rows_;
    std::vector<std::uint64_t> carried_sums_;
    std::uint64_t parallelogram_ = 0;
    HaloRows halo_rows_;
    bool lower_is_settled_ = false;
    PassResult result_;
    InFlight in_flight_;
};

}  // namespace

Result<PassResult> run_parallelogram_pass(const PassRequest& request,
                                          std::uint64_t parallelogram_vectors,
                                          const ParallelogramPlace& place) {
    const auto& store = *request.store;
    Files files;
    for (std::uint32_t m = 0; m < store.shape().matrix_count(); ++m) {
        auto opened = store.open_current(m);
        if (!opened) return opened.failure();
        auto known = store.read_sums(m);
        if (!known) return known.failure();
        files.sources.push_back(std::move(*opened));
        files.sums.push_back(std::move(*known));
    }
    for (std::uint32_t m = 0; m < store.shape().data_count; ++m) {
        auto target = store.open_next(m, request.stop);
        if (!target) return target.failure();
        files.targets.push_back(std::move(*target));
    }
    auto carried = store.open_scratch("carried");
    if (!carried) return carried.failure();
    files.carried = std::move(*carried);
    return ParallelogramPass(request, parallelogram_vectors, place, std::move(files)).run();
}

}  // namespace lanewise::wavefront
