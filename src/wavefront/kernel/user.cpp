// SPDX-License-Identifier: BSD-3-Clause
//
// User kernels: a pointer to a function that updates a row, made into the update
// of a row block. The largest change is found by comparing the row before and after;
// a watched kernel may write nothing but its columns of its row.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "wavefront/kernel/kernel.hpp"
#include "wavefront/kernel/rows.hpp"
#include "wavefront/layout/values.hpp"
#include "wavefront/stop.hpp"

namespace lanewise::wavefront {
namespace {

struct UserSweep {
    UserKernel user;
    MatrixShape shape;

    std::uint64_t row_bytes() const { return shape.columns * element_bytes(shape.element); }
    std::uint64_t kept_count() const { return 2 * std::uint64_t{user.radius} + 1; }
    std::uint32_t vector_count() const { return shape.vector_count(); }
    bool by_planes() const { return user.update_plane && shape.line_columns > 0; }
    bool keeps(const RowBlock& row_block) const {
        return user.reading == Reading::previous && overwrites(row_block);
    }
};

// The pointers that a row function is given.
struct RowPointers {
    std::vector<void *> updated;
    std::vector<const void *> data;
    std::vector<const void *> coefficients;
};

void point_at(const UserSweep& sweep, const RowBlock& row_block, std::uint64_t row,
              RowPointers& pointers) {
    const auto row_bytes = sweep.row_bytes();
    const auto kept_count = sweep.kept_count();
    const std::uint64_t radius = sweep.user.radius;
    const bool keeping = sweep.keeps(row_block);
    for (std::uint32_t m = 0; m < row_block.data_count; ++m) {
        pointers.updated[m] = row_at(row_block, row_block.writes + m, row);
        for (std::uint64_t i = 0; i < kept_count; ++i) {
            const auto down = static_cast<std::int64_t>(i) - static_cast<std::int64_t>(radius);
            const auto other = row_below(row_block, row, down);
            pointers.data[m * kept_count + i] =
                keeping && other <= row ? kept_row(row_block, m, other, row_bytes, kept_count)
                                        : row_at(row_block, row_block.reads + m, other);
        }
    }
    for (std::uint32_t m = 0; m < row_block.coefficient_count; ++m)
        pointers.coefficients[m] = row_at(row_block, row_block.data_count + m, row);
    const auto bytes = element_bytes(sweep.shape.element);
    for (std::uint32_t v = 0; v < sweep.vector_count(); ++v) {
        const auto *const values = (*sweep.user.vectors)[v].data();
        const bool by_row = v < sweep.shape.row_coefficient_count;
        pointers.coefficients[row_block.coefficient_count + v] =
            by_row ? values + row_of_matrix(row_block, row) * bytes : values;
    }
}

template <typename Value>
double largest_change(const std::byte *before, const std::byte *after, std::uint64_t count) {
    // The difference of whole numbers is exact; that of others is taken as a double.
    constexpr bool whole = std::is_integral_v<Value>;
    LargestChange<std::conditional_t<whole, Value, double>> largest;
    for (std::uint64_t j = 0; j < count; ++j) {
        Value was;
        Value is;
        std::memcpy(&was, before + j * sizeof(Value), sizeof(Value));
        std::memcpy(&is, after + j * sizeof(Value), sizeof(Value));
        if constexpr (whole) largest.see(was, is);
        // Equal values have not changed, even infinite ones, whose difference is no number.
        else if (is != was)
            largest.see(0.0, static_cast<double>(std::abs(is - was)));
    }
    return static_cast<double>(largest.value);
}

double change_of_row(Element element, const std::byte *before, const std::byte *after,
                     std::uint64_t count) {
    return with_value_type(element, [&]<typename Value>(std::type_identity<Value> /*type*/) {
        return largest_change<Value>(before, after, count);
    });
}

// Rows as they were before a call, from `begin` to `end` bytes, to find the change or what a call
// wrote that it must not.
class Remembered {
  public:
    Remembered(std::vector<const void *> rows, std::uint64_t begin, std::uint64_t end)
        : rows_(std::move(rows)), begin_(begin), end_(end), bytes_(bytes_of_thread()) {
        // What a thread has once it keeps: memory that comes and goes with each row would be slow.
        const auto needed = rows_.size() * (end - begin);
        if (bytes_.size() < needed) bytes_.resize(needed);
        for (std::size_t i = 0; i < rows_.size(); ++i)
            std::memcpy(bytes_.data() + i * (end - begin), now(i, begin), end - begin);
    }
    const std::byte *at(std::size_t i, std::uint64_t offset) const {
        return bytes_.data() + i * (end_ - begin_) + offset - begin_;
    }
    const std::byte *now(std::size_t i, std::uint64_t offset) const {
        return static_cast<const std::byte *>(rows_[i]) + offset;
    }
    bool same(std::size_t i, std::uint64_t begin, std::uint64_t end) const {
        return std::memcmp(now(i, begin), at(i, begin), end - begin) == 0;
    }
    std::size_t rows() const { return rows_.size(); }
    const void *row(std::size_t i) const { return rows_[i]; }
    std::uint64_t begin() const { return begin_; }
    std::uint64_t end() const { return end_; }

  private:
    static std::vector<std::byte>& bytes_of_thread() {
        thread_local std::vector<std::byte> bytes;
        return bytes;
    }

    std::vector<const void *> rows_;
    std::uint64_t begin_;
    std::uint64_t end_;
    std::vector<std::byte>& bytes_;
};

// The rows that are remembered: where writes are watched all that a call reads, and behind them
// those that it may write; else, for the change, the row itself of each data matrix.
std::vector<const void *> remembered_rows(const UserSweep& sweep, const RowPointers& pointers) {
    std::vector<const void *> rows;
    if (sweep.user.writes == WriteCheck::watched) {
        rows = pointers.data;
        rows.insert(rows.end(), pointers.updated.begin(), pointers.updated.end());
        return rows;
    }
    const auto count = sweep.kept_count();
    for (std::size_t m = 0; m < pointers.updated.size(); ++m)
        rows.push_back(pointers.data[m * count + sweep.user.radius]);
    return rows;
}

// Copies of rows whose columns lie from the last to the first, in the order of the matrix: of the
// columns that a call updates, and as many beside them as it may read.
class Straightened {
  public:
    Straightened(const UserSweep& sweep, const RowBlock& row_block, const Columns& columns)
        : bytes_(element_bytes(sweep.shape.element)),
          matrices_(sweep.shape.coefficient_count),
          count_(columns.end - columns.first + 2 * std::uint64_t{sweep.user.radius}),
          mirrored_first_(columns.first - sweep.user.radius),
          first_(row_block.columns - mirrored_first_ - count_) {}

    RowPointers copy(const RowPointers& mirrored) {
        rows_.reserve(mirrored.data.size() + mirrored.updated.size() +
                      mirrored.coefficients.size());
        auto straight = mirrored;
        for (auto& row : straight.data) row = straightened(row);
        // Behind the rows of matrices lie vectors, which are as they are numbered.
        for (std::uint32_t m = 0; m < matrices_; ++m)
            straight.coefficients[m] = straightened(straight.coefficients[m]);
        for (auto& row : straight.updated) row = straightened(row);
        return straight;
    }

    void put_back(const RowPointers& mirrored, const Columns& columns) {
        for (auto *const row : mirrored.updated) {
            const auto found = std::find_if(rows_.begin(), rows_.end(),
                                            [&](const Row& one) { return one.mirrored == row; });
            for (auto j = columns.first; j < columns.end; ++j)
                std::memcpy(static_cast<std::byte *>(row) + j * bytes_,
                            found->values.data() + (mirrored_first_ + count_ - 1 - j) * bytes_,
                            bytes_);
        }
    }

  private:
    struct Row {
        const void *mirrored;
        std::vector<std::byte> values;
    };

    // Where column 0 would lie; a row that is updated and read is copied once.
    std::byte *straightened(const void *mirrored) {
        auto found = std::find_if(rows_.begin(), rows_.end(),
                                  [&](const Row& one) { return one.mirrored == mirrored; });
        if (found == rows_.end()) {
            rows_.push_back({mirrored, std::vector<std::byte>(count_ * bytes_)});
            found = rows_.end() - 1;
            const auto *const from = static_cast<const std::byte *>(mirrored);
            for (std::uint64_t k = 0; k < count_; ++k)
                std::memcpy(found->values.data() + (count_ - 1 - k) * bytes_,
                            from + (mirrored_first_ + k) * bytes_, bytes_);
        }
        return found->values.data() - first_ * bytes_;
    }

    std::uint64_t bytes_;
    std::uint32_t matrices_; /* of coefficients */
    std::uint64_t count_;
    std::uint64_t mirrored_first_; /* the first column of those copied, as they lie */
    std::uint64_t first_;          /* and as they are numbered */
    std::vector<Row> rows_;
};

void call_mirrored(const UserSweep& sweep, const RowBlock& row_block, const RowPointers& pointers,
                   std::int64_t row, const Columns& columns) {
    Straightened straightened(sweep, row_block, columns);
    const auto straight = straightened.copy(pointers);
    sweep.user.update_directed(straight.updated.data(), straight.data.data(),
                               straight.coefficients.data(), row,
                               static_cast<std::int64_t>(row_block.columns - columns.end),
                               static_cast<std::int64_t>(row_block.columns - columns.first),
                               static_cast<std::int64_t>(row_block.iteration),
                               row_block.up ? -1 : 1, -1, sweep.user.context);
    straightened.put_back(pointers, columns);
}

void call_of_plane(const UserSweep& sweep, const RowBlock& row_block, const RowPointers& pointers,
                   std::int64_t number) {
    const auto columns = static_cast<std::int64_t>(sweep.shape.line_columns);
    sweep.user.update_plane(pointers.updated.data(), pointers.data.data(),
                            pointers.coefficients.data(),
                            {.number = number,
                             .lines = static_cast<std::int64_t>(row_block.columns) / columns,
                             .columns = columns,
                             .iteration = static_cast<std::int64_t>(row_block.iteration),
                             .down = row_block.up ? -1 : 1,
                             .back = row_block.backwards ? -1 : 1,
                             .right = row_block.leftwards ? -1 : 1},
                            sweep.user.context);
}

// In the whole store, where this one is a part.
std::int64_t number_of(const UserSweep& sweep, const RowBlock& row_block, std::uint64_t row) {
    return sweep.user.first_row + static_cast<std::int64_t>(row_of_matrix(row_block, row));
}

void call(const UserSweep& sweep, const RowBlock& row_block, const RowPointers& pointers,
          std::uint64_t row, const Columns& columns) {
    const auto& user = sweep.user;
    const auto number = number_of(sweep, row_block, row);
    if (sweep.by_planes()) return call_of_plane(sweep, row_block, pointers, number);
    const auto first = static_cast<std::int64_t>(columns.first);
    const auto end = static_cast<std::int64_t>(columns.end);
    if (row_block.mirrored) return call_mirrored(sweep, row_block, pointers, number, columns);
    if (user.update_directed)
        user.update_directed(pointers.updated.data(), pointers.data.data(),
                             pointers.coefficients.data(), number, first, end,
                             static_cast<std::int64_t>(row_block.iteration), row_block.up ? -1 : 1,
                             row_block.leftwards ? -1 : 1, user.context);
    else
        user.update(pointers.updated.data(), pointers.data.data(), pointers.coefficients.data(),
                    number, first, end, user.context);
}

void check_writes(const UserSweep& sweep, const Remembered& before, std::int64_t row,
                  const RowPointers& pointers) {
    const auto edge = sweep.user.radius * element_bytes(sweep.shape.element);
    const auto& own = pointers.updated;
    for (std::size_t i = 0; i < before.rows(); ++i) {
        const bool own_row = std::find(own.begin(), own.end(), before.row(i)) != own.end();
        const bool sound = own_row ? before.same(i, before.begin(), before.begin() + edge) &&
                                         before.same(i, before.end() - edge, before.end())
                                   : before.same(i, before.begin(), before.end());
        if (!sound)
            throw KernelFailure(
                std::string("the kernel wrote outside its columns while updating ") +
                (sweep.shape.line_columns ? "plane " : "row ") + std::to_string(row) +
                "; it may write columns first to end - 1 of "
                "the rows in `updated` only");
    }
}

enum class Measuring { no, yes };

double update_row_block(const UserSweep& sweep, const Step& step, const RowBlock& row_block,
                        Measuring measuring) {
    RowPointers pointers{
        std::vector<void *>(row_block.data_count),
        std::vector<const void *>(row_block.data_count * sweep.kept_count()),
        std::vector<const void *>(row_block.coefficient_count + sweep.vector_count())};
    const auto row_bytes = sweep.row_bytes();
    const std::uint64_t radius = sweep.user.radius;
    const auto bytes = element_bytes(sweep.shape.element);
    const bool watching = measuring == Measuring::yes || sweep.user.writes == WriteCheck::watched;
    LargestChange<double> largest;
    for (auto row = row_block.first_row; row < row_block.first_row + row_block.row_count; ++row) {
        if (sweep.keeps(row_block)) {
            for (std::uint32_t m = 0; m < row_block.data_count; ++m)
                std::memcpy(kept_row(row_block, m, row, row_bytes, sweep.kept_count()),
                            row_at(row_block, m, row), row_bytes);
        }
        const auto columns = columns_of_row(step, row_block, row, radius);
        const auto [first, end] = columns;
        if (!is_interior(row_block, row, radius) || first >= end) continue;
        point_at(sweep, row_block, row, pointers);
        std::optional<Remembered> before;
        if (watching)
            before.emplace(remembered_rows(sweep, pointers), (first - radius) * bytes,
                           (end + radius) * bytes);
        call(sweep, row_block, pointers, row, columns);
        if (step.stop && stop_asked(step.stop->asked)) throw KernelFailure(stopped_sentence);
        if (sweep.user.writes == WriteCheck::watched)
            check_writes(sweep, *before, number_of(sweep, row_block, row), pointers);
        set_border_columns(step, row_block, row, sweep.shape.line_columns, radius, bytes);
        if (measuring == Measuring::no) continue;
        for (std::uint32_t m = 0; m < row_block.data_count; ++m) {
            const auto *after = static_cast<const std::byte *>(pointers.updated[m]) + first * bytes;
            const bool watched = sweep.user.writes == WriteCheck::watched;
            const auto at = watched ? m * sweep.kept_count() + radius : m;
            largest.see(0.0, change_of_row(sweep.shape.element, before->at(at, first * bytes),
                                           after, end - first));
        }
    }
    return largest.value;
}

}  // namespace

namespace {

Result<Kernel> turned_at_once(const UserKernel& user, const MatrixShape& shape,
                              const Direction& facing) {
    auto kernel = make_user_kernel(user, shape);
    if (kernel) kernel->facing = facing;
    return kernel;
}

Result<Kernel> turned(const UserKernel& user, const MatrixShape& shape, const Direction& facing) {
    auto by_rows = user;
    by_rows.advance = nullptr;
    auto kernel = make_user_kernel(by_rows, shape);
    if (kernel) kernel->facing = facing;
    // Rows whose columns lie from the last to the first are copied.
    if (kernel && facing.left)
        kernel->thread_rows +=
            shape.data_count * (2 * std::uint64_t{user.radius} + 2) + shape.coefficient_count;
    return kernel;
}

}  // namespace

Result<Kernel> make_user_kernel(const UserKernel& user, const MatrixShape& shape) {
    const bool skewed = user.advance && user.advance_and_measure && suits_skewed(shape);
    const auto refuse = [&](const std::string& sentence) {
        return Failure{LW_ERR_ARGUMENT, user.name + ": " + sentence};
    };
    const bool by_planes = user.update_plane && shape.line_columns > 0;
    if (!skewed && !by_planes && !user.update && !user.update_directed)
        return refuse(user.update_plane
                          ? "the store has two dimensions; give the kernel a function of rows"
                          : "a kernel of your own needs a function");
    if (user.radius < 1 || user.radius > 8)
        return refuse("stencil radius " + std::to_string(user.radius) + " is not within 1 to 8");
    if (shape.vector_count() != (user.vectors ? user.vectors->size() : 0))
        return refuse("the coefficients by row and column are not those of the store");
    if (skewed && shape.vector_count())
        return refuse("steps read matrices only; the store has coefficients by row or column");
    if (skewed && (user.radius >= skew_lanes || user.reading == Reading::previous))
        return refuse("steps are for kernels of stencil radius 1 to 7 that read updated values");
    if (skewed && (user.skew < 1 || user.skew > user.radius + std::uint64_t{1}))
        return refuse("a skew of " + std::to_string(user.skew) + " is not within 1 to " +
                      std::to_string(user.radius + 1));
    Kernel kernel{.name = user.name,
                  .origin = Origin::own,
                  .radius = user.radius,
                  .line_columns = by_planes ? shape.line_columns : 0,
                  .layout = skewed ? &layouts::skewed : &layouts::row_major,
                  .skew = skewed ? user.skew : 1,
                  .element = shape.element,
                  .data_count = shape.data_count,
                  .coefficient_count = shape.coefficient_count,
                  .vector_count = shape.vector_count(),
                  .reading = user.reading};
    if (user.update_directed || by_planes)
        kernel.turned = [user, shape](const Direction& facing) {
            return turned(user, shape, facing);
        };
    if (skewed) {
        const auto advance = [&](UserStep step) {
            return [step, context = user.context](const Step& s) { step(context, &s); };
        };
        if (user.steps_turn && !shape.tile_columns)
            kernel.turned_at_once = [user, shape](const Direction& facing) {
                return turned_at_once(user, shape, facing);
            };
        kernel.steps = Steps::column_blocks;
        kernel.advance = advance(user.advance);
        kernel.advance_and_measure = advance(user.advance_and_measure);
        return kernel;
    }
    const auto sweep = std::make_shared<const UserSweep>(UserSweep{user, shape});
    if (user.reading == Reading::previous) kernel.scratch_rows = sweep->kept_count();
    const auto advance = [&](Measuring measuring) {
        return step_by_row_blocks([sweep, measuring](const Step& step, const RowBlock& row_block) {
            return update_row_block(*sweep, step, row_block, measuring);
        });
    };
    kernel.advance = advance(Measuring::no);
    kernel.advance_and_measure = advance(Measuring::yes);
    const auto data_rows = shape.data_count * sweep->kept_count();
    if (user.writes == WriteCheck::watched)
        kernel.thread_rows = data_rows + shape.data_count;
    else
        kernel.measuring_rows = shape.data_count;
    if (shape.tile_columns) slant(kernel);
    return kernel;
}

Outcome check_kernel(const Kernel& kernel, const MatrixShape& shape) {
    const auto refuse = [&](const std::string& sentence) {
        return Failure{LW_ERR_ARGUMENT, kernel.name + " " + sentence};
    };
    if (kernel.data_count != shape.data_count ||
        kernel.coefficient_count != shape.coefficient_count)
        return refuse("needs " + std::to_string(kernel.data_count) + " data and " +
                      std::to_string(kernel.coefficient_count) +
                      " coefficient matrices; the store has " + std::to_string(shape.data_count) +
                      " and " + std::to_string(shape.coefficient_count));
    if (kernel.vector_count != shape.vector_count())
        return refuse(
            "reads matrices only; the store has coefficients by row or column, which "
            "are for kernels of your own");
    if (kernel.origin == Origin::built_in && kernel.line_columns != shape.line_columns)
        return refuse("was made for planes or rows of other lengths than those of the store");
    if (kernel.element != shape.element)
        return refuse(std::string("was made for ") + element_name(kernel.element) +
                      "; the store holds " + element_name(shape.element));
    if (kernel.layout == &layouts::slanted && shape.strip_rows <= kernel.radius)
        return refuse(
            "has a stencil radius of " + std::to_string(kernel.radius) +
            "; tiles of so few rows cannot be swept in parallelograms, convert the store with "
            "--strip-rows " +
            std::to_string(kernel.radius + 1) + " or more");
    if (shape.tile_columns && kernel.layout == &layouts::row_major)
        return refuse("was made for whole rows; the store is cut into tiles of " +
                      std::to_string(shape.tile_columns) + " columns");
    return check_shape(working_shape(kernel, shape));
}

}  // namespace lanewise::wavefront
