// SPDX-License-Identifier: BSD-3-Clause
//
// lanewise-wavefront-layouts: the cost of the layouts of out-of-core wavefront (2008).
//
//     lanewise-wavefront-layouts overhead SIDE BLOCK...      bytes, for Table 1
//     lanewise-wavefront-layouts convert FOLDER SIDE BLOCK   times, for Figure 4
//
// `convert` writes a matrix of doubles to a file in FOLDER and rewrites it in each layout and back,
// interleaved with a plain copy by the same means: a row of blocks is read, rearranged and written
// while the next one is read. Each row of blocks begins at a whole disk block. In the same rounds a
// store is converted to each layout and back, checksums included, as `lanewise wavefront convert`
// does. Prints one JSON object: the median seconds of each, and the median over the rounds of its
// speed over that of the copy in the same round.

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <vector>

#include "base/clock.hpp"
#include "base/json.hpp"
#include "base/statistics.hpp"
#include "wavefront/layout/blocks.hpp"
#include "wavefront/store/disk_queue.hpp"
#include "wavefront/store/memory.hpp"
#include "wavefront/store/rows_io.hpp"

namespace {

using namespace lanewise;
using namespace lanewise::wavefront;

constexpr int rounds = 5;
// One band being read, one rearranged, one written.
constexpr std::uint64_t buffers = 3;

enum class Way { there, back };

struct Sides {
    BlockShape shape;
    std::uint64_t bands() const { return (shape.rows + shape.block_rows - 1) / shape.block_rows; }
    std::uint64_t rows_in(std::uint64_t band) const {
        return std::min(shape.block_rows, shape.rows - band * shape.block_rows);
    }
    // Bytes of a row of blocks in a file, the same for all but the last.
    std::uint64_t band_bytes(BlockLayout layout) const {
        auto other = shape;
        other.layout = layout;
        const auto bytes = row_of_blocks_elements(other, 0) * sizeof(double);
        return (bytes + disk_block_bytes - 1) / disk_block_bytes * disk_block_bytes;
    }
};

class File {
  public:
    explicit File(const std::string& path) : path_(path) {
        descriptor_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_DIRECT | O_CLOEXEC, 0666);
        if (descriptor_ < 0) descriptor_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    }
    ~File() {
        ::close(descriptor_);
        ::unlink(path_.c_str());
    }
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    int descriptor() const { return descriptor_; }

  private:
    std::string path_;
    int descriptor_ = -1;
};

// Rewrites `source` as `target`: while a band is rearranged, the next one is read and the one
// before is written.
class Conversion {
  public:
    Conversion(DiskQueue& queue, const Sides& sides, Way way, Memory& memory)
        : queue_(queue), sides_(sides), way_(way) {
        const auto rows = sides.band_bytes(BlockLayout::row_major);
        const auto blocks = sides.band_bytes(sides.shape.layout);
        from_bytes_ = way == Way::there ? rows : blocks;
        to_bytes_ = way == Way::there ? blocks : rows;
        from_ = memory.begin();
        to_ = memory.begin() + buffers * from_bytes_;
    }

    static std::uint64_t memory_bytes(const Sides& sides) {
        return buffers *
               (sides.band_bytes(BlockLayout::row_major) + sides.band_bytes(BlockLayout::frontier));
    }

    Outcome run(const File& source, const File& target) {
        std::vector<bool> read(sides_.bands());
        std::vector<bool> written(sides_.bands());
        const auto wait_for = [&](std::vector<bool>& done, std::uint64_t band) -> Outcome {
            while (!done[band]) {
                const auto completion = queue_.wait();
                if (!completion) continue;
                if (completion->error != 0)
                    return Failure{LW_ERR_IO, std::strerror(completion->error)};
                (completion->tag % 2 ? written : read)[completion->tag / 2] = true;
            }
            return Done{};
        };
        for (std::uint64_t band = 0; band < std::min(buffers, sides_.bands()); ++band)
            submit(Transfer::Direction::read, source, band);
        for (std::uint64_t band = 0; band < sides_.bands(); ++band) {
            const auto here = wait_for(read, band);
            if (!here) return here;
            const auto free = band < buffers ? Outcome(Done{}) : wait_for(written, band - buffers);
            if (!free) return free;
            rearrange(band);
            if (band + buffers < sides_.bands())
                submit(Transfer::Direction::read, source, band + buffers);
            submit(Transfer::Direction::write, target, band);
        }
        for (std::uint64_t band = 0; band < sides_.bands(); ++band) {
            const auto done = wait_for(written, band);
            if (!done) return done;
        }
        if (::fdatasync(target.descriptor()) != 0) return Failure{LW_ERR_IO, std::strerror(errno)};
        return Done{};
    }

  private:
    void submit(Transfer::Direction direction, const File& file, std::uint64_t band) {
        const bool reads = direction == Transfer::Direction::read;
        const auto bytes = reads ? from_bytes_ : to_bytes_;
        queue_.submit({.direction = direction,
                       .file = file.descriptor(),
                       .memory = (reads ? from_ : to_) + band % buffers * bytes,
                       .bytes = bytes,
                       .offset = band * bytes,
                       .tag = band * 2 + (reads ? 0 : 1)});
    }

    void rearrange(std::uint64_t band) {
        const auto *from = reinterpret_cast<const double *>(from_ + band % buffers * from_bytes_);
        auto *to = reinterpret_cast<double *>(to_ + band % buffers * to_bytes_);
        if (way_ == Way::there)
            pack_row_of_blocks(sides_.shape, from, sides_.rows_in(band), to);
        else
            unpack_row_of_blocks(sides_.shape, from, sides_.rows_in(band), to);
    }

    DiskQueue& queue_;
    const Sides& sides_;
    Way way_;
    std::uint64_t from_bytes_ = 0;
    std::uint64_t to_bytes_ = 0;
    std::byte *from_ = nullptr;
    std::byte *to_ = nullptr;
};

Outcome write_values(const Sides& sides, const File& file, Memory& memory) {
    const auto bytes = sides.band_bytes(BlockLayout::row_major);
    auto *values = reinterpret_cast<double *>(memory.begin());
    for (std::uint64_t band = 0; band < sides.bands(); ++band) {
        for (std::uint64_t i = 0; i < sides.shape.block_rows * sides.shape.columns; ++i)
            values[i] = demo_value(1, 0, band, bytes, i);
        const auto written =
            ::pwrite(file.descriptor(), values, bytes, static_cast<off_t>(band * bytes));
        if (written != static_cast<ssize_t>(bytes)) return Failure{LW_ERR_IO, std::strerror(errno)};
    }
    return Done{};
}

bool same_values(const Sides& sides, const File& one, const File& other, Memory& memory) {
    const auto bytes = sides.band_bytes(BlockLayout::row_major);
    auto *second = memory.begin() + bytes;
    for (std::uint64_t band = 0; band < sides.bands(); ++band) {
        const auto offset = static_cast<off_t>(band * bytes);
        const auto used = sides.rows_in(band) * sides.shape.columns * sizeof(double);
        if (::pread(one.descriptor(), memory.begin(), bytes, offset) !=
                static_cast<ssize_t>(bytes) ||
            ::pread(other.descriptor(), second, bytes, offset) != static_cast<ssize_t>(bytes) ||
            std::memcmp(memory.begin(), second, used) != 0)
            return false;
    }
    return true;
}

struct Measured {
    std::map<std::string, std::vector<double>> seconds;
    bool bits_equal = true;
};

Outcome measure_round(DiskQueue& queue, const std::string& folder, Sides sides, Memory& memory,
                      const File& matrix, Measured& measured) {
    const std::pair<BlockLayout, const char *> layouts[] = {{BlockLayout::row_major, "copy"},
                                                            {BlockLayout::block, "block"},
                                                            {BlockLayout::frontier, "frontier"}};
    for (const auto& [layout, name] : layouts) {
        sides.shape.layout = layout;
        const File blocks(folder + "/blocks");
        const File back(folder + "/back");
        const double began_s = monotonic_s();
        const auto there = Conversion(queue, sides, Way::there, memory).run(matrix, blocks);
        if (!there) return there;
        const double turned_s = monotonic_s();
        const auto again = Conversion(queue, sides, Way::back, memory).run(blocks, back);
        if (!again) return again;
        measured.seconds[std::string(name) + "_preprocess_s"].push_back(turned_s - began_s);
        measured.seconds[std::string(name) + "_postprocess_s"].push_back(monotonic_s() - turned_s);
        measured.bits_equal = measured.bits_equal && same_values(sides, matrix, back, memory);
    }
    return Done{};
}

Result<Store> make_store(const std::string& folder, const MatrixShape& shape) {
    std::filesystem::remove_all(folder);
    return Store::create(folder, shape, {"matrix"}, {});
}

// A virtual machine returns memory that has been free for some seconds to its host, and getting
// 100 MiB back takes 0.2 s. The copies keep theirs over all rounds; this claims as much for a
// store.
Outcome have_memory_at_hand(const MatrixShape& from, const MatrixShape& to) {
    constexpr std::uint64_t strips = 4;
    const auto rows = std::max(from.strip_rows, to.strip_rows);
    const auto memory = Memory::reserve(strips * rows * to.columns * element_bytes(to.element));
    if (!memory) return memory.failure();
    std::memset(memory->begin(), 0, memory->bytes());
    return Done{};
}

// What it takes to fill a new store in `folder` from `from`.
Result<double> copy_s(const Store& from, const std::string& folder, const MatrixShape& shape) {
    auto to = make_store(folder, shape);
    if (!to) return to.failure();
    const auto ready = have_memory_at_hand(from.shape(), shape);
    if (!ready) return ready.failure();
    const double began_s = monotonic_s();
    const auto copied = copy_matrices(from, *to);
    if (!copied) return copied.failure();
    return monotonic_s() - began_s;
}

// Strips of squares are as high as a block, others as stores have them by themselves.
Outcome measure_stores(const Store& rows, const std::string& folder, std::uint64_t block,
                       Measured& measured) {
    const auto& shape = rows.shape();
    for (const auto *const layout : store_layouts()) {
        auto other = with_layout(shape, layout);
        if (layout != &layouts::row_major && layout != &layouts::skewed) other.strip_rows = block;
        const auto there_s = copy_s(rows, folder + "/there", other);
        if (!there_s) return there_s.failure();
        const auto there = Store::open(folder + "/there", Access::reading);
        if (!there) return there.failure();
        const auto back_s = copy_s(*there, folder + "/again", shape);
        if (!back_s) return back_s.failure();
        const auto again = Store::open(folder + "/again", Access::reading);
        if (!again) return again.failure();
        const auto name = std::string("store-") + layout->name;
        measured.seconds[name + "_preprocess_s"].push_back(*there_s);
        measured.seconds[name + "_postprocess_s"].push_back(*back_s);
        measured.bits_equal = measured.bits_equal && again->manifest().matrices[0].sums ==
                                                         rows.manifest().matrices[0].sums;
        std::filesystem::remove_all(folder + "/there");
        std::filesystem::remove_all(folder + "/again");
    }
    return Done{};
}

Result<Store> store_of_rows(const std::string& folder, std::uint64_t side) {
    MatrixShape shape{.rows = side, .columns = side};
    shape.strip_rows = default_strip_rows(shape);
    auto store = make_store(folder, shape);
    if (!store) return store;
    const auto filled = fill_with_demo_values(*store, 1);
    if (!filled) return filled.failure();
    return store;
}

Result<Json> convert(const std::string& folder, std::uint64_t side, std::uint64_t block) {
    const Sides sides{{.rows = side, .columns = side, .block_rows = block, .block_columns = block}};
    const auto sound = check_blocks(sides.shape);
    if (!sound) return sound.failure();
    auto queue = make_disk_queue(QueueKind::automatic, 1);
    if (!queue) return queue.failure();
    auto memory = Memory::reserve(Conversion::memory_bytes(sides));
    if (!memory) return memory.failure();
    const File matrix(folder + "/matrix");
    const auto written = write_values(sides, matrix, *memory);
    if (!written) return written.failure();
    const auto rows = store_of_rows(folder + "/rows", side);
    if (!rows) return rows.failure();
    Measured measured;
    for (int round = 0; round < rounds; ++round) {
        const auto done = measure_round(**queue, folder, sides, *memory, matrix, measured);
        if (!done) return done.failure();
        const auto converted = measure_stores(*rows, folder, block, measured);
        if (!converted) return converted.failure();
    }
    std::filesystem::remove_all(folder + "/rows");
    Json found = {{"side", side}, {"block", block}, {"bits_equal", measured.bits_equal ? 1 : 0}};
    for (const auto& [name, seconds] : measured.seconds) {
        found[name] = median(seconds);
        const auto layout_end = name.find('_');
        const auto& copy = measured.seconds.at("copy" + name.substr(layout_end));
        std::vector<double> speeds;
        for (std::size_t round = 0; round < seconds.size(); ++round)
            speeds.push_back(copy[round] / seconds[round]);
        found[name.substr(0, name.size() - 2) + "_over_copy"] = median(speeds);
    }
    return found;
}

Result<Json> overhead(std::uint64_t side, const std::vector<std::uint64_t>& blocks) {
    Json found = Json::object();
    for (const auto block : blocks) {
        const BlockShape shape{.rows = side,
                               .columns = side,
                               .block_rows = block,
                               .block_columns = block,
                               .layout = BlockLayout::frontier};
        const auto sound = check_blocks(shape);
        if (!sound) return sound.failure();
        found[std::to_string(block)] = (layout_elements(shape) - side * side) * sizeof(double);
    }
    return found;
}

}  // namespace

int main(int argc, char **argv) {
    const std::vector<std::string> words(argv + 1, argv + argc);
    std::vector<std::uint64_t> numbers;
    const bool converting = words.size() == 4 && words[0] == "convert";
    for (std::size_t i = converting ? 2 : 1; i < words.size(); ++i)
        numbers.push_back(std::strtoull(words[i].c_str(), nullptr, 10));
    if (!converting && (words.size() < 3 || words[0] != "overhead")) {
        std::fputs(
            "lanewise-wavefront-layouts: say overhead SIDE BLOCK... or convert FOLDER SIDE "
            "BLOCK\n",
            stderr);
        return 2;
    }
    const auto found = converting ? convert(words[1], numbers[0], numbers[1])
                                  : overhead(numbers[0], {numbers.begin() + 1, numbers.end()});
    if (found) {
        std::puts(found->dump().c_str());
        return 0;
    }
    std::fprintf(stderr, "lanewise-wavefront-layouts: %s\n", found.failure().sentence.c_str());
    return found.failure().status == LW_ERR_ARGUMENT ? 2 : 1;
}
