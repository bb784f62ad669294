/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Makes ranks of MPICH that wait give way, where tests run more of them than
 * there are processors.  Open MPI has an option for that; MPICH over UCX polls
 * without end, so that each message costs a time slice of every other rank.
 * Loaded before the libraries of a test (LD_PRELOAD), never part of Lanewise.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>

unsigned ucp_worker_progress(void *worker);

unsigned ucp_worker_progress(void *worker) {
    static unsigned (*progress)(void *);
    if (!progress) *(void **)&progress = dlsym(RTLD_NEXT, "ucp_worker_progress");
    const unsigned events = progress(worker);
    if (events == 0) sched_yield();
    return events;
}
