// SPDX-License-Identifier: BSD-3-Clause
//
// Attend: one intercepted call on a communicator that has rules or is reported
// on. The call is carried out by its rule, or passed on to what lies below.
// What decides is known to every rank alike; what is not valid is passed on, so
// that the MPI itself complains.

#pragma once

#include <cstdint>
#include <optional>

#include "collectives/choose.hpp"
#include "collectives/execute/execute.hpp"
#include "collectives/tuned/agreement.hpp"
#include "collectives/tuned/report.hpp"

namespace lanewise::tuned {

/* The size that rules go by, from what is significant on this rank. None: not a valid call. */
std::optional<std::uint64_t> message_bytes(const collectives::Call& call, const Standing& standing);

/* What to do with a call. */
struct Decision {
    std::uint64_t message_bytes = 0;
    const collectives::Rule *rule = nullptr; /* null: pass it on */
    bool sampled = false;                    /* pass it on, and time it */
    bool valid = false;
};
Decision decide(const collectives::Call& call, Calling calling, Standing& standing);

/* Carries the call out. False on every rank alike where the rule's algorithm cannot. */
bool carry_out(const collectives::Call& call, const Decision& decision, int& code);

/* Starts the call, likewise. */
bool begin(const collectives::Call& call, const Decision& decision, MPI_Request *request,
           int& code);

/* While it lives, calls that this thread makes are not intercepted again. */
class Inside {
  public:
    Inside() { inside = true; }
    ~Inside() { inside = false; }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;
};

template <typename PassOn>
int attend(Standing& standing, const collectives::Call& call, const PassOn& pass_on) {
    const Inside here;
    const Decision decision = decide(call, Calling::blocking, standing);
    const std::int64_t begin_ns = reports() ? now_ns() : 0;
    int code = MPI_SUCCESS;
    Outcome outcome = Outcome::passed;
    if (decision.rule && !decision.sampled && carry_out(call, decision, code)) {
        outcome = Outcome::taken;
    } else {
        if (decision.sampled) outcome = Outcome::sampled;
        code = pass_on();
    }
    if (reports() && decision.valid) {
        record(call.collective, decision.message_bytes, decision.rule, outcome,
               now_ns() - begin_ns);
    }
    return code;
}

/* A nonblocking call. How long it takes lies in what the program does meanwhile: only counted. */
template <typename PassOn>
int attend(Standing& standing, const collectives::Call& call, MPI_Request *request,
           const PassOn& pass_on) {
    const Inside here;
    const Decision decision = decide(call, Calling::nonblocking, standing);
    int code = MPI_SUCCESS;
    const bool taken = decision.rule && request && begin(call, decision, request, code);
    if (!taken) code = pass_on();
    if (reports() && decision.valid) {
        record({call.collective, Calling::nonblocking}, decision.message_bytes, decision.rule,
               taken ? Outcome::taken : Outcome::passed, 0);
    }
    return code;
}

}  // namespace lanewise::tuned
