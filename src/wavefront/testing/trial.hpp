// SPDX-License-Identifier: BSD-3-Clause
//
// What the tests of the wavefront share: a folder of their own, and the
// sequential loops that every run must equal bit for bit, written as plainly
// as in the papers and apart from the kernels.

#pragma once

#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "wavefront/store/rows_io.hpp"
#include "wavefront/store/store.hpp"

namespace lanewise::wavefront::testing {

enum class Medium { disk, memory };

class Folder {
  public:
    /* In memory syncing costs nothing; on disk it is real. */
    explicit Folder(Medium medium = Medium::disk) {
        const std::filesystem::path shared = "/dev/shm";
        const bool fast = medium == Medium::memory && std::filesystem::is_directory(shared);
        const auto parent = fast ? shared : std::filesystem::current_path();
        std::string name = (parent / "wavefront-XXXXXX").string();
        path_ = ::mkdtemp(name.data()) != nullptr ? name : "";
    }
    ~Folder() { std::filesystem::remove_all(path_); }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    std::string operator/(const std::string& name) const { return path_ + "/" + name; }

  private:
    std::string path_;
};

template <typename Real>
struct Matrices {
    std::uint64_t rows = 0;
    std::uint64_t columns = 0;
    std::vector<std::vector<Real>> values; /* data first, then coefficients */

    Real& at(std::size_t matrix, std::uint64_t i, std::uint64_t j) {
        return values[matrix][i * columns + j];
    }
};

template <typename Real>
Matrices<Real> load(const Store& store) {
    const auto& shape = store.shape();
    Matrices<Real> matrices{shape.rows, shape.columns, {}};
    for (std::uint32_t m = 0; m < shape.matrix_count(); ++m) {
        std::vector<Real> values(shape.rows * shape.columns);
        const auto read = read_matrix(
            store, m,
            [&](std::uint64_t first, std::uint64_t count, const std::byte *rows) -> Outcome {
                std::memcpy(values.data() + first * shape.columns, rows,
                            count * shape.columns * sizeof(Real));
                return Done{};
            });
        if (!read) values.clear();
        matrices.values.push_back(std::move(values));
    }
    return matrices;
}

/* Clauss, Gustedt and Suter (PDP 2008), figure 1. */
template <typename Real>
void livermore23(Matrices<Real>& m) {
    for (std::uint64_t i = 1; i + 1 < m.rows; ++i) {
        for (std::uint64_t j = 1; j + 1 < m.columns; ++j) {
            const Real q = m.at(0, i - 1, j) * m.at(1, i, j) + m.at(0, i, j - 1) * m.at(2, i, j) +
                           m.at(0, i, j + 1) * m.at(3, i, j) + m.at(0, i + 1, j) * m.at(4, i, j) +
                           m.at(5, i, j) - m.at(0, i, j);
            m.at(0, i, j) += Real(0.175) * q;
        }
    }
}

template <typename Real>
void sor(Matrices<Real>& m, double omega) {
    const auto kept = static_cast<Real>(1.0 - omega);
    const auto quarter = static_cast<Real>(omega / 4);
    for (std::uint64_t i = 1; i + 1 < m.rows; ++i) {
        for (std::uint64_t j = 1; j + 1 < m.columns; ++j) {
            const Real sum = m.at(0, i - 1, j) + m.at(0, i, j - 1) + m.at(0, i, j + 1) +
                             m.at(0, i + 1, j) - m.at(1, i, j);
            m.at(0, i, j) = kept * m.at(0, i, j) + quarter * sum;
        }
    }
}

template <typename Real>
void sor9(Matrices<Real>& m, double omega) {
    const auto kept = static_cast<Real>(1.0 - omega);
    const auto share = static_cast<Real>(omega / 20);
    for (std::uint64_t i = 1; i + 1 < m.rows; ++i) {
        for (std::uint64_t j = 1; j + 1 < m.columns; ++j) {
            const Real edges =
                m.at(0, i - 1, j) + m.at(0, i, j - 1) + m.at(0, i, j + 1) + m.at(0, i + 1, j);
            const Real corners = m.at(0, i - 1, j - 1) + m.at(0, i - 1, j + 1) +
                                 m.at(0, i + 1, j - 1) + m.at(0, i + 1, j + 1);
            m.at(0, i, j) = kept * m.at(0, i, j) + share * (4 * edges + corners - m.at(1, i, j));
        }
    }
}

template <typename Real>
void sor_fourth_order(Matrices<Real>& m, double omega) {
    const auto kept = static_cast<Real>(1.0 - omega);
    const auto share = static_cast<Real>(omega / 60);
    for (std::uint64_t i = 2; i + 2 < m.rows; ++i) {
        for (std::uint64_t j = 2; j + 2 < m.columns; ++j) {
            const Real near =
                m.at(0, i - 1, j) + m.at(0, i, j - 1) + m.at(0, i, j + 1) + m.at(0, i + 1, j);
            const Real far =
                m.at(0, i - 2, j) + m.at(0, i, j - 2) + m.at(0, i, j + 2) + m.at(0, i + 2, j);
            m.at(0, i, j) = kept * m.at(0, i, j) + share * (16 * near - far - m.at(1, i, j));
        }
    }
}

template <typename Real>
void jacobi(Matrices<Real>& m) {
    const auto before = m.values[0];
    const auto was = [&](std::uint64_t i, std::uint64_t j) { return before[i * m.columns + j]; };
    for (std::uint64_t i = 1; i + 1 < m.rows; ++i) {
        for (std::uint64_t j = 1; j + 1 < m.columns; ++j)
            m.at(0, i, j) = Real(0.25) * (was(i - 1, j) + was(i, j - 1) + was(i, j + 1) +
                                          was(i + 1, j) - m.at(1, i, j));
    }
}

template <typename Real>
void smith_waterman(Matrices<Real>& m, Real gap) {
    for (std::uint64_t i = 1; i + 1 < m.rows; ++i) {
        for (std::uint64_t j = 1; j + 1 < m.columns; ++j) {
            Real best = m.at(0, i - 1, j - 1) + m.at(1, i, j);
            if (m.at(0, i - 1, j) - gap > best) best = m.at(0, i - 1, j) - gap;
            if (m.at(0, i, j - 1) - gap > best) best = m.at(0, i, j - 1) - gap;
            m.at(0, i, j) = best > 0 ? best : 0;
        }
    }
}

/* One iteration of the built-in kernel `name`, with its defaults. */
template <typename Real>
void sweep(const std::string& name, Matrices<Real>& matrices) {
    if (name == "livermore23") livermore23(matrices);
    if (name == "sor") sor(matrices, 1.5);
    if (name == "sor9") sor9(matrices, 1.5);
    if (name == "sor-fourth-order") sor_fourth_order(matrices, 1.5);
    if (name == "smith-waterman") smith_waterman(matrices, Real(2));
    if (name == "jacobi") jacobi(matrices);
}

}  // namespace lanewise::wavefront::testing
