// SPDX-License-Identifier: BSD-3-Clause
//
// Wavefront in C++20: write the update of a cell, run it over matrices on disk.
//
//     struct sor {
//         static constexpr int radius = 1;
//         static constexpr bool vectors = true;      // eight cells at once, see below
//         double omega;
//         auto operator()(const auto& u, const auto& f) const {
//             return (1 - omega) * u(0, 0) +
//                    omega / 4 * (u(-1, 0) + u(0, -1) + u(0, 1) + u(1, 0) - f(0, 0));
//         }
//     };
//     auto store = wavefront::store::open("problem");
//     wavefront::run(store, sor{1.9}, {.iterations = 500, .memory_bytes = 2ull << 30});
//
// The update gets one accessor for each matrix, data first: u(down, right) is the value so many
// rows below and columns to the right, at most `radius` of them; it returns the new value of the
// first matrix's cell. Cells above and to the left are new already, unless the struct says
// `static constexpr bool reads_previous = true` (Jacobi).
//
// An update that returns a std::array, std::pair or std::tuple updates as many matrices as that
// has values, the first of the store, and is called with their accessors first:
//
//     struct wave {
//         static constexpr int radius = 1;
//         static constexpr bool reads_previous = true;
//         double courant;
//         std::array<double, 2> operator()(const auto& now, const auto& before) const {
//             const double bend = now(-1, 0) + now(0, -1) + now(0, 1) + now(1, 0) - 4 * now(0, 0);
//             return {2 * now(0, 0) - before(0, 0) + courant * courant * bend, now(0, 0)};
//         }
//     };
//
// All of its values of a cell are written once it has returned.
//
// A store holds doubles, or what an update says by `using real = float`, `std::int32_t`,
// `std::int64_t` or `lanewise::wavefront::half`. An update of halves gets floats, and what it
// returns is rounded to the nearest half.
//
// With `static constexpr bool knows_place = true` the update gets a `place` as its last argument:
// the iteration, the row and the column, for red-black orders and weights that change.
//
// With `static constexpr int dimensions = 3` an update is for stores of three dimensions, and reads
// u(down, back, right), so many planes below, lines further and cells to the right.
//
// With `vectors = true` the update also runs on a skewed store, eight rows at once with the
// instructions that this file is compiled for: it has a stencil radius of 1 to 7, returns `auto`,
// and chooses with ?: and not with if. The bits are the same. They are those of the sequential loop
// where the compiler does not fuse multiplication and addition: compile with -ffp-contract=off.

#pragma once

#include <lanewise/wavefront.h>
#include <lanewise/wavefront/half.hpp>
#include <lanewise/wavefront/turned.hpp>

#include <algorithm>
#include <array>
#include <complex>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

// An update of vectors is inlined into the sweep, so the ABI of passing vectors between files does
// not matter.
#pragma GCC diagnostic ignored "-Wpsabi"

namespace lanewise::wavefront {

/* What went wrong, in one sentence. */
struct error : std::runtime_error {
    error(lw_status code, const std::string& sentence)
        : std::runtime_error(sentence), status(code) {}
    lw_status status;
};

struct options {
    std::uint64_t iterations = 1;
    std::uint64_t memory_bytes = std::uint64_t{1} << 30;
    double tolerance = -1.0; /* stop when no cell changes by more; 0: by anything; -1: never */
    unsigned threads = 0;    /* 0: the processors this program may use */
    std::uint64_t waves = 0; /* iterations per pass; 0: chosen */
    /* Of the iterations in turn, such as "symmetric" or "fast-sweeping", by the names in
     * <lanewise/wavefront.h>; empty: down and right. */
    std::string directions{};
    /* Such as "neumann" or "left=neumann,rows=periodic", as <lanewise/wavefront.h> says; empty:
     * fixed. */
    std::string borders{};
    /* "residual<1e-8" or "residual<1e-8*first", asked after every `pause_every` iterations and
     * after the last; empty: never. `paused` is called then, too, with the iterations of the run
     * and what was measured. */
    std::string until{};
    std::uint64_t pause_every = 0; /* 0: 32 with a condition or `paused`, else no pauses */
    std::function<void(std::uint64_t iterations, double measured)> paused{};
    /* Where one is above 0, the run ends once the residual is at most max(rtol * first, atol),
     * asked as `until` is, and instead of it. */
    double rtol = 0.0;
    double atol = 0.0;
};

/* Which cell of which iteration of the run is updated, all from 0: the last argument of an update
 * with `static constexpr bool knows_place = true`, which runs row by row. */
struct place {
    std::int64_t iteration = 0;
    std::int64_t row = 0; /* in three dimensions the plane */
    std::int64_t column = 0;
    std::int64_t line = 0; /* of the plane, in three dimensions */
};

namespace detail {

template <typename Real>
struct element_traits;
template <>
struct element_traits<float> {
    static constexpr lw_element element = LW_ELEMENT_F32;
    static constexpr const char *name = "f32";
};
template <>
struct element_traits<double> {
    static constexpr lw_element element = LW_ELEMENT_F64;
    static constexpr const char *name = "f64";
};
template <>
struct element_traits<std::int32_t> {
    static constexpr lw_element element = LW_ELEMENT_I32;
    static constexpr const char *name = "i32";
};
template <>
struct element_traits<std::int64_t> {
    static constexpr lw_element element = LW_ELEMENT_I64;
    static constexpr const char *name = "i64";
};
template <>
struct element_traits<half> {
    static constexpr lw_element element = LW_ELEMENT_F16;
    static constexpr const char *name = "f16";
};
template <typename Real>
constexpr lw_element element_of() {
    return element_traits<Real>::element;
}

/* Whether values of a program's type lie as those of a store. */
template <typename Real>
constexpr bool holds(lw_element element) {
    constexpr bool whole = std::is_integral_v<Real>;
    switch (element) {
        case LW_ELEMENT_F32: return std::is_same_v<Real, float>;
        case LW_ELEMENT_F64: return std::is_same_v<Real, double>;
        case LW_ELEMENT_C64: return std::is_same_v<Real, std::complex<float>>;
        case LW_ELEMENT_C128: return std::is_same_v<Real, std::complex<double>>;
        case LW_ELEMENT_I32: return whole && sizeof(Real) == sizeof(std::int32_t);
        case LW_ELEMENT_I64: return whole && sizeof(Real) == sizeof(std::int64_t);
        // _Float16 where the compiler has it, else uint16_t.
        case LW_ELEMENT_F16: return sizeof(Real) == sizeof(half);
    }
    return false;
}

/* A matrix around cell `column` of a row; `rows` are those around it, the cell's own in the
 * middle. */
template <typename Real>
struct around {
    const Real *const *rows;
    std::int64_t column;
    int middle;
    arithmetic_t<Real> operator()(int down, int right) const {
        return rows[down + middle][column + right];
    }
};

/* The same in three dimensions; `at` is where cell `column` of its line lies in a plane. */
template <typename Real>
struct around_3d {
    const Real *const *planes;
    std::int64_t at;
    std::int64_t line_columns;
    int middle;
    arithmetic_t<Real> operator()(int down, int back, int right) const {
        return planes[down + middle][at + back * line_columns + right];
    }
};

template <typename Update>
constexpr int dimensions_of() {
    if constexpr (requires { Update::dimensions; }) return Update::dimensions;
    return 2;
}

/* What an update reads a matrix by. */
template <typename Real, typename Update>
using accessor_t = std::conditional_t<dimensions_of<Update>() == 3, around_3d<Real>, around<Real>>;

/* How eight rows at once reach the cells that an update reads. */
enum class reach { near, far, none };

/* Stands for the data while the update is asked what it reads. It gives vectors, as the sweep does:
 * a choice with ?: evaluates both arms then, so that what either reads is seen. */
template <typename Real, int radius, Heading heading>
struct recorder {
    using vector = typename Lanes<Real>::Vector;
    reach *found;
    LW_WAVEFRONT_INLINED vector operator()(int below, int beside) const {
        const int down = heading.up ? -below : below;
        const int right = heading.left ? -beside : beside;
        const auto within = [](int offset) { return offset >= -radius && offset <= radius; };
        if (!within(down) || !within(right)) *found = reach::none;
        // Updated before it is read, or not before: see <lanewise/wavefront/skewed.hpp>.
        else if ((down < 0 && down + right >= 0) || (down > 0 && down + right < 0))
            *found = *found == reach::none ? reach::none : reach::far;
        return vector{} + Real(1);
    }
};

/* The same for a coefficient: eight rows at once have that of the cell alone. */
template <typename Real>
struct coefficient_recorder {
    using vector = typename Lanes<Real>::Vector;
    reach *found;
    LW_WAVEFRONT_INLINED vector operator()(int down, int right) const {
        if (down != 0 || right != 0) *found = reach::none;
        return vector{} + Real(1);
    }
};

template <typename Update>
constexpr bool knows_place() {
    if constexpr (requires { Update::knows_place; }) return Update::knows_place;
    return false;
}

template <typename Update, typename Accessor, std::size_t... I>
constexpr bool takes(std::index_sequence<I...>) {
    if constexpr (knows_place<Update>())
        return std::is_invocable_v<const Update&, std::enable_if_t<(I + 1 > 0), const Accessor&>...,
                                   const place&>;
    else
        return std::is_invocable_v<const Update&,
                                   std::enable_if_t<(I + 1 > 0), const Accessor&>...>;
}

/* How many matrices the update is called with. */
template <typename Update, typename Accessor, std::size_t count = 1>
constexpr std::size_t matrices_of() {
    static_assert(count <= 16, "an update is called with one accessor for each matrix");
    if constexpr (takes<Update, Accessor>(std::make_index_sequence<count>{}))
        return count;
    else
        return matrices_of<Update, Accessor, count + 1>();
}

/* What the update returns. */
template <typename Update, typename Accessor, std::size_t... I>
auto values_of(const Update& update, const Accessor& accessor, std::index_sequence<I...>) {
    if constexpr (knows_place<Update>())
        return update(((void)I, accessor)..., place{});
    else
        return update(((void)I, accessor)...);
}
template <typename Update, typename Accessor>
using values_t = decltype(values_of(std::declval<const Update&>(), std::declval<const Accessor&>(),
                                    std::make_index_sequence<matrices_of<Update, Accessor>()>{}));

template <typename Values>
concept several = requires {
    std::tuple_size<Values>::value;
};

/* How many matrices an update changes that returns such values. */
template <typename Values>
constexpr std::size_t fields_of() {
    if constexpr (several<Values>)
        return std::tuple_size_v<Values>;
    else
        return 1;
}

template <typename Update>
constexpr bool reads_previous() {
    if constexpr (requires { Update::reads_previous; }) return Update::reads_previous;
    return false;
}

template <typename Update>
constexpr bool takes_vectors() {
    if constexpr (requires { Update::vectors; }) return Update::vectors;
    return false;
}

template <typename Update>
struct real_of {
    using type = double;
};
template <typename Update>
requires requires {
    typename Update::real;
}
struct real_of<Update> {
    using type = typename Update::real;
};

template <typename Real, typename Update>
struct sweep {
    static constexpr int radius = Update::radius;
    static constexpr int dimensions = dimensions_of<Update>();
    static_assert(dimensions == 2 || dimensions == 3, "a store has two dimensions or three");
    using accessor = accessor_t<Real, Update>;
    static constexpr std::size_t matrices = matrices_of<Update, accessor>();
    using values = values_t<Update, accessor>;
    static constexpr std::size_t fields = fields_of<values>();
    static_assert(fields >= 1 && fields <= matrices,
                  "an update is called with an accessor for each matrix that it has a value of");
    static constexpr unsigned coefficients = static_cast<unsigned>(matrices - fields);
    static constexpr std::size_t height = 2 * std::size_t{radius} + 1; /* rows around a cell */

    template <std::size_t... F>
    static void store_values(const std::array<Real *, fields>& out, std::int64_t j,
                             const auto& found) {
        if constexpr (several<values>)
            ((out[F][j] = static_cast<arithmetic_t<Real>>(std::get<F>(found))), ...);
        else
            out[0][j] = static_cast<arithmetic_t<Real>>(found);
    }

    template <std::size_t... F, std::size_t... I>
    static void row(const Update& update, const std::array<Real *, fields>& out,
                    const Real *const *data, [[maybe_unused]] const Real *const *others,
                    [[maybe_unused]] place at, std::int64_t first, std::int64_t end,
                    std::int64_t right, std::index_sequence<F...>, std::index_sequence<I...>) {
        const auto cell = [&](std::int64_t j) {
            if constexpr (knows_place<Update>())
                return update(around<Real>{data + F * height, j, radius}...,
                              around<Real>{others + I, j, 0}..., place{at.iteration, at.row, j});
            else
                return update(around<Real>{data + F * height, j, radius}...,
                              around<Real>{others + I, j, 0}...);
        };
        const auto set = [&](std::int64_t j) { store_values<F...>(out, j, cell(j)); };
        if constexpr (reads_previous<Update>()) {
            // What is read was kept apart from what is written: several cells may go at once.
#ifndef __clang__
#pragma GCC ivdep
#endif
            for (std::int64_t j = first; j < end; ++j) set(j);
        } else if (right < 0) {
            for (std::int64_t j = end; j-- > first;) set(j);
        } else {
            for (std::int64_t j = first; j < end; ++j) set(j);
        }
    }

    template <std::size_t... F, std::size_t... I>
    static void plane(const Update& update, const std::array<Real *, fields>& out,
                      const Real *const *data, [[maybe_unused]] const Real *const *others,
                      const lw_wavefront_plane& of, std::index_sequence<F...>,
                      std::index_sequence<I...>) {
        const auto cell = [&](std::int64_t line, std::int64_t column) {
            const auto at = line * of.columns + column;
            if constexpr (knows_place<Update>())
                return update(around_3d<Real>{data + F * height, at, of.columns, radius}...,
                              around_3d<Real>{others + I, at, of.columns, 0}...,
                              place{of.iteration, of.plane, column, line});
            else
                return update(around_3d<Real>{data + F * height, at, of.columns, radius}...,
                              around_3d<Real>{others + I, at, of.columns, 0}...);
        };
        for (std::int64_t n = radius; n < of.lines - radius; ++n) {
            const auto line = of.back < 0 ? of.lines - 1 - n : n;
            const auto set = [&](std::int64_t column) {
                store_values<F...>(out, line * of.columns + column, cell(line, column));
            };
            if (of.right < 0) {
                for (std::int64_t k = of.columns - radius; k-- > radius;) set(k);
            } else {
                for (std::int64_t k = radius; k < of.columns - radius; ++k) set(k);
            }
        }
    }

    static std::array<Real *, fields> fields_at(void *const *updated) {
        std::array<Real *, fields> out{};
        for (std::size_t field = 0; field < fields; ++field)
            out[field] = static_cast<Real *>(updated[field]);
        return out;
    }

    /* lw_wavefront_plane_fn */
    static void update_plane(void *const *updated, const void *const *data,
                             const void *const *others, const lw_wavefront_plane *of,
                             void *context) {
        plane(*static_cast<const Update *>(context), fields_at(updated),
              reinterpret_cast<const Real *const *>(data),
              reinterpret_cast<const Real *const *>(others), *of,
              std::make_index_sequence<fields>{}, std::make_index_sequence<coefficients>{});
    }

    /* lw_wavefront_directed_row_fn */
    static void update_row(void *const *updated, const void *const *data, const void *const *others,
                           std::int64_t row_number, std::int64_t first, std::int64_t end,
                           std::int64_t iteration, std::int64_t /*down*/, std::int64_t right,
                           void *context) {
        row(*static_cast<const Update *>(context), fields_at(updated),
            reinterpret_cast<const Real *const *>(data),
            reinterpret_cast<const Real *const *>(others), {iteration, row_number, 0}, first, end,
            right, std::make_index_sequence<fields>{}, std::make_index_sequence<coefficients>{});
    }

    /* The update as a cell of <lanewise/wavefront/skewed.hpp>. */
    struct cell {
        static constexpr int radius = Update::radius;
        static constexpr unsigned coefficients = sweep::coefficients;
        Update update;
        auto operator()(const auto& u, const auto& c) const {
            return call(u, c, std::make_index_sequence<coefficients>{});
        }
        template <std::size_t... I>
        auto call(const auto& u, const auto& c, std::index_sequence<I...>) const {
            return update(u, [&](int, int) { return c(static_cast<unsigned>(I)); }...);
        }
    };
    template <reach wanted>
    using skewed =
        Skewed<Update, Real, cell, wanted == reach::near ? 1u : unsigned{Update::radius} + 1u>;
    /* Beyond it the next wave in lockstep would come too near with the smallest skew. */
    static constexpr int near_radius_max = 3;

    template <Heading heading, std::size_t... I>
    static reach reach_of(const Update& update, std::index_sequence<I...>) {
        auto found = radius <= near_radius_max ? reach::near : reach::far;
        const recorder<Real, radius, heading> data{&found};
        const coefficient_recorder<Real> coefficient{&found};
        (void)update(data, ((void)I, coefficient)...);
        return found;
    }

    /* Whether that reach is enough in every direction. */
    template <reach wanted>
    static bool turns(const Update& update) {
        constexpr auto others = std::make_index_sequence<coefficients>{};
        return wanted == reach::far || (reach_of<Heading{true, true}>(update, others) == wanted &&
                                        reach_of<Heading{true, false}>(update, others) == wanted &&
                                        reach_of<Heading{false, true}>(update, others) == wanted);
    }

    /* Sets the kernel's functions for eight rows at once. */
    template <reach wanted>
    static void set_steps(const Update& update, lw_wavefront_kernel& kernel) {
        using steps = skewed<wanted>;
        constexpr auto lag = static_cast<unsigned>(steps::lag);
        kernel.skew = lag;
        kernel.steps_turn = turns<wanted>(update) ? 1 : 0;
        kernel.advance = [](const void *context, const void *step) {
            update_in_its_direction<Update, Real, cell, lag, typename steps::Nothing>(
                context, *static_cast<const Step *>(step));
        };
        kernel.advance_and_measure = [](const void *context, const void *step) {
            update_in_its_direction<Update, Real, cell, lag, typename steps::Largest>(
                context, *static_cast<const Step *>(step));
        };
    }
    static void set_steps(const Update& update, lw_wavefront_kernel& kernel) {
        const auto wanted = reach_of<Heading{}>(update, std::make_index_sequence<coefficients>{});
        if constexpr (radius <= near_radius_max) {
            if (wanted == reach::near) return set_steps<reach::near>(update, kernel);
        }
        if (wanted == reach::far) set_steps<reach::far>(update, kernel);
    }
};

}  // namespace detail

/* A type with a stencil `radius` whose call returns the new value of a cell. */
template <typename Update>
concept cell_update = requires {
    { Update::radius } -> std::convertible_to<int>;
}
&&(detail::matrices_of<Update,
                       detail::accessor_t<typename detail::real_of<Update>::type, Update>>() > 0);

class store {
  public:
    static store open(const std::string& folder) {
        store opened;
        opened.check(
            lw_wavefront_open(folder.c_str(), take_sentence, opened.said_.get(), &opened.store_));
        return opened;
    }
    static store create(const std::string& folder, const lw_wavefront_shape& shape) {
        store made;
        made.check(lw_wavefront_create(folder.c_str(), &shape, take_sentence, made.said_.get(),
                                       &made.store_));
        return made;
    }
    /* Gone with the object, and for matrices that fit into memory. */
    static store create_in_memory(const lw_wavefront_shape& shape) {
        store made;
        made.check(lw_wavefront_create_in_memory(&shape, nullptr, take_sentence, made.said_.get(),
                                                 &made.store_));
        return made;
    }
    store(store&& other) noexcept
        : said_(std::move(other.said_)), store_(std::exchange(other.store_, nullptr)) {}
    store& operator=(store&& other) noexcept {
        store taken(std::move(other));
        std::swap(said_, taken.said_);
        std::swap(store_, taken.store_);
        return *this;
    }
    ~store() { lw_wavefront_close(store_); }

    lw_wavefront *handle() const { return store_; }
    lw_wavefront_shape shape() const {
        lw_wavefront_shape found = LW_WAVEFRONT_SHAPE;
        check(lw_wavefront_query(store_, &found, nullptr));
        return found;
    }
    std::uint64_t iterations() const {
        std::uint64_t found = 0;
        check(lw_wavefront_query(store_, nullptr, &found));
        return found;
    }

    /* Matrix `matrix` from value(row, column), of the type that the store holds; streamed, so it
     * need not fit into memory. What `value` throws is thrown, and the matrix is as it was. */
    template <typename Real, typename Value>
    void fill(std::uint32_t matrix, const Value& value) {
        check_element<Real>();
        // No exception passes through the library: it is thrown again once that has returned.
        struct Job {
            const Value& value;
            std::uint64_t columns;
            std::exception_ptr thrown;
        } job{value, sides_of(matrix).second, nullptr};
        const auto source = [](void *context, std::uint64_t first, std::uint64_t count,
                               void *rows) {
            auto& asked = *static_cast<Job *>(context);
            auto *at = static_cast<Real *>(rows);
            try {
                for (std::uint64_t i = 0; i < count; ++i) {
                    for (std::uint64_t j = 0; j < asked.columns; ++j)
                        *at++ = asked.value(first + i, j);
                }
            } catch (...) {
                asked.thrown = std::current_exception();
            }
            return asked.thrown ? 1 : 0;
        };
        const auto status = lw_wavefront_write(store_, matrix, source, &job);
        check(status, job.thrown);
    }

    /* All of a matrix that fits into memory, in row-major order, of the type that the store holds.
     */
    template <typename Real>
    std::vector<Real> read(std::uint32_t matrix) const {
        check_element<Real>();
        const auto [height, width] = sides_of(matrix);
        struct Job {
            std::vector<Real> values;
            std::uint64_t columns;
        } job{std::vector<Real>(height * width), width};
        const auto sink = [](void *context, std::uint64_t first, std::uint64_t count,
                             const void *rows) {
            auto& asked = *static_cast<Job *>(context);
            const auto *from = static_cast<const Real *>(rows);
            std::copy(from, from + count * asked.columns,
                      asked.values.begin() + static_cast<std::ptrdiff_t>(first * asked.columns));
            return 0;
        };
        check(lw_wavefront_read(store_, matrix, sink, &job));
        return std::move(job.values);
    }

    /* Throws what a function of the program threw in the call, or else why the call failed. */
    void check(lw_status status, const std::exception_ptr& thrown = nullptr) const {
        if (status == LW_OK && !thrown) return;
        const auto said = said_ ? std::exchange(*said_, {}) : std::string();
        if (thrown) std::rethrow_exception(thrown);
        if (!said_) throw error(status, "the store was moved to another object; use that one");
        throw error(status, said.empty() ? lw_status_text(status) : said);
    }

  private:
    store() : said_(std::make_unique<std::string>()) {}
    /* The library moves values of the store's element, whatever the program takes them for. */
    template <typename Real>
    void check_element() const {
        if (!detail::holds<Real>(shape().element))
            throw error(LW_ERR_ARGUMENT,
                        "the values are not of the type that the store holds; read and fill with "
                        "the type of its element");
    }
    /* Coefficients by row are matrices of one column, those by column of one row. */
    std::pair<std::uint64_t, std::uint64_t> sides_of(std::uint32_t matrix) const {
        const auto found = shape();
        const auto matrices = found.data_count + found.coefficient_count;
        if (matrix < matrices) return {found.rows, found.columns};
        const bool by_row = matrix - matrices < found.row_coefficient_count;
        return by_row ? std::pair{found.rows, std::uint64_t{1}}
                      : std::pair{std::uint64_t{1}, found.columns};
    }
    static void take_sentence(void *context, lw_status /*status*/, const char *sentence) {
        *static_cast<std::string *>(context) = sentence;
    }
    /* Stays where it is when the store moves; none where it was moved to another object. */
    std::unique_ptr<std::string> said_;
    lw_wavefront *store_ = nullptr;
};

namespace detail {

/* Throws where the store is not what the update is for. */
template <typename Update>
void check_update(const store& target, const char *name) {
    using real = typename real_of<Update>::type;
    using rows = sweep<real, Update>;
    if ((target.shape().line_columns != 0) != (rows::dimensions == 3))
        throw error(LW_ERR_ARGUMENT,
                    std::string(name) + " is an update of " +
                        (rows::dimensions == 3 ? "three dimensions; the store has two"
                                               : "two dimensions; the store has three: say "
                                                 "`static constexpr int dimensions = 3`"));
    if (target.shape().row_coefficient_count + target.shape().column_coefficient_count != 0)
        throw error(LW_ERR_ARGUMENT,
                    std::string(name) +
                        " is an update of matrices; the store has coefficients by row or column: "
                        "use a row function in C");
    if (target.shape().element != element_of<real>())
        throw error(LW_ERR_ARGUMENT, std::string(name) + " works on " + element_traits<real>::name +
                                         "; the store holds another element");
    if (target.shape().data_count != rows::fields)
        throw error(LW_ERR_ARGUMENT,
                    std::string(name) + " updates " + std::to_string(rows::fields) +
                        (rows::fields == 1 ? " data matrix" : " data matrices") +
                        "; the store has " + std::to_string(target.shape().data_count));
    if (target.shape().coefficient_count < rows::coefficients)
        throw error(LW_ERR_ARGUMENT, std::string(name) + " reads " +
                                         std::to_string(rows::coefficients) +
                                         " coefficient matrices; the store has " +
                                         std::to_string(target.shape().coefficient_count));
}

/* The update must outlive the call: `cell` holds it for rows and for steps alike. `function` is
 * called as lw_wavefront_run_kernel, once check_update has not thrown. */
template <typename Update, typename Function>
lw_wavefront_outcome run_kernel(store& target, const Update& update, const options& wanted,
                                const char *name, const Function& function) {
    using real = typename real_of<Update>::type;
    using rows = sweep<real, Update>;
    typename rows::cell cell{update};
    lw_wavefront_kernel kernel = LW_WAVEFRONT_KERNEL;
    kernel.radius = static_cast<std::uint32_t>(rows::radius);
    kernel.reads = reads_previous<Update>() ? LW_READS_PREVIOUS : LW_READS_UPDATED;
    if constexpr (rows::dimensions == 3)
        kernel.update_plane = &rows::update_plane;
    else
        kernel.update_directed = &rows::update_row;
    kernel.context = &cell.update;
    kernel.name = name;
    if constexpr (takes_vectors<Update>()) {
        static_assert(rows::dimensions == 2, "eight rows at once are of two dimensions");
        static_assert(!knows_place<Update>(), "eight rows at once have no single place");
        static_assert(!several<typename rows::values>,
                      "eight rows at once update one matrix; leave `vectors` out");
        static_assert(std::is_same_v<real, float> || std::is_same_v<real, double>,
                      "eight rows at once are of floats or doubles; leave `vectors` out");
        static_assert(rows::radius <= 7 && !reads_previous<Update>(),
                      "vectors are for updates of stencil radius 1 to 7 that read updated values");
        static_assert(sizeof(typename rows::cell) == sizeof(Update), "one context serves both");
        rows::set_steps(update, kernel);
    }
    lw_wavefront_run_options asked = LW_WAVEFRONT_RUN_OPTIONS;
    asked.iterations = wanted.iterations;
    asked.memory_bytes = wanted.memory_bytes;
    asked.tolerance = wanted.tolerance;
    asked.threads = wanted.threads;
    asked.waves = wanted.waves;
    if (!wanted.directions.empty()) asked.directions = wanted.directions.c_str();
    if (!wanted.borders.empty()) asked.borders = wanted.borders.c_str();
    if (!wanted.until.empty()) asked.until = wanted.until.c_str();
    asked.pause_every = wanted.pause_every;
    asked.rtol = wanted.rtol;
    asked.atol = wanted.atol;
    // No exception passes through the library: it is thrown again once that has returned.
    struct Paused {
        const options& wanted;
        std::exception_ptr thrown;
    } paused{wanted, nullptr};
    if (wanted.paused) {
        asked.paused_context = &paused;
        asked.paused = [](void *context, std::uint64_t iterations, double measured) {
            auto& called = *static_cast<Paused *>(context);
            try {
                called.wanted.paused(iterations, measured);
            } catch (...) {
                called.thrown = std::current_exception();
            }
            return called.thrown ? 1 : 0;
        };
    }
    lw_wavefront_outcome outcome = LW_WAVEFRONT_OUTCOME;
    const auto status = function(target.handle(), &kernel, &asked, &outcome);
    target.check(status, paused.thrown);
    return outcome;
}

}  // namespace detail

/* Iterates; throws `error`. `name` is what a later resume must give again. */
template <cell_update Update>
lw_wavefront_outcome run(store& target, const Update& update, const options& wanted,
                         const char *name = "kernel") {
    detail::check_update<Update>(target, name);
    return detail::run_kernel(target, update, wanted, name, &lw_wavefront_run_kernel);
}

/* Goes on with a run that was interrupted; `wanted.iterations` is not looked at. */
template <cell_update Update>
lw_wavefront_outcome resume(store& target, const Update& update, const options& wanted = {},
                            const char *name = "kernel") {
    detail::check_update<Update>(target, name);
    return detail::run_kernel(target, update, wanted, name, &lw_wavefront_resume_kernel);
}

}  // namespace lanewise::wavefront
