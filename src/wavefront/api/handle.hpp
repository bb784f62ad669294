// SPDX-License-Identifier: BSD-3-Clause
//
// What the functions of the C API of the wavefront share: the open store, and what a program gives
// and gets as values of Lanewise. No exception goes across.

#pragma once

#include <lanewise/wavefront.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <initializer_list>
#include <vector>

#include "base/caught.hpp"
#include "wavefront/run/run.hpp"
#include "wavefront/store/store.hpp"

struct lw_wavefront {
    lanewise::wavefront::Store store;
    lw_wavefront_report_fn report;
    void *report_context;
    mutable std::atomic<bool> stop{false};
    mutable std::atomic<int> calls{0};   /* under way, one within the other or on other threads */
    mutable std::atomic<int> changes{0}; /* of those, what writes or runs */
};

namespace lanewise::wavefront::api {

// While one lives, a call is under way that lw_wavefront_stop ends. What was asked before the
// outermost one began is not for it.
class UnderWay {
  public:
    explicit UnderWay(const lw_wavefront& store) : store_(store) {
        if (store_.calls++ == 0) store_.stop = false;
    }
    ~UnderWay() { --store_.calls; }
    UnderWay(const UnderWay&) = delete;
    UnderWay& operator=(const UnderWay&) = delete;

  private:
    const lw_wavefront& store_;
};

// While one lives, a call is under way that changes the store, of which there may be one only.
class Changing {
  public:
    explicit Changing(const lw_wavefront& store) : store_(store), is_only_(store.changes++ == 0) {}
    ~Changing() { --store_.changes; }
    Changing(const Changing&) = delete;
    Changing& operator=(const Changing&) = delete;

    Outcome check() const;

  private:
    const lw_wavefront& store_;
    bool is_only_;
};

lw_status report_failure(lw_wavefront_report_fn report, void *context, const Failure& failure);
lw_status report_failure(const lw_wavefront *store, const Failure& failure);

// The failure of a call that was passed NULL as `name`.
Failure null_argument(const char *name);

// Runs `act`, which returns an Outcome, and turns what it throws into a status.
template <typename Act>
lw_status guarded(lw_wavefront_report_fn report, void *context, const Act& act) {
    constexpr SaysOfThrown says{
        .no_memory = "out of memory; give a smaller budget",
        .no_exception =
            "a function of the program, which the call runs, threw what is no std::exception; let "
            "it return a failure"};
    const Outcome outcome = caught(says, act);
    return outcome ? LW_OK : report_failure(report, context, outcome.failure());
}

template <typename Act>
lw_status guarded(const lw_wavefront *store, const Act& act) {
    return guarded(store->report, store->report_context, act);
}

// What a program gives that was compiled before the last members were there, the rest being the
// defaults; `older_bytes` are the sizes of earlier versions.
template <typename Given>
bool take_over(const Given *given, std::initializer_list<std::size_t> older_bytes, Given& taken) {
    if (!given) return false;
    const bool older =
        std::find(older_bytes.begin(), older_bytes.end(), given->struct_size) != older_bytes.end();
    if (!older && given->struct_size != sizeof *given) return false;
    std::memcpy(&taken, given, given->struct_size);
    return true;
}

/* A shape as a program gives it, and the layout that it names. */
struct GivenShape {
    lw_wavefront_shape shape;
    const Layout *layout;
};
Result<GivenShape> shape_given(const lw_wavefront_shape *wanted);
Result<MatrixShape> shape_from(const lw_wavefront_shape *wanted);

Result<RunOptions> options_from(const MatrixShape& shape, const lw_wavefront_run_options *wanted);
/* Of a call on `store`, which lw_wavefront_stop ends. Also refuses an `outcome` of another size. */
Result<RunOptions> options_from(const lw_wavefront& store, const lw_wavefront_run_options *wanted,
                                const lw_wavefront_outcome *outcome);

/* A kernel for stores of `shape`, whose coefficients by row and column are `vectors`. `first_row`:
 * the number of the store's first row, where it is a part. */
Result<Kernel> kernel_from(const lw_wavefront_kernel& wanted, const MatrixShape& shape,
                           std::vector<std::vector<std::byte>> vectors, std::int64_t first_row);
/* The same, with the vectors of `store`. */
Result<Kernel> kernel_from(const lw_wavefront_kernel& wanted, const Store& store,
                           std::int64_t first_row);

Outcome give(const Result<RunReport>& report, lw_wavefront_outcome *outcome);

}  // namespace lanewise::wavefront::api
