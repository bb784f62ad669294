/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A shared object with user operations, as a user would write one: the test of
 * lw_operation_load opens it.
 */
#include <lanewise/operation.h>

static int execute(void *state) {
    (void)state;
    return 0;
}

LW_API extern const lw_operation_callbacks well_formed;
const lw_operation_callbacks well_formed = {
    sizeof(lw_operation_callbacks), "well_formed", 0, execute, 0, 0};

LW_API extern const lw_operation_callbacks without_execute;
const lw_operation_callbacks without_execute = {
    sizeof(lw_operation_callbacks), "without_execute", 0, 0, 0, 0};

LW_API extern const lw_operation_callbacks of_another_version;
const lw_operation_callbacks of_another_version = {4, "of_another_version", 0, execute, 0, 0};
