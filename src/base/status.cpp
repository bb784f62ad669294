// SPDX-License-Identifier: BSD-3-Clause
//
// The texts of the statuses.

#include <lanewise/status.h>

const char *lw_status_text(lw_status status) {
    switch (status) {
        case LW_OK: return "success";
        case LW_ERR_ARGUMENT: return "a value cannot be used";
        case LW_ERR_LIMIT: return "beyond a limit of the MPI or the machine";
        case LW_ERR_MEMORY: return "out of memory";
        case LW_ERR_MPI: return "the MPI library failed";
        case LW_ERR_OPERATION: return "the user's operation failed";
        case LW_ERR_NOT_FOUND: return "not found";
        case LW_ERR_UNSUPPORTED: return "not supported here";
        case LW_ERR_IO: return "a file could not be read or written";
    }
    return "unknown status";
}
