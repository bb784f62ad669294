// SPDX-License-Identifier: BSD-3-Clause
//
// Kernel: the update of a row block, and what it asks of the store.
//
// Built-in kernels are named and come for one element type and one layout;
// user kernels are pointers to functions that update the cells of a row.

#pragma once

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <lanewise/wavefront/row_block.hpp>
#include "base/result.hpp"
#include "wavefront/layout/shape.hpp"

namespace lanewise::wavefront {

/* whole: a step of a wave covers a row block, or what a parallelogram has of it. column_blocks: a
 * step may also cover part of that, for several waves at once. */
enum class Steps { whole, column_blocks };

enum class Origin { built_in, own };

/* Whether the neighbours above and to the left are of this iteration or of the previous one. */
enum class Reading { updated, previous };

struct Kernel {
    std::string name;
    Origin origin = Origin::built_in;
    std::uint32_t radius = 1;
    /* Of the planes that it was made for; 0: for rows, and for planes whose lines it is not told.
     */
    std::uint64_t line_columns = 0;
    const Layout *layout = &layouts::row_major;
    std::uint64_t skew = 1; /* of the skewed or slanted layout that it works on */
    Element element = Element::f64;
    std::uint32_t data_count = 1;
    std::uint32_t coefficient_count = 0;
    std::uint32_t vector_count = 0; /* coefficients by row or column that it reads */
    Reading reading = Reading::updated;
    std::uint64_t scratch_rows = 0;   /* of each data matrix, for each wave */
    std::uint32_t second_copies = 0;  /* data matrices with a second copy in memory */
    std::uint64_t thread_rows = 0;    /* that each thread keeps while it updates a row */
    std::uint64_t measuring_rows = 0; /* the same, in addition, where changes are measured */
    std::vector<double> parameters{}; /* by which the kernel can be made again */
    Steps steps = Steps::whole;
    std::function<void(const Step& step)> advance{};
    std::function<void(const Step& step)> advance_and_measure{};
    Direction facing{}; /* how the matrices lie that it works on */
    /* The same kernel row by row, on matrices that lie so; empty: it goes down and right only. */
    std::function<Result<Kernel>(const Direction& facing)> turned{};
    /* The same with eight rows at once, on its own layout; empty: it goes row by row there. */
    std::function<Result<Kernel>(const Direction& facing)> turned_at_once{};
};

/* The matrices of a store as `kernel` works on them. */
MatrixShape working_shape(const Kernel& kernel, const MatrixShape& stored);

/* A function of row blocks as the update of a step. */
template <typename Update>
std::function<void(const Step& step)> step_by_row_blocks(Update update) {
    return [update](const Step& step) {
        for (std::uint32_t i = 0; i < step.count; ++i) {
            const double change = update(step, step.row_blocks[i]);
            if (step.changes && change > step.changes[i]) step.changes[i] = change;
        }
    };
}

/* Thrown by a watched kernel's update; the run ends and the generation on disk is kept. */
struct KernelFailure : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct KernelInfo {
    const char *name;
    const char *meaning;
    const char *parameters; /* as a person writes them, with the defaults */
    std::vector<double> defaults;
    std::uint32_t coefficient_count;
    std::uint64_t skew; /* of its skewed form; 0: it has none */
    std::uint32_t radius = 1;
    std::uint32_t dimensions = 2;
};

/* Every built-in kernel, once. */
const std::vector<KernelInfo>& kernel_infos();
Result<KernelInfo> kernel_info(const std::string& name);

/* The built-in kernel `name`; empty parameters mean its defaults. */
Result<Kernel> make_kernel(const std::string& name, const std::vector<double>& parameters,
                           Element element, const Layout *layout, std::uint64_t line_columns = 0);

/* The same, on the layout in memory that suits it best for a store of `shape`: skewed where kernel
 * and shape allow it, unless the store is row-major, which then need not be converted; row by row
 * otherwise, slanted where the store is in tiles. */
Result<Kernel> make_kernel_for(const std::string& name, const std::vector<double>& parameters,
                               const MatrixShape& shape);
/* Whether strips of `shape` can be skewed in memory. */
bool suits_skewed(const MatrixShape& shape);
/* Adapts a kernel that goes row by row to stores in tiles. */
void slant(Kernel& kernel);

enum class WriteCheck { trusted, watched };

/* Updates columns [first, end) of row `row` of each data matrix.
 *
 * `data` holds 2 radius + 1 rows of each data matrix from the topmost down, `coefficients`
 * the row of each coefficient matrix, and behind them the value of the row of each coefficient by
 * row, and all of each coefficient by column; `updated` the row to write of each data matrix. Where
 * the kernel reads updated values, the middle row of `data` is `updated`. */
using RowFunction = void (*)(void *const *updated, const void *const *data,
                             const void *const *coefficients, std::int64_t row, std::int64_t first,
                             std::int64_t end, void *context);

/* The same, told in which direction the iteration goes and which one of the run it is, from 0:
 * cells are updated from the last column to the first where `right` is -1, and what lies below is
 * new where `down` is -1. */
using DirectedRowFunction = void (*)(void *const *updated, const void *const *data,
                                     const void *const *coefficients, std::int64_t row,
                                     std::int64_t first, std::int64_t end, std::int64_t iteration,
                                     std::int64_t down, std::int64_t right, void *context);

/* Updates the interior of a plane, which is a row in three dimensions: line by line, from the last
 * line and from the last cell of each where `back` and `right` are -1. */
struct Plane {
    std::int64_t number = 0;
    std::int64_t lines = 1;
    std::int64_t columns = 1; /* cells of a line */
    std::int64_t iteration = 0;
    std::int64_t down = 1;
    std::int64_t back = 1;
    std::int64_t right = 1;
};
using PlaneFunction =
    std::function<void(void *const *updated, const void *const *data,
                       const void *const *coefficients, const Plane& plane, void *context)>;

/* A step of a user's kernel on a skewed store. */
using UserStep = void (*)(const void *context, const void *step);

struct UserKernel {
    std::string name = "kernel"; /* `resume` asks for the same name */
    RowFunction update = nullptr;
    DirectedRowFunction update_directed = nullptr; /* where there is one, instead of `update` */
    PlaneFunction update_plane{}; /* in three dimensions, where there is one, instead of both */
    void *context = nullptr;
    UserStep advance = nullptr; /* none: for row-major stores only */
    UserStep advance_and_measure = nullptr;
    bool steps_turn = false; /* they go in the direction that their row blocks say */
    std::uint64_t skew = 1;  /* of the layout that the steps work on */
    std::uint32_t radius = 1;
    Reading reading = Reading::updated;
    WriteCheck writes = WriteCheck::trusted; /* watched: fails where it writes outside its row */
    std::int64_t first_row = 0; /* the number of the store's first row, where it is a part */
    /* Coefficients by row and by column, in the store's order; null: it has none. */
    std::shared_ptr<const std::vector<std::vector<std::byte>>> vectors{};
};

/* A user's kernel for a store of `shape`. */
Result<Kernel> make_user_kernel(const UserKernel& user, const MatrixShape& shape);

/* Whether `kernel` can sweep a store of `shape`. */
Outcome check_kernel(const Kernel& kernel, const MatrixShape& shape);

/* The instruction set that skewed kernels use here: avx512, avx2 or portable. */
const char *skewed_instructions();

}  // namespace lanewise::wavefront
