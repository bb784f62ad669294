// SPDX-License-Identifier: BSD-3-Clause
//
// See measure.hpp.

#include "wavefront/run/measure.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <string_view>
#include <utility>

#include <lanewise/wavefront/row_block.hpp>
#include "base/nearest.hpp"
#include "wavefront/layout/values.hpp"
#include "wavefront/stop.hpp"
#include "wavefront/store/rows_io.hpp"

namespace lanewise::wavefront {
namespace {

constexpr std::uint64_t tiles_read = 2;
constexpr std::string_view relative_suffix = "*first";
constexpr std::string_view larger_prefix = "=max(";

struct Entry {
    Measure measure;
    const char *name;
};
constexpr Entry entries[] = {{Measure::residual, "residual"},
                             {Measure::norm, "norm"},
                             {Measure::sum, "sum"},
                             {Measure::max, "max"},
                             {Measure::min, "min"}};

/* What has been found of the rows of a matrix so far. */
struct Found {
    double sum = 0.0; /* of values, or of squares */
    double most = -std::numeric_limits<double>::infinity();
    double least = std::numeric_limits<double>::infinity();

    // What is no number is neither more nor less than anything, and is kept.
    void see_most(double value) {
        if (!(value <= most) && !std::isnan(most)) most = value;
    }
    void see_least(double value) {
        if (!(value >= least) && !std::isnan(least)) least = value;
    }
    void add(const Found& other) {
        sum += other.sum;
        see_most(other.most);
        see_least(other.least);
    }
};

// Without its sign where numbers are whole: it is exact then, however far apart they are.
template <typename Value>
double difference(Value from, Value to) {
    if constexpr (std::is_integral_v<Value>) {
        LargestChange<Value> distance;
        distance.see(from, to);
        return static_cast<double>(distance.value);
    } else {
        // Equal values leave nothing, even infinite ones.
        return to == from ? 0.0 : static_cast<double>(to) - static_cast<double>(from);
    }
}

template <typename Value>
void add_row(Measure what, const Value *row, const Value *updated, std::uint64_t columns,
             Found& found) {
    double sum = 0.0;
    for (std::uint64_t j = 0; j < columns; ++j) {
        const auto value = static_cast<double>(row[j]);
        switch (what) {
            case Measure::residual: {
                const double rest = difference(row[j], updated[j]);
                sum += rest * rest;
                break;
            }
            case Measure::norm: sum += value * value; break;
            case Measure::sum: sum += value; break;
            case Measure::max: found.see_most(value); break;
            case Measure::min: found.see_least(value); break;
        }
    }
    found.sum += sum;
}

double result_of(Measure what, const Found& found) {
    switch (what) {
        case Measure::residual:
        case Measure::norm: return std::sqrt(found.sum);
        case Measure::sum: return found.sum;
        case Measure::max: return found.most;
        case Measure::min: return found.least;
    }
    return 0.0;
}

std::optional<double> number_from(const std::string& text) {
    // In any locale; what is written in a manifest is read under another.
    double value = 0.0;
    std::string_view number = text;
    number.remove_prefix(std::min(number.find_first_not_of(" \t"), number.size()));
    if (number.starts_with('+') && !number.starts_with("+-")) number.remove_prefix(1);
    const char *last = number.data() + number.size();
    const auto [end, error] = std::from_chars(number.data(), last, value);
    // A number that is too small to be held is 0, and one that is too large is refused.
    const bool is_tiny =
        error == std::errc::result_out_of_range && number.find("e-") != std::string_view::npos;
    if (is_tiny && end == last) return 0.0;
    if (error != std::errc{} || end != last || !std::isfinite(value)) return std::nullopt;
    return value;
}

std::string number_text(double value) {
    char text[32];
    const auto end =
        std::to_chars(text, text + sizeof text, value, std::chars_format::general, 17).ptr;
    return {text, end};
}

/* The kernel as it works on rows one behind the other. */
Result<Kernel> by_rows(const Kernel& kernel) {
    if (kernel.layout != &layouts::skewed) return kernel;
    if (kernel.turned) return kernel.turned({});
    return bad_argument(kernel.name +
                        " has no form that goes row by row, which measuring needs; give its kernel "
                        "a function update_directed, or leave out the condition");
}

class MeasuredStrips {
  public:
    MeasuredStrips(const Store& store, Kernel kernel, Measure what, std::uint64_t iteration,
                   const std::atomic<bool> *stop)
        : shape_(store.shape()),
          kernel_(std::move(kernel)),
          what_(what),
          iteration_(iteration),
          stop_{stop},
          row_bytes_(shape_.columns * element_bytes(shape_.element)),
          above_bytes_(kernel_.radius * row_bytes_),
          found_(shape_.data_count) {}

    Outcome open(const Store& store) {
        const auto count = residual() ? shape_.matrix_count() : shape_.data_count;
        for (std::uint32_t m = 0; m < count; ++m) {
            auto source = strip_source(store, m, {.tiles_read = tiles_read, .stop = stop_.asked});
            if (!source) return source.failure();
            sources_.push_back(std::move(*source));
            const auto rows =
                m < shape_.data_count ? kernel_.radius + 2 * shape_.strip_rows : shape_.strip_rows;
            auto memory = Memory::reserve(rows * row_bytes_);
            if (!memory) return memory.failure();
            windows_.push_back(std::move(*memory));
        }
        for (std::uint32_t m = 0; residual() && m < shape_.data_count; ++m) {
            auto memory = Memory::reserve(shape_.strip_rows * row_bytes_);
            if (!memory) return memory.failure();
            updated_.push_back(std::move(*memory));
        }
        return Done{};
    }

    Result<double> all() {
        for (std::uint64_t s = 0; s < shape_.strip_count(); ++s) {
            const auto loaded = load(s);
            if (!loaded) return loaded.failure();
            if (residual()) update(s);
            for (std::uint32_t m = 0; m < shape_.data_count; ++m) add(s, m);
        }
        // One matrix after the other, however many rows of each come together.
        Found whole;
        for (const auto& found : found_) whole.add(found);
        return result_of(what_, whole);
    }

  private:
    bool residual() const { return what_ == Measure::residual; }
    // Where the strip lies that is measured; those above and below lie around it.
    std::byte *here(std::uint32_t m) const {
        return windows_[m].begin() + (m < shape_.data_count ? above_bytes_ : 0);
    }
    std::byte *below(std::uint32_t m) const { return here(m) + shape_.strip_rows * row_bytes_; }

    // Strip `s` and, of the data, the one below.
    Outcome load(std::uint64_t s) {
        const auto strip_bytes = shape_.strip_rows * row_bytes_;
        for (std::uint32_t m = 0; m < sources_.size(); ++m) {
            if (m >= shape_.data_count) {
                const auto read = sources_[m](s, here(m));
                if (!read) return read;
                continue;
            }
            if (s == 0) {
                const auto read = sources_[m](0, here(m));
                if (!read) return read;
            } else {
                std::memmove(windows_[m].begin(), windows_[m].begin() + strip_bytes,
                             above_bytes_ + strip_bytes);
            }
            if (s + 1 == shape_.strip_count()) continue;
            const auto read = sources_[m](s + 1, below(m));
            if (!read) return read;
        }
        return Done{};
    }

    void update(std::uint64_t s) {
        std::vector<std::byte *> places;
        for (std::uint32_t m = 0; m < shape_.matrix_count(); ++m) places.push_back(here(m));
        const auto rows = rows_in_strip(shape_, s);
        for (std::uint32_t m = 0; m < shape_.data_count; ++m) {
            std::memcpy(updated_[m].begin(), here(m), rows * row_bytes_);
            places.push_back(updated_[m].begin());
        }
        auto up = places;
        auto down = places;
        for (auto& place : up) place -= shape_.strip_rows * row_bytes_;
        for (auto& place : down) place += shape_.strip_rows * row_bytes_;
        const RowBlock row_block{.rows = shape_.rows,
                                 .columns = shape_.columns,
                                 .first_row = s * shape_.strip_rows,
                                 .row_count = rows,
                                 .rows_per_block = shape_.strip_rows,
                                 .data_count = shape_.data_count,
                                 .coefficient_count = shape_.coefficient_count,
                                 .above = up.data(),
                                 .here = places.data(),
                                 .below = down.data(),
                                 .scratch = nullptr,
                                 .row_bytes = static_cast<std::int64_t>(row_bytes_),
                                 .slant = 0,
                                 .reads = 0,
                                 .writes = shape_.matrix_count(),
                                 .iteration = iteration_};
        kernel_.advance({.row_blocks = &row_block, .stop = &stop_});
    }

    void add(std::uint64_t s, std::uint32_t m) {
        for (std::uint64_t row = 0; row < rows_in_strip(shape_, s); ++row) {
            const auto *const from = here(m) + row * row_bytes_;
            const auto *const to = residual() ? updated_[m].begin() + row * row_bytes_ : from;
            with_value_type(
                shape_.element, [&]<typename Value>(std::type_identity<Value> /*type*/) {
                    if constexpr (std::is_convertible_v<Value, double>)
                        add_row(what_, reinterpret_cast<const Value *>(from),
                                reinterpret_cast<const Value *>(to), shape_.columns, found_[m]);
                });
        }
    }

    MatrixShape shape_;
    Kernel kernel_;
    Measure what_;
    std::uint64_t iteration_;
    Stop stop_;
    std::uint64_t row_bytes_;
    std::uint64_t above_bytes_;
    std::vector<StripSource> sources_;
    std::vector<Memory> windows_; /* of data: rows above, a strip, and the one below */
    std::vector<Memory> updated_;
    std::vector<Found> found_; /* of each data matrix */
};

}  // namespace

Result<Measure> measure_named(const std::string& name) {
    std::string known;
    for (const auto& entry : entries) {
        if (name == entry.name) return entry.measure;
        known += (known.empty() ? "" : ", ") + std::string(entry.name);
    }
    return bad_argument("unknown measure \"" + name + "\"; use one of " + known);
}

const char *measure_name(Measure measure) {
    return std::find_if(std::begin(entries), std::end(entries),
                        [&](const Entry& entry) { return entry.measure == measure; })
        ->name;
}

Result<Until> parse_until(const std::string& text) {
    const auto refuse = [&] {
        return bad_argument(
            "\"" + text +
            "\" is not a condition; write it as residual<1e-8, or residual<1e-8*first "
            "for a share of the first residual");
    };
    const auto less = text.find('<');
    if (less == std::string::npos) return refuse();
    const auto measure = measure_named(text.substr(0, less));
    if (!measure) return measure.failure();
    auto bound = text.substr(less + 1);
    Until until{.measure = *measure};
    if (bound.starts_with(larger_prefix) && bound.ends_with(')')) {
        const auto comma = bound.find(',');
        if (comma == std::string::npos) return refuse();
        const auto atol = number_from(bound.substr(comma + 1, bound.size() - comma - 2));
        if (!atol) return refuse();
        until.atol = atol;
        bound = bound.substr(larger_prefix.size(), comma - larger_prefix.size());
    }
    if (bound.size() > relative_suffix.size() && bound.ends_with(relative_suffix)) {
        until.relative = true;
        bound.resize(bound.size() - relative_suffix.size());
    }
    const auto value = number_from(bound);
    if (!value) return refuse();
    until.value = *value;
    return until;
}

std::string until_text(const Until& until) {
    const auto value =
        number_text(until.value) + std::string(until.relative ? relative_suffix : "");
    const auto bound =
        until.atol ? std::string(larger_prefix) + value + "," + number_text(*until.atol) + ")"
                   : value;
    return measure_name(until.measure) + ("<" + bound);
}

Result<Until> until_within(double rtol, double atol) {
    for (const auto& [name, value] : {std::pair{"rtol", rtol}, std::pair{"atol", atol}}) {
        if (!std::isfinite(value) || value < 0.0)
            return bad_argument(std::string(name) + " " + std::to_string(value) +
                                " is not 0 or above");
    }
    if (rtol >= 1.0)
        return bad_argument("rtol " + std::to_string(rtol) +
                            " is met before the first iteration; give it less than 1");
    if (rtol == 0.0 && atol == 0.0)
        return bad_argument("rtol and atol are both 0; give one of them a value above it");
    return Until{.measure = Measure::residual, .value = rtol, .relative = rtol > 0.0, .atol = atol};
}

bool is_met(const Until& until, double measured, const std::optional<double>& first) {
    const auto share = until.value * (until.relative ? first.value_or(0.0) : 1.0);
    // No share of what is not finite is a bound.
    const auto bound = std::isfinite(share) ? share : 0.0;
    return until.atol ? measured <= std::max(bound, *until.atol) : measured < bound;
}

Outcome check_measured(const MatrixShape& shape, const Kernel& kernel) {
    if (numbers_of(shape.element) == Numbers::complex)
        return bad_argument(std::string("measures are of real and whole numbers, not of ") +
                            element_name(shape.element) + "; leave out the condition");
    const auto rows = by_rows(kernel);
    return rows ? Outcome(Done{}) : Outcome(rows.failure());
}

Result<double> measure(const Store& store, const Kernel& kernel, Measure what,
                       std::uint64_t iteration, const std::atomic<bool> *stop) {
    const auto possible = check_measured(store.shape(), kernel);
    if (!possible) return possible.failure();
    auto rows = by_rows(kernel);
    if (!rows) return rows.failure();
    MeasuredStrips strips(store, std::move(*rows), what, iteration, stop);
    const auto opened = strips.open(store);
    if (!opened) return opened.failure();
    try {
        const auto measured = strips.all();
        if (stop_asked(stop)) return Failure{LW_ERR_OPERATION, stopped_sentence};
        return measured;
    } catch (const KernelFailure& failed) {
        return Failure{LW_ERR_OPERATION, failed.what()};
    }
}

std::uint64_t measure_bytes(const MatrixShape& stored, std::uint32_t radius) {
    const auto row = stored.columns * element_bytes(stored.element);
    const auto data = radius + 3 * stored.strip_rows;
    const auto rows = stored.data_count * data + stored.coefficient_count * stored.strip_rows;
    return rows * row + stored.matrix_count() * (tiles_read * tile_bytes(stored) +
                                                 stored.strip_rows * stored.tile_columns *
                                                     element_bytes(stored.element));
}

}  // namespace lanewise::wavefront
