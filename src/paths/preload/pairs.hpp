// SPDX-License-Identifier: BSD-3-Clause
//
// The devices of one port that the program has opened, each with the second device that carries its
// queue pairs as well (paths/carried).

#pragma once

#include <infiniband/verbs.h>

#include <memory>
#include <mutex>
#include <string>

#include "paths/carried/device_pair.hpp"
#include "paths/preload/event_queue.hpp"
#include "paths/preload/report.hpp"
#include "paths/preload/settings.hpp"

namespace lanewise::paths::preload {

// The verbs behind the interposer that programs call for objects of pairs.
struct PairCalls {
    carried::Verbs verbs;
    ibv_mr *(*reg_mr)(ibv_pd *, void *, std::size_t, int) = nullptr;
    ibv_mr *(*reg_mr_iova)(ibv_pd *, void *, std::size_t, std::uint64_t, int) = nullptr;
    int (*rereg_mr)(ibv_mr *, int, ibv_pd *, void *, std::size_t, int) = nullptr;
    int (*query_qp)(ibv_qp *, ibv_qp_attr *, int, ibv_qp_init_attr *) = nullptr;
    ibv_srq *(*create_srq)(ibv_pd *, ibv_srq_init_attr *) = nullptr;
    int (*modify_srq)(ibv_srq *, ibv_srq_attr *, int) = nullptr;
    int (*query_srq)(ibv_srq *, ibv_srq_attr *) = nullptr;
    int (*destroy_srq)(ibv_srq *) = nullptr;
    // An old library has none of these.
    int (*query_ece)(ibv_qp *, ibv_ece *) = nullptr;
    int (*set_ece)(ibv_qp *, ibv_ece *) = nullptr;
    ibv_qp_ex *(*qp_to_qp_ex)(ibv_qp *) = nullptr;
    int (*query_qp_data_in_order)(ibv_qp *, ibv_wr_opcode, std::uint32_t) = nullptr;
    ibv_mr *(*reg_dmabuf_mr)(ibv_pd *, std::uint64_t, std::size_t, std::uint64_t, int,
                             int) = nullptr;
};

// Looked up when first used; ends the program with one line if there is no libibverbs.
const PairCalls& pair_calls();

struct Pair {
    EventQueue event_queue;
    std::unique_ptr<carried::DevicePair> devices;
};

// What a pair tells the rest of the interposer.
struct PairSettings {
    ProtectSettings protection;
    void (*note)(const Notice&) = nullptr;
};

// Pairs the device of `context` with another one; null if it is not one of several with one port
// each. A failure says why it cannot be.
Result<std::shared_ptr<Pair>> make_pair(ibv_context *context, const PairSettings& settings);

// The pair that the program's context belongs to; null if there is none.
std::shared_ptr<Pair> pair_on(ibv_context *context);
using PairReport = carried::PairCounters;
// Takes a pair out, if there is one; returns what it has done.
PairReport close_pair(ibv_context *context);
// At the end of the process: says good-bye to the peers; returns what all pairs have done.
PairReport end_pairs();
// In a child: all pairs belong to the parent.
void leave_pairs_to_parent();

}  // namespace lanewise::paths::preload
