// SPDX-License-Identifier: BSD-3-Clause

#include "paths/carried/attributes.hpp"

namespace lanewise::paths::carried {
namespace {

constexpr std::uint8_t retries = 7;  // and for ever where the peer has no receive
constexpr std::uint8_t shortest_wait = 1;

bool has_failed(const Verbs& verbs, ibv_qp *carrier) {
    ibv_qp_attr attributes{};
    ibv_qp_init_attr init{};
    const int error = verbs.query_qp(carrier, &attributes, IBV_QP_STATE, &init);
    return !error && attributes.qp_state != IBV_QPS_RTR && attributes.qp_state != IBV_QPS_RTS;
}

}  // namespace

unsigned required_with(ibv_qp_state before, ibv_qp_state state) {
    if (before == IBV_QPS_RESET && state == IBV_QPS_INIT) {
        return IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
    }
    if (before == IBV_QPS_INIT && state == IBV_QPS_RTR) {
        return IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
               IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
    }
    if (before == IBV_QPS_RTR && state == IBV_QPS_RTS) {
        return IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
               IBV_QP_MAX_QP_RD_ATOMIC;
    }
    return 0;
}

void keep(const ibv_qp_attr& given, unsigned mask, ibv_qp_attr& kept) {
    if (mask & IBV_QP_ACCESS_FLAGS) kept.qp_access_flags = given.qp_access_flags;
    if (mask & IBV_QP_PKEY_INDEX) kept.pkey_index = given.pkey_index;
    if (mask & IBV_QP_PORT) kept.port_num = given.port_num;
    if (mask & IBV_QP_AV) kept.ah_attr = given.ah_attr;
    if (mask & IBV_QP_PATH_MTU) kept.path_mtu = given.path_mtu;
    if (mask & IBV_QP_TIMEOUT) kept.timeout = given.timeout;
    if (mask & IBV_QP_RETRY_CNT) kept.retry_cnt = given.retry_cnt;
    if (mask & IBV_QP_RNR_RETRY) kept.rnr_retry = given.rnr_retry;
    if (mask & IBV_QP_RQ_PSN) kept.rq_psn = given.rq_psn;
    if (mask & IBV_QP_SQ_PSN) kept.sq_psn = given.sq_psn;
    if (mask & IBV_QP_MAX_QP_RD_ATOMIC) kept.max_rd_atomic = given.max_rd_atomic;
    if (mask & IBV_QP_MAX_DEST_RD_ATOMIC) kept.max_dest_rd_atomic = given.max_dest_rd_atomic;
    if (mask & IBV_QP_MIN_RNR_TIMER) kept.min_rnr_timer = given.min_rnr_timer;
    if (mask & IBV_QP_DEST_QPN) kept.dest_qp_num = given.dest_qp_num;
}

int open_carrier(const Verbs& verbs, ibv_qp *carrier, const Opening& opening) {
    ibv_qp_attr made{};
    made.qp_state = IBV_QPS_RESET;
    int error = verbs.modify_qp(carrier, &made, IBV_QP_STATE);
    made.qp_state = IBV_QPS_INIT;
    made.port_num = 1;
    made.qp_access_flags = opening.access;
    if (!error) {
        error = verbs.modify_qp(
            carrier, &made, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
    }
    made.qp_state = IBV_QPS_RTR;
    made.path_mtu = static_cast<ibv_mtu>(opening.terms.mtu);
    made.dest_qp_num = opening.peer_number;
    made.rq_psn = opening.peer_psn;
    made.max_dest_rd_atomic = opening.terms.reads;
    made.min_rnr_timer = shortest_wait;
    made.ah_attr = opening.path;
    if (!error) {
        error =
            verbs.modify_qp(carrier, &made,
                            IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                                IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
    }
    made.qp_state = IBV_QPS_RTS;
    made.timeout = opening.timeout == 0 ? timeout_usual : opening.timeout;
    made.retry_cnt = made.rnr_retry = retries;
    made.sq_psn = opening.psn;
    made.max_rd_atomic = opening.terms.reads;
    if (!error) {
        error = verbs.modify_qp(carrier, &made,
                                IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
                                    IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
    }
    return error;
}

int grant(const Verbs& verbs, ibv_qp *carrier, unsigned access) {
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_RTS;
    attributes.qp_access_flags = access;
    const int error = verbs.modify_qp(carrier, &attributes, IBV_QP_STATE | IBV_QP_ACCESS_FLAGS);
    return error && has_failed(verbs, carrier) ? 0 : error;
}

}  // namespace lanewise::paths::carried
