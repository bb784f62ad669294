// SPDX-License-Identifier: BSD-3-Clause

#include "experiments/migration/exchange/endpoint.hpp"

#include <cstring>
#include <string>

namespace lanewise::exchange {
namespace {

constexpr std::uint32_t first_psn = 0xfffff0;  // soon goes round
constexpr int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
                       IBV_ACCESS_REMOTE_ATOMIC;

ibv_context *open_device(const std::string& name) {
    int count = 0;
    ibv_device **list = ibv_get_device_list(&count);
    ibv_context *opened = nullptr;
    for (int i = 0; i < count && !opened; ++i) {
        if (name.empty() || name == ibv_get_device_name(list[i])) opened = ibv_open_device(list[i]);
    }
    if (list) ibv_free_device_list(list);
    require(opened, name.empty()
                        ? "there is no RDMA device; start it with: lanewise rdma run -- ..."
                        : "there is no RDMA device " + name);
    return opened;
}

ibv_qp *make_queue_pair(ibv_pd *domain, ibv_cq *completions, const Settings& settings) {
    ibv_qp_init_attr init{};
    init.send_cq = init.recv_cq = completions;
    init.qp_type = IBV_QPT_RC;
    const auto depth = static_cast<std::uint32_t>(4 * settings.window + 16);
    init.cap = {depth, depth, 1, 1, 0};
    ibv_qp *made = ibv_create_qp(domain, &init);
    require(made, "a queue pair cannot be made");
    return made;
}

void modify(ibv_qp *qp, ibv_qp_attr attributes, int mask) {
    require(ibv_modify_qp(qp, &attributes, mask) == 0,
            "a queue pair cannot be brought to state " + std::to_string(attributes.qp_state));
}

void begin(ibv_qp *qp, const Settings& settings) {
    ibv_qp_attr init{};
    init.qp_state = IBV_QPS_INIT;
    init.port_num = static_cast<std::uint8_t>(settings.port);
    init.qp_access_flags = access;
    modify(qp, init, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
}

void join(ibv_qp *qp, const Settings& settings, std::uint32_t peer, const ibv_gid& gid) {
    ibv_qp_attr rtr{};
    rtr.qp_state = IBV_QPS_RTR;
    rtr.path_mtu = IBV_MTU_1024;
    rtr.dest_qp_num = peer;
    rtr.rq_psn = first_psn;
    rtr.max_dest_rd_atomic = 4;
    rtr.min_rnr_timer = 1;
    rtr.ah_attr.is_global = 1;
    rtr.ah_attr.port_num = static_cast<std::uint8_t>(settings.port);
    rtr.ah_attr.grh.dgid = gid;
    rtr.ah_attr.grh.hop_limit = 64;
    rtr.ah_attr.grh.sgid_index = static_cast<std::uint8_t>(settings.gid_index);
    modify(qp, rtr,
           IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
               IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
    ibv_qp_attr rts{};
    rts.qp_state = IBV_QPS_RTS;
    rts.timeout = static_cast<std::uint8_t>(settings.timeout);
    rts.retry_cnt = 7;
    rts.rnr_retry = 7;
    rts.sq_psn = first_psn;
    rts.max_rd_atomic = 4;
    modify(qp, rts,
           IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
               IBV_QP_MAX_QP_RD_ATOMIC);
}

}  // namespace

Endpoint::Endpoint(const Settings& settings, Rendezvous& rendezvous, std::size_t memory_bytes)
    : memory_bytes_(memory_bytes),
      memory_(memory_bytes * static_cast<std::size_t>(settings.queue_pairs)) {
    make(settings);
    connect(settings, rendezvous);
}

void Endpoint::make(const Settings& settings) {
    context_.reset(open_device(settings.device));
    domain_.reset(ibv_alloc_pd(context_.get()));
    require(domain_ != nullptr, "no protection domain");
    region_.reset(ibv_reg_mr(domain_.get(), memory_.data(), memory_.size(), access));
    require(region_ != nullptr, "the memory cannot be registered");
    const int depth = settings.queue_pairs * (8 * settings.window + 32);
    completions_.reset(ibv_create_cq(context_.get(), depth, nullptr, nullptr, 0));
    require(completions_ != nullptr, "no completion queue");
    for (int i = 0; i < settings.queue_pairs; ++i) {
        queue_pairs_.emplace_back(make_queue_pair(domain_.get(), completions_.get(), settings));
        begin(queue_pairs_.back().get(), settings);
    }
}

void Endpoint::connect(const Settings& settings, Rendezvous& rendezvous) {
    ibv_gid gid{};
    const bool known = ibv_query_gid(context_.get(), static_cast<std::uint8_t>(settings.port),
                                     settings.gid_index, &gid) == 0;
    require(known, "there is no such GID");
    std::vector<std::uint64_t> mine{0, 0, reinterpret_cast<std::uintptr_t>(memory_.data()),
                                    region_->rkey};
    std::memcpy(mine.data(), gid.raw, sizeof gid.raw);
    for (const QueuePair& qp : queue_pairs_) mine.push_back(qp->qp_num);
    const std::vector<std::uint64_t> theirs = rendezvous.swap(mine);
    std::memcpy(gid.raw, theirs.data(), sizeof gid.raw);
    remote_base_ = theirs[2];
    remote_key_ = static_cast<std::uint32_t>(theirs[3]);
    for (std::size_t i = 0; i < queue_pairs_.size(); ++i) {
        join(queue_pairs_[i].get(), settings, static_cast<std::uint32_t>(theirs[4 + i]), gid);
    }
}

}  // namespace lanewise::exchange
