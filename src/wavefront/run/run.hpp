// SPDX-License-Identifier: BSD-3-Clause
//
// Run: as many passes as the iterations need, each committed when it is complete.
//
// A run that is killed at any moment leaves the data of the last whole pass; `resume`
// continues from there. With a tolerance the run ends at exactly the iteration at which
// the sequential loop would: a pass in which an earlier wave converged is discarded and
// run again with fewer waves. Where iterations go in several directions, as many as there are
// have to leave every cell within the tolerance: what one brings nowhere another may.

#pragma once

#include <atomic>
#include <functional>
#include <optional>

#include "wavefront/kernel/kernel.hpp"
#include "wavefront/plan/plan.hpp"
#include "wavefront/run/measure.hpp"
#include "wavefront/run/pass.hpp"
#include "wavefront/store/store.hpp"

namespace lanewise::wavefront {

struct RunProgress {
    std::uint64_t iterations_done = 0; /* of this run, in whole passes */
    std::uint64_t iterations_wanted = 0;
    PassProgress pass;
    double elapsed_s = 0.0;
};

/* Between two iterations. */
struct Pause {
    std::uint64_t iterations = 0; /* of this run, of what was resumed too */
    Measure measure = Measure::residual;
    std::optional<double> measured{}; /* none where no condition asks for it */
};

/* Iterations between two evaluations of a condition where nothing else is said. */
inline constexpr std::uint64_t asked_every = 32;

struct RunOptions {
    std::uint64_t iterations = 1;
    std::uint64_t memory_bytes = std::uint64_t{1} << 30;
    std::uint32_t threads = 0; /* 0: the processors this program may use */
    std::uint64_t waves = 0;   /* 0: chosen by the plan */
    double tolerance = no_tolerance;
    std::uint64_t cache_bytes = 0; /* of one processor; 0: what the system says */
    QueueKind queue = QueueKind::automatic;
    /* Wraps the queue, for tests that inject faults; may be empty. */
    std::function<std::unique_ptr<DiskQueue>(std::unique_ptr<DiskQueue> queue)> wrap_queue{};
    Finite finite = Finite::assumed;
    Rates rates;
    Directions directions{Direction{}}; /* of the iterations of the run, from its first one on */
    Borders borders{};
    std::uint64_t iterations_done = 0;  /* of a run that is resumed */
    std::uint64_t still_iterations = 0; /* of those, the last ones within the tolerance */
    /* Passes end after each so many iterations of the run; 0: only where a pass is full. */
    std::uint64_t pause_every = 0;
    std::optional<Until> until{};          /* asked at each pause and at the end */
    std::optional<double> first_measure{}; /* of a run that is resumed */
    bool pause_pending = false;            /* the same: its last pause was not finished */
    std::function<Outcome(const Pause& pause)> paused{}; /* the data are committed; may be empty */
    std::string snapshots{}; /* the folder that `paused` writes to, for who resumes; empty: none */
    HaloExchange *halo_exchange = nullptr; /* of a part; its passes end at multiples of `waves` */
    std::uint64_t first_row = 0;           /* of a part, in the whole store */
    ParallelogramPlace place{};            /* of a part in tiles; its parallelograms are so wide: */
    std::uint64_t parallelogram_vectors = 0;
    /* Iterations beyond which other parts have continued: no part had converged before them. */
    std::uint64_t tested_from = 0;
    std::function<void(const RunProgress& progress)> progress{}; /* may be empty */
    const std::atomic<bool> *stop = nullptr; /* once true, the run ends and commits nothing more */
};

struct RunReport {
    std::uint64_t iterations = 0; /* that this run added */
    bool converged = false;
    double last_change = 0.0;             /* of the last iteration, where a tolerance was given */
    std::optional<double> last_measure{}; /* the last one that `until` asked for */
    std::uint64_t waves = 0;
    std::uint64_t passes = 0; /* discarded ones included */
    std::uint32_t threads = 0;
    std::uint64_t read_bytes = 0;
    std::uint64_t written_bytes = 0;
    std::uint64_t planned_memory_bytes = 0;
    std::uint64_t peak_memory_bytes = 0;
    double elapsed_s = 0.0;
    std::string queue;
    Caching caching = Caching::bypassed;
};

/* How the strips went to and from the disk, such as "io_uring" or "threads, page cache". */
std::string io_text(const RunReport& report);
/* What the user is to know about that, such as where the budget does not bound what the program
 * takes; empty: nothing. */
std::string io_note(const RunReport& report, const Store& store);

/* What is asked of the plan of a run of `kernel` over a store of `stored`. */
Request request_for(const MatrixShape& stored, const Kernel& kernel, const RunOptions& options,
                    std::uint64_t disks = 1);

/* The plan of a run of `kernel` over a store of `stored`, which it must suit, on so many disks. */
Result<Plan> plan_run(const MatrixShape& stored, const Kernel& kernel, const RunOptions& options,
                      std::uint64_t disks = 1);
/* The rows above and below that a row is updated from by the kernel that `store` was made for; 1
 * where it was made for none. */
Result<std::uint64_t> usual_radius(const Store& store);

/* Whether parts of a store can be run so: they go down and right, without pauses, and none holds
 * both ends of a column. */
Outcome check_options_of_parts(const RunOptions& options);
/* The plan that `run` would follow. */
Result<Plan> plan_run(const Store& store, const Kernel& kernel, const RunOptions& options);

/* What a manifest says of a run over data of so many iterations, so that one that is killed can be
 * resumed. */
RunEntry entry_of(const Kernel& kernel, const RunOptions& options, std::uint64_t iterations);
/* The kernel of the run in the store's manifest; refuses one of a program's own. */
Result<Kernel> kernel_of_run(const Store& store);
/* Whether the run in the store's manifest, which has one, is of `kernel`. */
Outcome check_kernel_of_run(const Store& store, const Kernel& kernel);

Result<RunReport> run(Store& store, const Kernel& kernel, const RunOptions& options);

/* Resumes the run that the manifest records; LW_ERR_NOT_FOUND where there is none. */
Result<RunReport> resume(Store& store, const RunOptions& options);

/* The same with a user's kernel, which must have the same name as before. */
Result<RunReport> resume(Store& store, const Kernel& kernel, const RunOptions& options);

std::uint32_t processor_count();
/* The size of a processor's second-level cache. */
std::uint64_t cache_bytes();

}  // namespace lanewise::wavefront
