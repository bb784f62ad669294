// SPDX-License-Identifier: BSD-3-Clause
//
// Passive put: the root puts and flushes while the rank after it works, without
// a call to the MPI, as long as the put takes when that rank waits in the MPI.
// Where the target need do nothing, the time is that of the put; where it must
// enter the MPI first, it is twice that (IMB-RMA's Truly_passive_put).

#include <algorithm>

#include "measure/benchmarks/one_sided.hpp"
#include "measure/work.hpp"

namespace lanewise::measure {
namespace {

constexpr int tag = 19;

int put_and_tell(Exchange& e) {
    const auto window = state_of<Window>(e).window;
    return first_failure({put_message(e, partner(e), 0), MPI_Win_flush(partner(e), window),
                          answer(e, partner(e), tag)});
}

int passive_put(Exchange& e) {
    if (e.rank == e.root) return put_and_tell(e);
    if (e.rank != partner(e)) return MPI_SUCCESS;
    work(state_of<Window>(e).steps);
    return hear(e, e.root, tag);
}

// The least of some times of the put alone, which the root tells the others.
int calibrate(Exchange& e) {
    constexpr int trials = 7;
    const auto clock = monotonic_clock();
    int code = create_locked(e, e.receive, 1);
    double alone_s = 1e300;
    for (int i = 0; i < trials && code == MPI_SUCCESS; ++i) {
        code = MPI_Barrier(e.comm);
        const double begin_s = clock.now_s();
        if (e.rank == e.root) code = first_failure({code, put_and_tell(e)});
        if (e.rank == partner(e)) code = first_failure({code, hear(e, e.root, tag)});
        alone_s = std::min(alone_s, clock.now_s() - begin_s);
    }
    if (code != MPI_SUCCESS) return code;
    code = MPI_Bcast(&alone_s, 1, MPI_DOUBLE, e.root, e.comm);
    state_of<Window>(e).steps = steps_for(alone_s, calibrate_work_s(clock));
    return code;
}

}  // namespace

Entries passive_kernels() {
    return {{.name = "passive_put", .shape = all_ranks(Blocks::one, Blocks::one),
             .call = passive_put, .ranks_min = 2, .prepare = calibrate, .lacks = work_lacks}};
}

}  // namespace lanewise::measure
