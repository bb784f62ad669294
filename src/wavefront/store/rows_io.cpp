// SPDX-License-Identifier: BSD-3-Clause
//
// See rows_io.hpp.

#include "wavefront/store/rows_io.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

#include "wavefront/layout/values.hpp"
#include "wavefront/stop.hpp"
#include "wavefront/store/checksum.hpp"
#include "wavefront/store/tile_stream.hpp"
#include "wavefront/store/vectors.hpp"

namespace lanewise::wavefront {
namespace {

Outcome read_strip(const StripFiles::Place& place, std::byte *strip, std::uint64_t bytes) {
    for (std::uint64_t done = 0; done < bytes;) {
        const auto moved = ::pread(place.file, strip + done, bytes - done,
                                   static_cast<off_t>(place.offset + done));
        if (moved < 0 && errno == EINTR) continue;
        if (moved < 0) return Failure{LW_ERR_IO, std::strerror(errno)};
        if (moved == 0) return Failure{LW_ERR_IO, "the file ends too early"};
        done += static_cast<std::uint64_t>(moved);
    }
    return Done{};
}

std::uint64_t mix(std::uint64_t value) {
    value += 0x9e3779b97f4a7c15;
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
    value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
    return value ^ (value >> 31);
}

enum class Role { data, coefficient };

// A random number from 0 to 1 as the contents of a matrix: whole ones are 0 to 15 in data, and -4
// to 3 in coefficients, as the scores of pairs of letters are.
template <typename Value>
Value contents(Role role, double drawn) {
    const bool data = role == Role::data;
    if constexpr (std::is_integral_v<Value>)
        return data ? static_cast<Value>(16 * drawn)
                    : static_cast<Value>(static_cast<Value>(8 * drawn) - 4);
    else
        return static_cast<Value>(static_cast<arithmetic_t<Value>>((data ? 1.0 : 0.25) * drawn));
}

template <typename Value>
void fill_rows(const MatrixShape& shape, std::uint64_t seed, std::uint32_t matrix, Role role,
               std::uint64_t first_row, std::uint64_t row_count, std::byte *rows) {
    auto *at = reinterpret_cast<Value *>(rows);
    // A complex element is two columns of real numbers.
    const auto columns = shape.columns * element_bytes(shape.element) / sizeof(Value);
    for (std::uint64_t i = 0; i < row_count; ++i) {
        for (std::uint64_t j = 0; j < columns; ++j)
            *at++ = contents<Value>(role, demo_value(seed, matrix, first_row + i, columns, j));
    }
}

// Of which a complex element has two.
template <typename Value>
struct Real {
    using type = Value;
};
template <typename Value>
struct Real<std::complex<Value>> {
    using type = Value;
};

Result<Memory> reserve_strip_rows(const MatrixShape& shape) {
    return Memory::reserve(shape.strip_rows * shape.columns * element_bytes(shape.element));
}

// What a tile has of the rows of its strip.
class Tile {
  public:
    explicit Tile(const MatrixShape& shape) : shape_(shape), own_(tile_of(shape)) {
        if (shape.tile_columns) rows_.resize(shape.strip_rows * row_bytes());
    }

    /* Out of the whole rows of its strip. */
    void pack(const std::byte *strip_rows, std::uint64_t index, std::byte *tile) {
        const auto count = rows_in_strip(shape_, index / shape_.tiles_in_strip());
        if (!shape_.tile_columns) return pack_strip(own_, strip_rows, count, tile);
        // What lies beyond the matrix is zero, so that equal matrices have equal tiles.
        std::fill(rows_.begin(), rows_.end(), std::byte{0});
        for (std::uint64_t r = 0; r < count; ++r)
            std::memcpy(rows_.data() + r * row_bytes(), strip_rows + offset(index, r),
                        bytes_used(index));
        pack_strip(own_, rows_.data(), count, tile);
    }
    void unpack(const std::byte *tile, std::uint64_t index, std::byte *strip_rows) {
        const auto count = rows_in_strip(shape_, index / shape_.tiles_in_strip());
        if (!shape_.tile_columns) return unpack_strip(own_, tile, count, strip_rows);
        unpack_strip(own_, tile, count, rows_.data());
        for (std::uint64_t r = 0; r < count; ++r)
            std::memcpy(strip_rows + offset(index, r), rows_.data() + r * row_bytes(),
                        bytes_used(index));
    }

  private:
    std::uint64_t row_bytes() const { return own_.columns * element_bytes(own_.element); }
    std::uint64_t first_column(std::uint64_t index) const {
        return index % shape_.tiles_in_strip() * shape_.tile_columns;
    }
    std::uint64_t offset(std::uint64_t index, std::uint64_t row) const {
        return (row * shape_.columns + first_column(index)) * element_bytes(shape_.element);
    }
    std::uint64_t bytes_used(std::uint64_t index) const {
        return std::min(own_.columns, shape_.columns - first_column(index)) *
               element_bytes(shape_.element);
    }

    MatrixShape shape_;
    MatrixShape own_;
    std::vector<std::byte> rows_;
};

// Writes the next generation of a matrix, and closes its files; the result is the checksum of its
// checksums.
Result<std::string> write_next(const Store& store, std::uint32_t matrix, StripFiles files,
                               const RowSource& source, const Moving& moving) {
    const auto& shape = store.shape();
    auto rows = reserve_strip_rows(shape);
    if (!rows) return rows.failure();
    auto stream =
        TileStream::reserve(tile_bytes(shape), moving.tiles_written, store.manifest().disks.size());
    if (!stream) return stream.failure();

    const auto name =
        "writing matrix " + store.manifest().matrices[matrix].name + " of " + store.folder() + ": ";
    std::vector<std::uint64_t> sums(shape.tile_count());
    const auto row_bytes = shape.columns * element_bytes(shape.element);
    const auto named = [&](const Outcome& written) -> Outcome {
        return written ? written : Failure{LW_ERR_IO, name + written.failure().sentence};
    };
    Tile tile(shape);
    for (std::uint64_t t = 0; t < sums.size(); ++t) {
        const auto going_on = go_on(moving.stop);
        if (!going_on) return going_on.failure();
        const auto strip = t / shape.tiles_in_strip();
        const auto row_count = rows_in_strip(shape, strip);
        if (t % shape.tiles_in_strip() == 0) {
            const auto got = source(strip * shape.strip_rows, row_count, rows->begin());
            if (!got) return got.failure();
        }
        const auto free = named(stream->wait_for(t));
        if (!free) return free.failure();
        tile.pack(rows->begin(), t, stream->at(t));
        sums[t] = checksum(stream->at(t), stream->tile_bytes());
        stream->submit(Transfer::Direction::write, files.place(t), t);
        if (moving.moved && (t + 1) % shape.tiles_in_strip() == 0)
            moving.moved(row_count * row_bytes);
    }
    const auto written = named(stream->wait_for_all());
    if (!written) return written.failure();
    const auto synced = files.sync();
    if (!synced) return synced.failure();
    return store.write_next_sums(matrix, sums);
}

// Commits the next generation of a matrix, whose checksums have this checksum. Nothing is left of
// one that cannot be committed.
Outcome commit_next(Store& store, std::uint32_t matrix, const std::string& sums) {
    // Before the commit: new data must not meet halos that were logged for those before them.
    const auto forgotten = store.forget_former();
    if (!forgotten) {
        store.drop_other_generation(matrix);
        return forgotten;
    }
    auto manifest = store.manifest();
    manifest.matrices[matrix].generation = store.next_generation(matrix);
    manifest.matrices[matrix].sums = sums;
    // New data have gone through no iteration.
    if (matrix < store.shape().data_count) manifest.iterations = 0;
    manifest.run.reset();
    const auto committed = store.commit(manifest);
    if (committed) {
        // What a sweep does not write again would keep its former generation for good.
        store.drop_other_generation(matrix);
        return committed;
    }
    // The manifest may be in place although it could not be synced.
    const auto now = read_manifest(store.folder());
    if (now && now->matrices[matrix].generation != manifest.matrices[matrix].generation)
        store.drop_other_generation(matrix);
    return committed;
}

}  // namespace

Outcome go_on(const std::atomic<bool> *stop) {
    if (!stop_asked(stop)) return Done{};
    return Failure{LW_ERR_OPERATION, "stopped before all rows had been moved"};
}

Moving moving_watched(const Watch& watch, std::uint64_t wanted_bytes) {
    Moving moving{.stop = watch.stop};
    if (watch.moved)
        moving.moved = [moved = watch.moved, wanted_bytes,
                        done_bytes = std::uint64_t{0}](std::uint64_t bytes) mutable {
            done_bytes += bytes;
            moved(done_bytes, wanted_bytes);
        };
    return moving;
}

Outcome write_matrix(Store& store, std::uint32_t matrix, const RowSource& source,
                     const Moving& moving) {
    const auto& shape = store.shape();
    if (shape.is_vector(matrix)) {
        const auto own = shape_of(shape, matrix);
        Vector values(own.rows * own.columns * element_bytes(own.element));
        const auto got = source(0, own.rows, values.data());
        return got ? write_vector(store, matrix - shape.matrix_count(), values) : got;
    }
    auto files = store.open_next(matrix, moving.stop);
    if (!files) return files.failure();
    const auto text = write_next(store, matrix, std::move(*files), source, moving);
    if (!text) {
        store.drop_other_generation(matrix);
        return text.failure();
    }
    return commit_next(store, matrix, *text);
}

namespace {

// The strips of a matrix as rows; where they are read in order, the next ones are read ahead.
class StripReader {
  public:
    static Result<StripReader> open(const Store& store, std::uint32_t matrix,
                                    const Moving& moving) {
        StripReader reader(store, matrix, moving.stop);
        auto files = store.open_current(matrix);
        if (!files) return files.failure();
        reader.files_ = std::move(*files);
        auto sums = store.read_sums(matrix);
        if (!sums) return sums.failure();
        reader.sums_ = std::move(*sums);
        auto stream = TileStream::reserve(tile_bytes(store.shape()), moving.tiles_read,
                                          store.manifest().disks.size());
        if (!stream) return stream.failure();
        reader.stream_ = std::move(*stream);
        return reader;
    }

    /* `rows` has room for all rows of the strip. */
    Outcome read(std::uint64_t strip, std::byte *rows) {
        const auto tiles = store_->shape().tiles_in_strip();
        // Nothing is read ahead for a caller that reads the first rows only.
        const bool in_order = strip > 0 && strip == next_strip_;
        next_strip_ = strip + 1;
        const auto end = in_order ? sums_.size() : (strip + 1) * tiles;
        if (!in_order) {
            // Tiles that were read ahead in vain; a failure is reported where that tile is wanted.
            static_cast<void>(stream_.wait_for_all());
            tiles_asked_for_ = strip * tiles;
        }
        for (auto t = strip * tiles; t < (strip + 1) * tiles; ++t) {
            const auto bad = [&](const std::string& what) {
                return Failure{LW_ERR_IO, store_->tile_name(matrix_, t) + ": " + what};
            };
            const auto going_on = go_on(stop_);
            if (!going_on) return going_on;
            for (; tiles_asked_for_ < std::min(t + stream_.depth(), end); ++tiles_asked_for_)
                stream_.submit(Transfer::Direction::read, files_.place(tiles_asked_for_),
                               tiles_asked_for_);
            const auto read = stream_.wait_for(t);
            if (!read) return bad(read.failure().sentence);
            if (checksum(stream_.at(t), stream_.tile_bytes()) != sums_[t])
                return bad("the checksum is wrong; restore it from a copy");
            tile_.unpack(stream_.at(t), t, rows);
        }
        return Done{};
    }

  private:
    StripReader(const Store& store, std::uint32_t matrix, const std::atomic<bool> *stop)
        : store_(&store), matrix_(matrix), stop_(stop), tile_(store.shape()) {}

    const Store *store_;
    std::uint32_t matrix_;
    const std::atomic<bool> *stop_;
    StripFiles files_;
    std::vector<std::uint64_t> sums_;
    Tile tile_;
    std::uint64_t next_strip_ = 0;
    std::uint64_t tiles_asked_for_ = 0;
    TileStream stream_; /* after the files that it reads */
};

// Rows of a matrix by their numbers: a strip of which only some are wanted is kept for the others.
class RowReader {
  public:
    static Result<RowReader> open(const Store& store, std::uint32_t matrix, const Moving& moving) {
        auto strips = StripReader::open(store, matrix, moving);
        if (!strips) return strips.failure();
        auto kept = reserve_strip_rows(store.shape());
        if (!kept) return kept.failure();
        return RowReader(store.shape(), std::move(*strips), std::move(*kept));
    }

    Outcome read(std::uint64_t first, std::uint64_t count, std::byte *rows) {
        const auto row_bytes = shape_.columns * element_bytes(shape_.element);
        for (auto row = first; row < first + count;) {
            const auto strip = row / shape_.strip_rows;
            const auto within = row % shape_.strip_rows;
            const auto now = std::min(rows_in_strip(shape_, strip) - within, first + count - row);
            auto *to = rows + (row - first) * row_bytes;
            const bool whole = now == rows_in_strip(shape_, strip);
            if (whole || strip != kept_strip_) {
                const auto read = strips_.read(strip, whole ? to : kept_.begin());
                if (!read) return read;
            }
            if (!whole) {
                kept_strip_ = strip;
                std::memcpy(to, kept_.begin() + within * row_bytes, now * row_bytes);
            }
            row += now;
        }
        return Done{};
    }

  private:
    RowReader(const MatrixShape& shape, StripReader strips, Memory kept)
        : shape_(shape),
          strips_(std::move(strips)),
          kept_(std::move(kept)),
          kept_strip_(shape.strip_count()) {}
    MatrixShape shape_;
    StripReader strips_;
    Memory kept_;
    std::uint64_t kept_strip_;
};

}  // namespace

Result<StripSource> strip_source(const Store& store, std::uint32_t matrix, const Moving& moving) {
    auto reader = StripReader::open(store, matrix, moving);
    if (!reader) return reader.failure();
    const auto kept = std::make_shared<StripReader>(std::move(*reader));
    return StripSource{
        [kept](std::uint64_t strip, std::byte *rows) { return kept->read(strip, rows); }};
}

Outcome read_matrix(const Store& store, std::uint32_t matrix, const RowSink& sink,
                    const Moving& moving) {
    const auto& shape = store.shape();
    if (shape.is_vector(matrix)) {
        const auto values = read_vector(store, matrix - shape.matrix_count());
        return values ? sink(0, shape_of(shape, matrix).rows, values->data())
                      : Outcome(values.failure());
    }
    auto reader = StripReader::open(store, matrix, moving);
    if (!reader) return reader.failure();
    auto rows = reserve_strip_rows(shape);
    if (!rows) return rows.failure();
    for (std::uint64_t s = 0; s < shape.strip_count(); ++s) {
        const auto read = reader->read(s, rows->begin());
        if (!read) return read;
        const auto row_count = rows_in_strip(shape, s);
        const auto taken = sink(s * shape.strip_rows, row_count, rows->begin());
        if (!taken) return taken;
        if (moving.moved) moving.moved(row_count * shape.columns * element_bytes(shape.element));
    }
    return Done{};
}

Outcome read_rows(const Store& store, std::uint32_t matrix, std::uint64_t first,
                  std::uint64_t count, std::byte *rows, const Moving& moving) {
    if (store.shape().is_vector(matrix)) {
        const auto values = read_vector(store, matrix - store.shape().matrix_count());
        if (!values) return values.failure();
        const auto own = shape_of(store.shape(), matrix);
        const auto row_bytes = own.columns * element_bytes(own.element);
        std::memcpy(rows, values->data() + first * row_bytes, count * row_bytes);
        return Done{};
    }
    auto reader = RowReader::open(store, matrix, moving);
    return reader ? reader->read(first, count, rows) : Outcome(reader.failure());
}

Outcome copy_rows(const std::vector<RowRange>& from, std::uint32_t matrix, Store& to,
                  const Moving& moving) {
    std::size_t range = 0;
    std::uint64_t taken = 0;
    std::optional<RowReader> reader;
    const auto row_bytes = to.shape().columns * element_bytes(to.shape().element);
    return write_matrix(
        to, matrix,
        [&](std::uint64_t /*first*/, std::uint64_t count, std::byte *rows) -> Outcome {
            while (count > 0) {
                if (!reader) {
                    auto opened = RowReader::open(*from[range].store, matrix, moving);
                    if (!opened) return opened.failure();
                    reader.emplace(std::move(*opened));
                }
                const auto now = std::min(count, from[range].row_count - taken);
                const auto read = reader->read(from[range].first_row + taken, now, rows);
                if (!read) return read;
                count -= now;
                taken += now;
                rows += now * row_bytes;
                if (taken < from[range].row_count) continue;
                reader.reset();
                taken = 0;
                ++range;
            }
            return Done{};
        },
        moving);
}

Outcome copy_matrices(const Store& from, Store& to, const Moving& moving) {
    for (std::uint32_t m = 0; m < from.shape().matrix_count(); ++m) {
        if (from.manifest().matrices[m].sums.empty()) continue;
        const auto copied = copy_rows({{&from, 0, from.shape().rows}}, m, to, moving);
        if (!copied) return copied;
    }
    for (std::uint32_t v = 0; v < from.shape().vector_count(); ++v) {
        if (from.manifest().vectors[v].sum.empty()) continue;
        const auto values = read_vector(from, v);
        if (!values) return values.failure();
        const auto copied = write_vector(to, v, *values);
        if (!copied) return copied;
    }
    auto manifest = to.manifest();
    manifest.iterations = from.manifest().iterations;
    manifest.run = from.manifest().run;
    manifest.part = from.manifest().part;
    return to.commit(manifest);
}

Result<std::vector<std::string>> verify(const Store& store, const std::atomic<bool> *stop) {
    const auto& shape = store.shape();
    std::vector<std::string> damaged;
    auto tile = Memory::reserve(tile_bytes(shape));
    if (!tile) return tile.failure();
    for (std::uint32_t m = 0; m < shape.matrix_count(); ++m) {
        if (store.manifest().matrices[m].sums.empty()) continue;
        auto files = store.open_current(m);
        if (!files) return files.failure();
        const auto sums = store.read_sums(m);
        if (!sums) return sums.failure();
        for (std::uint64_t t = 0; t < shape.tile_count(); ++t) {
            const auto going_on = go_on(stop);
            if (!going_on) return going_on.failure();
            const auto read = read_strip(files->place(t), tile->begin(), tile->bytes());
            if (!read)
                damaged.push_back(store.tile_name(m, t) + ": " + read.failure().sentence);
            else if (checksum(tile->begin(), tile->bytes()) != (*sums)[t])
                damaged.push_back(store.tile_name(m, t) + ": the checksum is wrong");
        }
    }
    for (std::uint32_t v = 0; v < shape.vector_count(); ++v) {
        if (store.manifest().vectors[v].sum.empty()) continue;
        const auto values = read_vector(store, v);
        if (!values) damaged.push_back(values.failure().sentence);
    }
    return damaged;
}

Failure damage(std::size_t strips) {
    if (strips == 1) return {LW_ERR_IO, "1 strip is damaged; restore it from a copy"};
    return {LW_ERR_IO, std::to_string(strips) + " strips are damaged; restore them from a copy"};
}

double demo_value(std::uint64_t seed, std::uint32_t matrix, std::uint64_t row,
                  std::uint64_t columns, std::uint64_t column) {
    const auto bits = mix(mix(seed * 64 + matrix) + row * columns + column);
    return static_cast<double>(bits >> 11) * 0x1p-53;
}

Outcome fill_with_demo_values(Store& store, std::uint64_t seed) {
    const auto shape = store.shape();
    for (std::uint32_t m = 0; m < shape.number_count(); ++m) {
        const auto own = shape_of(shape, m);
        const auto role = m < shape.data_count ? Role::data : Role::coefficient;
        const auto filled = write_matrix(
            store, m, [&](std::uint64_t first, std::uint64_t count, std::byte *rows) -> Outcome {
                with_value_type(shape.element, [&]<typename Value>(
                                                   std::type_identity<Value> /*type*/) {
                    fill_rows<typename Real<Value>::type>(own, seed, m, role, first, count, rows);
                });
                return Done{};
            });
        if (!filled) return filled;
    }
    return Done{};
}

}  // namespace lanewise::wavefront
