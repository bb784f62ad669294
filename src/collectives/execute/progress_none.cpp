// SPDX-License-Identifier: BSD-3-Clause
//
// An MPI that calls nobody from within its own calls: nothing goes on by itself.

#include "collectives/execute/progress.hpp"

namespace lanewise::collectives {

Progress progress_here() {
    return Progress::never;
}

void start_polling(Poll) {}

void stop_polling() {}

int make_request(const RequestFunctions&, void *, MPI_Request *) {
    return MPI_ERR_OTHER;
}

bool may_nest() {
    return true;
}

bool are_complete(std::span<const MPI_Request>) {
    return false;
}

}  // namespace lanewise::collectives
