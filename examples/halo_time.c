/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How long communication will take on more ranks than you have: the algorithms
 * of a scatter, and the halo exchange of a ring, which is a schedule of your own.
 *
 *     lanewise model fit --measure -n 4 -o platform.json
 *     ./halo_time platform.json 1024 65536
 *
 * The arguments are a platform, the ranks, and the bytes of a message.
 */
#include <lanewise/model.h>
#include <stdio.h>
#include <stdlib.h>

static void print_sentence(void *context, lw_status status, const char *sentence) {
    (void)context;
    fprintf(stderr, "%s: %s\n", lw_status_text(status), sentence);
}

/* Every rank sends to both of its neighbours and receives from both. */
static lw_status build_halo_exchange(int ranks, uint64_t message_bytes, lw_schedule **ring) {
    lw_status status = lw_schedule_create(ranks, print_sentence, NULL, ring);
    for (int rank = 0; status == LW_OK && rank < ranks; ++rank) {
        const int neighbours[] = {(rank + 1) % ranks, (rank + ranks - 1) % ranks};
        for (int i = 0; status == LW_OK && i < 4; ++i) {
            lw_step step = LW_STEP;
            step.kind = i < 2 ? LW_STEP_SEND : LW_STEP_RECEIVE;
            step.peer = neighbours[i % 2];
            step.bytes = message_bytes;
            status = lw_schedule_add(*ring, rank, &step, NULL);
        }
    }
    return status;
}

static void print_models(const lw_platform *platform) {
    lw_model_description model = LW_MODEL_DESCRIPTION;
    for (size_t i = 0; lw_model_describe(platform, i, &model) == LW_OK; ++i) {
        printf("model %s: off by %.1f %% at %zu held-out points%s\n", model.name,
               100.0 * model.held_out_error, model.held_out_points, model.best ? ", best" : "");
    }
}

int main(int argc, char **argv) {
    if (argc != 4) {
        fprintf(stderr, "usage: %s platform.json RANKS MESSAGE_BYTES\n", argv[0]);
        return 2;
    }
    const int ranks = atoi(argv[2]);
    const uint64_t message_bytes = strtoull(argv[3], NULL, 10);
    lw_model_options options = LW_MODEL_OPTIONS;
    options.report = print_sentence;
    lw_platform *platform = NULL;
    lw_schedule *ring = NULL;
    double time_s = 0.0;

    lw_status status = lw_model_read(argv[1], &options, &platform);
    if (status == LW_OK) print_models(platform);

    const char *const algorithms[] = {"linear", "binomial"};
    for (size_t i = 0; status == LW_OK && i < 2; ++i) {
        lw_model_call call = LW_MODEL_CALL;
        call.collective = "scatter";
        call.algorithm = algorithms[i];
        call.ranks = ranks;
        call.message_bytes = message_bytes;
        status = lw_model_predict(platform, &call, &options, &time_s);
        if (status == LW_OK) printf("scatter %s: %.9g s\n", algorithms[i], time_s);
    }

    if (status == LW_OK) status = build_halo_exchange(ranks, message_bytes, &ring);
    if (status == LW_OK) status = lw_model_price(platform, ring, &options, &time_s, NULL);
    if (status == LW_OK) printf("halo exchange: %.9g s\n", time_s);

    lw_schedule_free(ring);
    lw_model_free(platform);
    return status == LW_OK ? 0 : 1;
}
