// SPDX-License-Identifier: BSD-3-Clause
//
// The version, from the one file that states it.

#include <lanewise/status.h>

const char *lw_version(void) {
    return LANEWISE_VERSION;
}
