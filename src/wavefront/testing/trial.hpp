// SPDX-License-Identifier: BSD-3-Clause
//
// What the tests of the wavefront share: a folder of their own, and the
// sequential loops that every run must equal bit for bit, written as plainly
// as in the papers and apart from the kernels. Halves are computed with as floats.

#pragma once

#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <string>
#include <type_traits>
#include <vector>

#include <lanewise/wavefront/half.hpp>
#include "wavefront/kernel/kernel.hpp"
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
    /* What an iteration does when it has been through a row; empty: nothing. */
    std::function<void(Matrices& matrices, std::uint64_t row)> after_row{};

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

/* Calls act(i, j) for every cell that is `radius` or more from the border, in the order of an
 * iteration in `direction`. */
template <typename Real, typename Act>
void each_cell(Matrices<Real>& m, std::uint64_t radius, const Direction& direction,
               const Act& act) {
    if (m.rows < 2 * radius || m.columns < 2 * radius) return;
    for (std::uint64_t y = radius; y < m.rows - radius; ++y) {
        for (std::uint64_t x = radius; x < m.columns - radius; ++x)
            act(direction.up ? m.rows - 1 - y : y, direction.left ? m.columns - 1 - x : x);
        if (m.after_row) m.after_row(m, direction.up ? m.rows - 1 - y : y);
    }
}

/* Clauss, Gustedt and Suter (PDP 2008), figure 1. */
template <typename Real>
void livermore23(Matrices<Real>& m, const Direction& direction = {}) {
    each_cell(m, 1, direction, [&](std::uint64_t i, std::uint64_t j) {
        const auto q = m.at(0, i - 1, j) * m.at(1, i, j) + m.at(0, i, j - 1) * m.at(2, i, j) +
                       m.at(0, i, j + 1) * m.at(3, i, j) + m.at(0, i + 1, j) * m.at(4, i, j) +
                       m.at(5, i, j) - m.at(0, i, j);
        m.at(0, i, j) = m.at(0, i, j) + arithmetic_t<Real>(0.175) * q;
    });
}

template <typename Real>
void sor(Matrices<Real>& m, double omega, const Direction& direction) {
    const auto kept = static_cast<arithmetic_t<Real>>(1.0 - omega);
    const auto quarter = static_cast<arithmetic_t<Real>>(omega / 4);
    each_cell(m, 1, direction, [&](std::uint64_t i, std::uint64_t j) {
        const auto sum = m.at(0, i - 1, j) + m.at(0, i, j - 1) + m.at(0, i, j + 1) +
                         m.at(0, i + 1, j) - m.at(1, i, j);
        m.at(0, i, j) = kept * m.at(0, i, j) + quarter * sum;
    });
}

template <typename Real>
void sor9(Matrices<Real>& m, double omega, const Direction& direction) {
    const auto kept = static_cast<arithmetic_t<Real>>(1.0 - omega);
    const auto share = static_cast<arithmetic_t<Real>>(omega / 20);
    each_cell(m, 1, direction, [&](std::uint64_t i, std::uint64_t j) {
        const auto edges =
            m.at(0, i - 1, j) + m.at(0, i, j - 1) + m.at(0, i, j + 1) + m.at(0, i + 1, j);
        const auto corners = m.at(0, i - 1, j - 1) + m.at(0, i - 1, j + 1) + m.at(0, i + 1, j - 1) +
                             m.at(0, i + 1, j + 1);
        m.at(0, i, j) = kept * m.at(0, i, j) + share * (4 * edges + corners - m.at(1, i, j));
    });
}

template <typename Real>
void sor_fourth_order(Matrices<Real>& m, double omega, const Direction& direction) {
    const auto kept = static_cast<arithmetic_t<Real>>(1.0 - omega);
    const auto share = static_cast<arithmetic_t<Real>>(omega / 60);
    each_cell(m, 2, direction, [&](std::uint64_t i, std::uint64_t j) {
        const auto near =
            m.at(0, i - 1, j) + m.at(0, i, j - 1) + m.at(0, i, j + 1) + m.at(0, i + 1, j);
        const auto far =
            m.at(0, i - 2, j) + m.at(0, i, j - 2) + m.at(0, i, j + 2) + m.at(0, i + 2, j);
        m.at(0, i, j) = kept * m.at(0, i, j) + share * (16 * near - far - m.at(1, i, j));
    });
}

template <typename Real>
void jacobi(Matrices<Real>& m, const Direction& direction) {
    const auto before = m.values[0];
    const auto was = [&](std::uint64_t i, std::uint64_t j) { return before[i * m.columns + j]; };
    each_cell(m, 1, direction, [&](std::uint64_t i, std::uint64_t j) {
        m.at(0, i, j) = arithmetic_t<Real>(0.25) * (was(i - 1, j) + was(i, j - 1) + was(i, j + 1) +
                                                    was(i + 1, j) - m.at(1, i, j));
    });
}

template <typename Real>
void smith_waterman(Matrices<Real>& m, arithmetic_t<Real> gap, const Direction& direction) {
    each_cell(m, 1, direction, [&](std::uint64_t i, std::uint64_t j) {
        auto best = m.at(0, i - 1, j - 1) + m.at(1, i, j);
        if (m.at(0, i - 1, j) - gap > best) best = m.at(0, i - 1, j) - gap;
        if (m.at(0, i, j - 1) - gap > best) best = m.at(0, i, j - 1) - gap;
        m.at(0, i, j) = best > 0 ? best : 0;
    });
}

/* Zhao, A fast sweeping method for eikonal equations (2005), equation 2.3. */
template <typename Real>
void eikonal(Matrices<Real>& m, const Direction& direction) {
    each_cell(m, 1, direction, [&](std::uint64_t i, std::uint64_t j) {
        const auto a = std::fmin(m.at(0, i, j - 1), m.at(0, i, j + 1));
        const auto b = std::fmin(m.at(0, i - 1, j), m.at(0, i + 1, j));
        const auto f = m.at(1, i, j);
        auto arrival = std::fmin(a, b) + f;
        if (std::isfinite(a) && std::isfinite(b) && std::fabs(a - b) < f)
            arrival = (a + b + std::sqrt(2 * f * f - (a - b) * (a - b))) / 2;
        if (arrival < m.at(0, i, j)) m.at(0, i, j) = arrival;
    });
}

/* The built-in kernels of two dimensions. */
inline std::vector<KernelInfo> kernels_of_rows() {
    std::vector<KernelInfo> found;
    for (const auto& info : kernel_infos()) {
        if (info.dimensions == 2) found.push_back(info);
    }
    return found;
}

/* One iteration of the built-in kernel `name`, with its defaults. */
template <typename Real>
void sweep(const std::string& name, Matrices<Real>& matrices, const Direction& direction = {}) {
    if (name == "smith-waterman") smith_waterman(matrices, arithmetic_t<Real>(2), direction);
    if constexpr (!std::is_integral_v<Real>) {
        if (name == "livermore23") livermore23(matrices, direction);
        if (name == "sor") sor(matrices, 1.5, direction);
        if (name == "sor9") sor9(matrices, 1.5, direction);
        if (name == "sor-fourth-order") sor_fourth_order(matrices, 1.5, direction);
        if (name == "eikonal") eikonal(matrices, direction);
        if (name == "jacobi") jacobi(matrices, direction);
    }
}

}  // namespace lanewise::wavefront::testing
