// SPDX-License-Identifier: BSD-3-Clause
//
// The receive requests of a program, of one queue pair or shared. They stay here: the hardware
// receives into memory of the carrier, from where data is copied to where the next request says.

#pragma once

#include <infiniband/verbs.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "paths/carried/send_log.hpp"

namespace lanewise::paths::carried {

class DevicePair;
class QueuePair;

struct Receive {
    std::uint64_t id = 0;
    std::vector<Piece> pieces;
};

class Receives {
  public:
    Receives(std::uint32_t limit, std::uint32_t pieces_limit)
        : limit_(limit), pieces_limit_(std::max(pieces_limit, 1U)) {}

    // 0 or an errno.
    int add(const ibv_recv_wr& work) {
        if (work.num_sge < 0 || static_cast<std::uint32_t>(work.num_sge) > pieces_limit_) {
            return EINVAL;
        }
        if (waiting_.size() >= limit_) return ENOMEM;
        Receive made;
        made.id = work.wr_id;
        for (int i = 0; i < work.num_sge; ++i) {
            const ibv_sge& piece = work.sg_list[i];
            made.pieces.push_back({piece.addr, piece.length, piece.lkey});
        }
        waiting_.push_back(std::move(made));
        return 0;
    }
    void clear() { waiting_.clear(); }
    std::optional<Receive> take() {
        if (waiting_.empty()) return std::nullopt;
        Receive made = std::move(waiting_.front());
        waiting_.pop_front();
        return made;
    }

  private:
    std::uint32_t limit_;
    std::uint32_t pieces_limit_;
    std::deque<Receive> waiting_;
};

struct SharedReceives {
    SharedReceives(DevicePair& owner, const ibv_srq_attr& limits)
        : pair(&owner), receives(limits.max_wr, limits.max_sge), attributes(limits) {}
    ibv_srq shown{};  // first
    DevicePair *pair;
    Receives receives;
    ibv_srq_attr attributes;
    std::deque<QueuePair *> hungry;  // that have data and no receive
};

}  // namespace lanewise::paths::carried
