// SPDX-License-Identifier: BSD-3-Clause
//
// See rows_io.hpp.

#include "wavefront/store/rows_io.hpp"

#include <unistd.h>
#include <cerrno>
#include <cstring>

#include "wavefront/store/checksum.hpp"
#include "wavefront/store/layout.hpp"

namespace lanewise::wavefront {
namespace {

Outcome transfer_strip(const StripFiles::Place& place, std::byte *strip, std::uint64_t bytes,
                       ssize_t (*move)(int, std::byte *, std::uint64_t, std::uint64_t)) {
    for (std::uint64_t done = 0; done < bytes;) {
        const auto moved = move(place.file, strip + done, bytes - done, place.offset + done);
        if (moved < 0 && errno == EINTR) continue;
        if (moved < 0) return Failure{LW_ERR_IO, std::strerror(errno)};
        if (moved == 0) return Failure{LW_ERR_IO, "the file ends too early"};
        done += static_cast<std::uint64_t>(moved);
    }
    return Done{};
}

Outcome read_strip(const StripFiles::Place& place, std::byte *strip, std::uint64_t bytes) {
    return transfer_strip(place, strip, bytes,
                          [](int file, std::byte *to, std::uint64_t n, std::uint64_t offset) {
                              return ::pread(file, to, n, static_cast<off_t>(offset));
                          });
}

Outcome write_strip(const StripFiles::Place& place, std::byte *strip, std::uint64_t bytes) {
    return transfer_strip(place, strip, bytes,
                          [](int file, std::byte *from, std::uint64_t n, std::uint64_t offset) {
                              return ::pwrite(file, from, n, static_cast<off_t>(offset));
                          });
}

std::uint64_t mix(std::uint64_t value) {
    value += 0x9e3779b97f4a7c15;
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
    value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
    return value ^ (value >> 31);
}

template <typename Real>
void fill_rows(const Shape& shape, std::uint64_t seed, std::uint32_t matrix, double scale,
               std::uint64_t first_row, std::uint64_t row_count, std::byte *rows) {
    auto *at = reinterpret_cast<Real *>(rows);
    // A complex element is two columns of real numbers.
    const auto columns = shape.columns * element_bytes(shape.element) / sizeof(Real);
    for (std::uint64_t i = 0; i < row_count; ++i) {
        for (std::uint64_t j = 0; j < columns; ++j)
            *at++ = static_cast<Real>(scale * demo_value(seed, matrix, first_row + i, columns, j));
    }
}

}  // namespace

Outcome write_matrix(Store& store, std::uint32_t matrix, const RowSource& source) {
    const auto& shape = store.shape();
    auto files = store.open_next(matrix);
    if (!files) return files.failure();
    auto rows = Memory::reserve(shape.strip_rows * shape.columns * element_bytes(shape.element));
    if (!rows) return rows.failure();
    auto strip = Memory::reserve(strip_bytes(shape));
    if (!strip) return strip.failure();

    std::vector<std::uint64_t> sums(shape.strip_count());
    for (std::uint64_t s = 0; s < sums.size(); ++s) {
        const auto row_count = rows_in_strip(shape, s);
        const auto got = source(s * shape.strip_rows, row_count, rows->begin());
        if (!got) return got;
        pack_strip(shape, rows->begin(), row_count, strip->begin());
        sums[s] = checksum(strip->begin(), strip->bytes());
        const auto written = write_strip(files->place(s), strip->begin(), strip->bytes());
        if (!written)
            return Failure{LW_ERR_IO, "writing matrix " + store.manifest().matrices[matrix].name +
                                          " of " + store.folder() + ": " +
                                          written.failure().sentence};
    }
    const auto synced = files->sync();
    if (!synced) return synced;
    const auto text = store.write_next_sums(matrix, sums);
    if (!text) return text.failure();
    auto manifest = store.manifest();
    manifest.matrices[matrix].generation = store.next_generation(matrix);
    manifest.matrices[matrix].sums = *text;
    // New data have gone through no iteration.
    if (matrix < shape.data_count) manifest.iterations = 0;
    manifest.run.reset();
    return store.commit(manifest);
}

Outcome read_matrix(const Store& store, std::uint32_t matrix, const RowSink& sink) {
    const auto& shape = store.shape();
    auto files = store.open_current(matrix);
    if (!files) return files.failure();
    const auto sums = store.read_sums(matrix);
    if (!sums) return sums.failure();
    auto rows = Memory::reserve(shape.strip_rows * shape.columns * element_bytes(shape.element));
    if (!rows) return rows.failure();
    auto strip = Memory::reserve(strip_bytes(shape));
    if (!strip) return strip.failure();

    for (std::uint64_t s = 0; s < shape.strip_count(); ++s) {
        const auto read = read_strip(files->place(s), strip->begin(), strip->bytes());
        if (!read)
            return Failure{LW_ERR_IO, store.strip_name(matrix, s) + ": " + read.failure().sentence};
        if (checksum(strip->begin(), strip->bytes()) != (*sums)[s])
            return Failure{LW_ERR_IO, store.strip_name(matrix, s) +
                                          ": the checksum is wrong; restore it from a copy"};
        const auto row_count = rows_in_strip(shape, s);
        unpack_strip(shape, strip->begin(), row_count, rows->begin());
        const auto taken = sink(s * shape.strip_rows, row_count, rows->begin());
        if (!taken) return taken;
    }
    return Done{};
}

Result<std::vector<std::string>> verify(const Store& store) {
    const auto& shape = store.shape();
    std::vector<std::string> damaged;
    auto strip = Memory::reserve(strip_bytes(shape));
    if (!strip) return strip.failure();
    for (std::uint32_t m = 0; m < shape.matrix_count(); ++m) {
        if (store.manifest().matrices[m].sums.empty()) continue;
        auto files = store.open_current(m);
        if (!files) return files.failure();
        const auto sums = store.read_sums(m);
        if (!sums) return sums.failure();
        for (std::uint64_t s = 0; s < shape.strip_count(); ++s) {
            const auto read = read_strip(files->place(s), strip->begin(), strip->bytes());
            if (!read)
                damaged.push_back(store.strip_name(m, s) + ": " + read.failure().sentence);
            else if (checksum(strip->begin(), strip->bytes()) != (*sums)[s])
                damaged.push_back(store.strip_name(m, s) + ": the checksum is wrong");
        }
    }
    return damaged;
}

double demo_value(std::uint64_t seed, std::uint32_t matrix, std::uint64_t row,
                  std::uint64_t columns, std::uint64_t column) {
    const auto bits = mix(mix(seed * 64 + matrix) + row * columns + column);
    return static_cast<double>(bits >> 11) * 0x1p-53;
}

Outcome fill_with_demo_values(Store& store, std::uint64_t seed) {
    const auto shape = store.shape();
    for (std::uint32_t m = 0; m < shape.matrix_count(); ++m) {
        const double scale = m < shape.data_count ? 1.0 : 0.25;
        const bool single = shape.element == Element::f32 || shape.element == Element::c64;
        const auto filled = write_matrix(
            store, m, [&](std::uint64_t first, std::uint64_t count, std::byte *rows) -> Outcome {
                if (single)
                    fill_rows<float>(shape, seed, m, scale, first, count, rows);
                else
                    fill_rows<double>(shape, seed, m, scale, first, count, rows);
                return Done{};
            });
        if (!filled) return filled;
    }
    return Done{};
}

}  // namespace lanewise::wavefront
