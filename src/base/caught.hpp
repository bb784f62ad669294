// SPDX-License-Identifier: BSD-3-Clause
//
// The border of the C interface, which no exception crosses: what a call throws becomes a failure,
// to be reported outside of it. A report is a function of the program, and what it throws is not
// the call's.

#pragma once

#include <exception>
#include <new>

#include "base/result.hpp"

namespace lanewise {

/* What a call says of what it throws. */
struct SaysOfThrown {
    const char *no_memory = "out of memory";
    lw_status status = LW_ERR_OPERATION; /* of other exceptions, which say what they are of */
    const char *no_exception = "the call ended by what is no std::exception";
};

/* Runs `act`, which returns an Outcome, and makes a failure of what it throws. */
template <typename Act>
Outcome caught(const SaysOfThrown& says, const Act& act) {
    try {
        return act();
    } catch (const std::bad_alloc&) {
        return Failure{LW_ERR_MEMORY, says.no_memory};
    } catch (const std::exception& error) {
        return Failure{says.status, error.what()};
    } catch (...) {
        return Failure{says.status, says.no_exception};
    }
}

}  // namespace lanewise
