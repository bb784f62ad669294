/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The best local alignment of two sequences (Smith and Waterman, 1981): a table of dynamic
 * programming that need not fit into memory, in one pass over the disk.
 *
 *     $ alignment [ACACACTA AGCACACA]
 *
 * The coefficient matrix holds the score of each pair of letters, within a border of zeros; one
 * iteration of the kernel fills the table.
 */
#define _POSIX_C_SOURCE 200809L

#include <lanewise/wavefront.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const double match = 3, mismatch = -3, gap = 2;

struct pair {
    const char *down, *across;
    uint64_t columns;
    double best;
};

static int scores(void *context, uint64_t first, uint64_t count, void *rows) {
    const struct pair *pair = context;
    double *at = rows;
    for (uint64_t i = first; i < first + count; ++i) {
        for (uint64_t j = 0; j < pair->columns; ++j) {
            const int inside = i > 0 && j > 0 && i <= strlen(pair->down) && j + 1 < pair->columns;
            *at++ = !inside ? 0 : pair->down[i - 1] == pair->across[j - 1] ? match : mismatch;
        }
    }
    return 0;
}

static int zeros(void *context, uint64_t first, uint64_t count, void *rows) {
    const struct pair *pair = context;
    (void)first;
    memset(rows, 0, count * pair->columns * sizeof(double));
    return 0;
}

static int find_best(void *context, uint64_t first, uint64_t count, const void *rows) {
    struct pair *pair = context;
    const double *table = rows;
    (void)first;
    for (uint64_t i = 0; i < count * pair->columns; ++i)
        if (table[i] > pair->best) pair->best = table[i];
    return 0;
}

static void complain(void *context, lw_status status, const char *sentence) {
    (void)context, (void)status;
    fprintf(stderr, "alignment: %s\n", sentence);
}

int main(int argc, char **argv) {
    struct pair pair = {argc > 2 ? argv[1] : "GGTTGACTA", argc > 2 ? argv[2] : "TGTTACGG", 0, 0};
    char parent[] = "/tmp/alignment-XXXXXX", folder[64];
    if (!mkdtemp(parent)) return 1;
    snprintf(folder, sizeof folder, "%s/store", parent);

    lw_wavefront_shape shape = LW_WAVEFRONT_SHAPE;
    shape.rows = strlen(pair.down) + 2;
    shape.columns = pair.columns = strlen(pair.across) + 2;
    shape.coefficient_count = 1;
    lw_wavefront *store = NULL;
    lw_status status = lw_wavefront_create(folder, &shape, complain, NULL, &store);
    if (status == LW_OK) status = lw_wavefront_write(store, 0, zeros, &pair);
    if (status == LW_OK) status = lw_wavefront_write(store, 1, scores, &pair);
    lw_wavefront_run_options options = LW_WAVEFRONT_RUN_OPTIONS;
    if (status == LW_OK)
        status = lw_wavefront_run(store, "smith-waterman", &gap, 1, &options, NULL);
    if (status == LW_OK) status = lw_wavefront_read(store, 0, find_best, &pair);
    lw_wavefront_close(store);
    if (status == LW_OK) printf("the best local alignment scores %g\n", pair.best);

    char command[128];
    snprintf(command, sizeof command, "rm -r %s", parent);
    if (system(command) != 0) return 1;
    /* The textbook's example: 13 for GTT-AC within GTTGAC. */
    return status == LW_OK && (argc > 2 || pair.best == 13) ? 0 : 1;
}
