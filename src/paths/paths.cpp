// SPDX-License-Identifier: BSD-3-Clause
//
// The C interface of this part, lanewise/paths.h.

#include <dlfcn.h>
#include <lanewise/paths.h>

#include <memory>

#include "base/caught.hpp"
#include "paths/protection.hpp"

using lanewise::caught;
using lanewise::Failure;
using lanewise::Outcome;
using lanewise::Result;
using namespace lanewise::paths;

struct lw_paths {
    lw_paths_options options;
    std::unique_ptr<Protection> protection;
};

namespace {

lw_status report(const lw_paths_options& options, const Failure& failure) {
    if (options.report) {
        options.report(options.callback_context, failure.status, failure.sentence.c_str());
    }
    return failure.status;
}

// Runs `act`, which returns an Outcome, and turns whatever happens into a status.
template <typename Act>
lw_status guarded(const lw_paths_options& options, const Act& act) {
    const Outcome outcome = caught({.status = LW_ERR_LIMIT}, act);
    return outcome ? LW_OK : report(options, outcome.failure());
}

// The verbs that this library is linked to, and one that an old libibverbs lacks.
Calls linked_calls() {
    auto *const query_gid_ex = reinterpret_cast<GidEntryQuery *>(
        ::dlvsym(RTLD_DEFAULT, "_ibv_query_gid_ex", "IBVERBS_1.11"));
    return {ibv_modify_qp, ibv_query_qp,        ibv_query_device,   ibv_query_gid,
            query_gid_ex,  ibv_get_async_event, ibv_ack_async_event};
}

Outcome fill(const lw_paths_options& from, ProtectionOptions& to) {
    if (from.policy < LW_PATHS_STAY || from.policy > LW_PATHS_BALANCE ||
        from.failback_delay_ns < 0 || from.settle_ns < 0) {
        return Failure{LW_ERR_ARGUMENT, "the policy is unknown or a time is negative"};
    }
    if (from.initiative != LW_PATHS_AUTOMATIC && from.initiative != LW_PATHS_MANUAL) {
        return Failure{LW_ERR_ARGUMENT,
                       "the initiative is unknown; say LW_PATHS_AUTOMATIC or LW_PATHS_MANUAL"};
    }
    to.rules.policy = static_cast<Policy>(from.policy);
    to.rules.failback_delay_ns = from.failback_delay_ns;
    to.rules.settle_ns = from.settle_ns;
    to.rules.initiative =
        from.initiative == LW_PATHS_MANUAL ? Initiative::manual : Initiative::automatic;
    if (from.path_file) {
        Result<Directory> directory = load_directory(from.path_file);
        if (!directory) return directory.failure();
        to.directory = std::move(*directory);
    }
    to.notice = [from](const Notice& notice) {
        if (notice.failure) report(from, *notice.failure);
        if (!from.notice) return;
        from.notice(from.callback_context, static_cast<lw_paths_notice>(notice.kind),
                    notice.queue_pair, notice.port, notice.at);
    };
    if (from.other) {
        to.forward = [from](const ibv_async_event& event) {
            from.other(from.callback_context, &event);
            return false;
        };
    }
    return lanewise::Done{};
}

template <typename Module>
lw_status for_each(lw_paths *paths, ibv_qp *const *qps, std::size_t count, const Module& module) {
    lw_status first = LW_OK;
    for (std::size_t i = 0; i < count; ++i) {
        const lw_status status = guarded(paths->options, [&] { return module(qps[i]); });
        if (first == LW_OK) first = status;
    }
    return first;
}

}  // namespace

lw_status lw_paths_open(ibv_context *context, const lw_paths_options *options, lw_paths **paths) {
    if (!context || !options || !paths || options->struct_size != sizeof *options) {
        return LW_ERR_ARGUMENT;
    }
    return guarded(*options, [&]() -> Outcome {
        const Calls calls = linked_calls();
        if (const Outcome fits = check_device(context, calls); !fits) return fits;
        ProtectionOptions made;
        if (const Outcome filled = fill(*options, made); !filled) return filled;
        auto opened = Protection::open(context, calls, std::move(made));
        if (!opened) return opened.failure();
        *paths = new lw_paths{*options, std::move(*opened)};
        return lanewise::Done{};
    });
}

void lw_paths_close(lw_paths *paths) {
    delete paths;
}

lw_status lw_paths_add(lw_paths *paths, ibv_qp *qp) {
    if (!paths || !qp) return LW_ERR_ARGUMENT;
    return guarded(paths->options, [&] { return paths->protection->changed(qp); });
}

void lw_paths_remove(lw_paths *paths, ibv_qp *qp) {
    if (paths && qp) paths->protection->forget(qp);
}

lw_status lw_paths_specify(lw_paths *paths, ibv_qp *qp, const lw_path *alternate) {
    if (!paths || !qp || (alternate && alternate->struct_size != sizeof *alternate)) {
        return LW_ERR_ARGUMENT;
    }
    std::optional<Alternate> given;
    if (alternate) {
        given = Alternate{alternate->address, alternate->pkey_index, alternate->timeout};
    }
    return guarded(paths->options, [&] { return paths->protection->specify(qp, given); });
}

lw_status lw_paths_load(lw_paths *paths, ibv_qp *const *qps, size_t count) {
    if (!paths || (count && !qps)) return LW_ERR_ARGUMENT;
    return for_each(paths, qps, count, [&](ibv_qp *qp) { return paths->protection->load(qp); });
}

lw_status lw_paths_migrate(lw_paths *paths, ibv_qp *const *qps, size_t count) {
    if (!paths || (count && !qps)) return LW_ERR_ARGUMENT;
    return for_each(paths, qps, count, [&](ibv_qp *qp) { return paths->protection->migrate(qp); });
}

lw_status lw_paths_query(lw_paths *paths, ibv_qp *qp, lw_paths_state *state) {
    if (!paths || !qp || !state || state->struct_size != sizeof *state) return LW_ERR_ARGUMENT;
    return guarded(paths->options, [&]() -> Outcome {
        const Result<Snapshot> found = paths->protection->query(qp);
        if (!found) return found.failure();
        *state = {sizeof *state,
                  static_cast<ibv_qp_state>(found->communication),
                  static_cast<ibv_mig_state>(found->path),
                  found->port,
                  found->alternate_port,
                  found->home_port,
                  found->since,
                  found->counters.loads,
                  found->counters.loads_refused,
                  found->counters.armed,
                  found->counters.migrations,
                  found->counters.commanded,
                  found->counters.returns,
                  found->counters.errors};
        return lanewise::Done{};
    });
}
