// SPDX-License-Identifier: BSD-3-Clause
//
// See block_wavefront.hpp.

#include "experiments/wavefront/block_wavefront.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "wavefront/run/waves.hpp"

namespace lanewise::wavefront {
namespace {

constexpr std::uint32_t matrix_count = 6;

struct TransferFailure : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct Rectangle {
    std::uint64_t rows = 0;
    std::uint64_t columns = 0;
};

// One matrix on disk in blocks; counts its transfers.
class BlockFile {
  public:
    BlockFile(const std::string& path, const BlockShape& shape, int flags)
        : path_(path), shape_(shape), file_(::open(path.c_str(), flags | O_CLOEXEC, 0666)) {
        if (file_ < 0) fail("open");
    }
    ~BlockFile() {
        if (file_ >= 0) ::close(file_);
    }
    BlockFile(const BlockFile&) = delete;
    BlockFile& operator=(const BlockFile&) = delete;

    const BlockShape& shape() const { return shape_; }
    std::uint64_t transfers() const { return transfers_; }
    Rectangle size(std::uint64_t i, std::uint64_t j) const {
        return {std::min(shape_.block_rows, shape_.rows - i * shape_.block_rows),
                std::min(shape_.block_columns, shape_.columns - j * shape_.block_columns)};
    }

    /* A block into or out of `rows`, whose rows lie `stride` elements apart. */
    void read(std::uint64_t i, std::uint64_t j, double *rows, std::uint64_t stride) {
        const auto [height, width] = size(i, j);
        if (shape_.layout == BlockLayout::row_major) {
            for (std::uint64_t r = 0; r < height; ++r)
                get(rows + r * stride, width, element(i, j, r, 0));
            return;
        }
        const auto single = single_block(height, width);
        std::vector<double> packed(row_of_blocks_elements(single, 0));
        std::vector<double> plain(height * width);
        get(packed.data(), packed.size(), start(i, j));
        unpack_row_of_blocks(single, packed.data(), height, plain.data());
        for (std::uint64_t r = 0; r < height; ++r)
            std::copy_n(&plain[r * width], width, rows + r * stride);
    }

    void write(std::uint64_t i, std::uint64_t j, const double *rows, std::uint64_t stride) {
        const auto [height, width] = size(i, j);
        if (shape_.layout == BlockLayout::row_major) {
            for (std::uint64_t r = 0; r < height; ++r)
                put(rows + r * stride, width, element(i, j, r, 0));
            return;
        }
        const auto single = single_block(height, width);
        std::vector<double> plain(height * width);
        for (std::uint64_t r = 0; r < height; ++r)
            std::copy_n(rows + r * stride, width, &plain[r * width]);
        std::vector<double> packed(row_of_blocks_elements(single, 0));
        pack_row_of_blocks(single, plain.data(), height, packed.data());
        put(packed.data(), packed.size(), start(i, j));
    }

    /* The topmost row of a block: contiguous in every layout. */
    void read_top(std::uint64_t i, std::uint64_t j, double *row) {
        get(row, size(i, j).columns,
            shape_.layout == BlockLayout::row_major ? element(i, j, 0, 0) : start(i, j));
    }

    /* The leftmost column of a block: one read in the frontier layout, else one a row. */
    void read_left(std::uint64_t i, std::uint64_t j, double *column) {
        const auto [height, width] = size(i, j);
        const bool own_piece = shape_.layout == BlockLayout::frontier && height >= 2 && width >= 2;
        if (own_piece) return get(column, height, start(i, j) + width);
        const bool whole_rows = shape_.layout == BlockLayout::row_major;
        for (std::uint64_t r = 0; r < height; ++r)
            get(column + r, 1, whole_rows ? element(i, j, r, 0) : start(i, j) + r * width);
    }

  private:
    BlockShape single_block(std::uint64_t height, std::uint64_t width) const {
        return {.rows = height,
                .columns = width,
                .block_rows = height,
                .block_columns = width,
                .radius = shape_.radius,
                .layout = shape_.layout};
    }
    // Position of an element in a row-major file.
    std::uint64_t element(std::uint64_t i, std::uint64_t j, std::uint64_t row,
                          std::uint64_t column) const {
        return (i * shape_.block_rows + row) * shape_.columns + j * shape_.block_columns + column;
    }
    // Position of the first element of a block.
    std::uint64_t start(std::uint64_t i, std::uint64_t j) const {
        return i * row_of_blocks_elements(shape_, 0) +
               j * block_elements(shape_, size(i, j).rows, shape_.block_columns);
    }
    void get(double *to, std::uint64_t elements, std::uint64_t at) {
        ++transfers_;
        const auto bytes = elements * sizeof(double);
        if (::pread(file_, to, bytes, static_cast<off_t>(at * sizeof(double))) !=
            static_cast<ssize_t>(bytes))
            fail("read");
    }
    void put(const double *from, std::uint64_t elements, std::uint64_t at) {
        ++transfers_;
        const auto bytes = elements * sizeof(double);
        if (::pwrite(file_, from, bytes, static_cast<off_t>(at * sizeof(double))) !=
            static_cast<ssize_t>(bytes))
            fail("write");
    }
    [[noreturn]] void fail(const char *doing) const {
        throw TransferFailure(std::string("cannot ") + doing + " " + path_ + ": " +
                              std::strerror(errno));
    }

    std::string path_;
    BlockShape shape_;
    int file_;
    std::atomic<std::uint64_t> transfers_{0};
};

// A block of the data within a border of one cell, and its coefficients.
struct Workplace {
    explicit Workplace(const BlockShape& shape)
        : stride(shape.block_columns + 2), data((shape.block_rows + 2) * stride) {
        for (auto& coefficient : coefficients)
            coefficient.resize(shape.block_rows * shape.block_columns);
        left.resize(shape.block_rows);
        column.resize(shape.block_rows);
    }
    double *at(std::uint64_t row, std::uint64_t column_index) {
        return &data[row * stride + column_index];
    }
    std::uint64_t stride;
    std::vector<double> data;
    std::vector<double> coefficients[matrix_count - 1];
    std::vector<double> left;   /* the rightmost column of the block just done */
    std::vector<double> column; /* room for a frontier */
};

class BlockSweep {
  public:
    explicit BlockSweep(const BlockRun& run)
        : run_(run),
          shape_(run.data),
          across_((shape_.columns + shape_.block_columns - 1) / shape_.block_columns),
          down_((shape_.rows + shape_.block_rows - 1) / shape_.block_rows),
          done_(down_),
          bottom_(down_ * shape_.columns),
          flush_(static_cast<std::ptrdiff_t>(run.threads)) {
        for (std::uint32_t m = 0; m < matrix_count; ++m)
            files_[m].emplace(block_path(run, m), block_shape(run, m), m == 0 ? O_RDWR : O_RDONLY);
    }

    Result<BlockReport> go() {
        const double began_s = monotonic_s();
        std::vector<std::thread> threads;
        for (std::uint32_t p = 0; p < run_.threads; ++p)
            threads.emplace_back(&BlockSweep::work, this, p);
        for (auto& thread : threads) thread.join();
        if (!failure_.empty()) return Failure{LW_ERR_IO, failure_};
        BlockReport report{monotonic_s() - began_s, 0};
        for (const auto& file : files_) report.transfers += file->transfers();
        return report;
    }

  private:
    void work(std::uint32_t p) {
        bool sound = true;
        try {
            Workplace place(shape_);
            for (std::uint64_t wave = 0; wave < run_.iterations && sound; ++wave) {
                for (std::uint64_t i = p; i < down_ && sound; i += run_.threads)
                    sound = sweep_row(wave, i, place);
                if (run_.chaining == Chaining::flushed) flush_.arrive_and_wait();
            }
        } catch (const std::exception& error) {
            const std::lock_guard lock(mutex_);
            if (failure_.empty()) failure_ = error.what();
        }
        if (!failure().empty()) {
            for (auto& counter : done_) counter.give_up();
        }
        // Those that wait for a flush must not wait for this thread.
        flush_.arrive_and_drop();
    }

    std::string failure() {
        const std::lock_guard lock(mutex_);
        return failure_;
    }

    // False where the run was given up meanwhile.
    bool sweep_row(std::uint64_t wave, std::uint64_t i, Workplace& place) {
        for (std::uint64_t j = 0; j < across_; ++j) {
            const auto above = wave * across_ + j + 1;
            if (i > 0 && !done_[i - 1].wait_for(above)) return false;
            if (i + 1 < down_ && wave > 0 && !done_[i + 1].wait_for(above - across_)) return false;
            fetch(i, j, place);
            update(i, j, place);
            keep(i, j, place);
            done_[i].add(1);
        }
        return true;
    }

    void fetch(std::uint64_t i, std::uint64_t j, Workplace& place) {
        const auto [height, width] = files_[0]->size(i, j);
        files_[0]->read(i, j, place.at(1, 1), place.stride);
        for (std::uint32_t m = 1; m < matrix_count; ++m)
            files_[m]->read(i, j, place.coefficients[m - 1].data(), shape_.block_columns);
        if (i > 0)
            std::copy_n(&bottom_[(i - 1) * shape_.columns + j * shape_.block_columns], width,
                        place.at(0, 1));
        if (i + 1 < down_) files_[0]->read_top(i + 1, j, place.at(height + 1, 1));
        if (j + 1 < across_) files_[0]->read_left(i, j + 1, place.column.data());
        for (std::uint64_t r = 0; r < height; ++r) {
            *place.at(r + 1, 0) = place.left[r];
            *place.at(r + 1, width + 1) = place.column[r];
        }
    }

    void update(std::uint64_t i, std::uint64_t j, Workplace& place) {
        const auto [height, width] = files_[0]->size(i, j);
        const auto first_row = i * shape_.block_rows;
        const auto first_column = j * shape_.block_columns;
        const auto begin = first_column == 0 ? std::uint64_t{1} : 0;
        const auto end = first_column + width == shape_.columns ? width - 1 : width;
        for (std::uint64_t r = 0; r < height; ++r) {
            if (first_row + r == 0 || first_row + r + 1 == shape_.rows) continue;
            double *d = place.at(r + 1, 1);
            const auto c = [&](std::uint32_t m, std::uint64_t k) {
                return place.coefficients[m][r * shape_.block_columns + k];
            };
            for (std::uint64_t k = begin; k < end; ++k) {
                const double q = *(d + k - place.stride) * c(0, k) + *(d + k - 1) * c(1, k) +
                                 d[k + 1] * c(2, k) + d[k + place.stride] * c(3, k) + c(4, k) -
                                 d[k];
                d[k] += 0.175 * q;
            }
        }
    }

    void keep(std::uint64_t i, std::uint64_t j, Workplace& place) {
        const auto [height, width] = files_[0]->size(i, j);
        files_[0]->write(i, j, place.at(1, 1), place.stride);
        for (std::uint64_t r = 0; r < height; ++r) place.left[r] = *place.at(r + 1, width);
        std::copy_n(place.at(height, 1), width,
                    &bottom_[i * shape_.columns + j * shape_.block_columns]);
    }

    const BlockRun& run_;
    BlockShape shape_;
    std::uint64_t across_;
    std::uint64_t down_;
    std::vector<RowBlockCounter> done_; /* blocks of each row of blocks, over all iterations */
    std::vector<double> bottom_;        /* the lowest row of each row of blocks, as just computed */
    std::optional<BlockFile> files_[matrix_count];
    std::barrier<> flush_;
    std::mutex mutex_;
    std::string failure_;
};

Outcome each_block(const BlockRun& run, std::uint32_t matrix, int flags,
                   const std::function<void(BlockFile&, std::uint64_t, std::uint64_t)>& act) {
    const auto sound = check_blocks(run.data);
    if (!sound) return sound;
    try {
        BlockFile file(block_path(run, matrix), block_shape(run, matrix), flags);
        const auto& shape = file.shape();
        for (std::uint64_t i = 0; i * shape.block_rows < shape.rows; ++i) {
            for (std::uint64_t j = 0; j * shape.block_columns < shape.columns; ++j) act(file, i, j);
        }
    } catch (const TransferFailure& failure) {
        return Failure{LW_ERR_IO, failure.what()};
    }
    return Done{};
}

}  // namespace

std::string block_path(const BlockRun& run, std::uint32_t matrix) {
    return run.folder + "/" + livermore_names[matrix] + ".blocks";
}

BlockShape block_shape(const BlockRun& run, std::uint32_t matrix) {
    auto shape = run.data;
    if (matrix > 0 && shape.layout == BlockLayout::frontier) shape.layout = BlockLayout::block;
    return shape;
}

Outcome write_blocks(const BlockRun& run, std::uint32_t matrix, const double *rows) {
    const auto& s = run.data;
    return each_block(
        run, matrix, O_RDWR | O_CREAT | O_TRUNC,
        [&](BlockFile& file, std::uint64_t i, std::uint64_t j) {
            file.write(i, j, rows + i * s.block_rows * s.columns + j * s.block_columns, s.columns);
        });
}

Outcome read_blocks(const BlockRun& run, std::uint32_t matrix, double *rows) {
    const auto& s = run.data;
    return each_block(
        run, matrix, O_RDONLY, [&](BlockFile& file, std::uint64_t i, std::uint64_t j) {
            file.read(i, j, rows + i * s.block_rows * s.columns + j * s.block_columns, s.columns);
        });
}

Result<BlockReport> run_blocks(const BlockRun& run) {
    const auto sound = check_blocks(run.data);
    if (!sound) return sound.failure();
    if (run.threads < 1) return Failure{LW_ERR_ARGUMENT, "0 threads cannot work; use 1 or more"};
    try {
        return BlockSweep(run).go();
    } catch (const TransferFailure& failure) {
        return Failure{LW_ERR_IO, failure.what()};
    }
}

}  // namespace lanewise::wavefront
