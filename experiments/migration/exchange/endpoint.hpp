// SPDX-License-Identifier: BSD-3-Clause
//
// A device with its queue pairs, connected to those of the peer. It knows nothing of paths.

#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "experiments/migration/exchange/rendezvous.hpp"
#include "experiments/migration/exchange/settings.hpp"

namespace lanewise::exchange {

struct CloseDevice {
    void operator()(ibv_context *one) const { ibv_close_device(one); }
};
struct FreeDomain {
    void operator()(ibv_pd *one) const { ibv_dealloc_pd(one); }
};
struct DropRegion {
    void operator()(ibv_mr *one) const { ibv_dereg_mr(one); }
};
struct DestroyCompletions {
    void operator()(ibv_cq *one) const { ibv_destroy_cq(one); }
};
struct DestroyQueuePair {
    void operator()(ibv_qp *one) const { ibv_destroy_qp(one); }
};
using QueuePair = std::unique_ptr<ibv_qp, DestroyQueuePair>;

class Endpoint {
  public:
    // `memory_bytes` for each queue pair.
    Endpoint(const Settings& settings, Rendezvous& rendezvous, std::size_t memory_bytes);

    ibv_context *context() const { return context_.get(); }
    ibv_cq *completions() const { return completions_.get(); }
    const std::vector<QueuePair>& queue_pairs() const { return queue_pairs_; }
    std::byte *memory(std::size_t queue_pair) {
        return memory_.data() + queue_pair * memory_bytes_;
    }
    std::uint32_t key() const { return region_->lkey; }
    // Of the peer's memory.
    std::uint64_t remote(std::size_t queue_pair) const {
        return remote_base_ + queue_pair * memory_bytes_;
    }
    std::uint32_t remote_key() const { return remote_key_; }

  private:
    void make(const Settings& settings);
    void connect(const Settings& settings, Rendezvous& rendezvous);

    std::size_t memory_bytes_;
    std::vector<std::byte> memory_;
    std::unique_ptr<ibv_context, CloseDevice> context_;
    std::unique_ptr<ibv_pd, FreeDomain> domain_;
    std::unique_ptr<ibv_mr, DropRegion> region_;
    std::unique_ptr<ibv_cq, DestroyCompletions> completions_;
    std::vector<QueuePair> queue_pairs_;
    std::uint64_t remote_base_ = 0;
    std::uint32_t remote_key_ = 0;
};

}  // namespace lanewise::exchange
