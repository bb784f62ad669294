// SPDX-License-Identifier: BSD-3-Clause
//
// Extended completion queues (ibv_create_cq_ex(3)): entries are read one at a time, field by field.

#include <cerrno>
#include <ctime>

#include "verbs/abi/objects.hpp"

namespace lanewise::verbs::abi {
namespace {

constexpr std::uint64_t with_timestamp = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP;
constexpr std::uint64_t with_wallclock = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK;
constexpr std::uint64_t known_fields = IBV_WC_STANDARD_FLAGS | with_timestamp | with_wallclock;
constexpr std::uint32_t known_attributes = IBV_CQ_INIT_ATTR_MASK_FLAGS | IBV_CQ_INIT_ATTR_MASK_PD;
constexpr std::uint32_t known_flags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED;

const Completion& current(ibv_cq_ex *cq) {
    return own(cq).current;
}

int next_poll(ibv_cq_ex *cq) {
    CompletionObject& object = own(cq);
    const auto got = poll_completions(object, std::span(&object.current, 1));
    if (!got) return EINVAL;
    if (*got == 0) return ENOENT;
    cq->wr_id = object.current.id;
    cq->status = static_cast<ibv_wc_status>(object.current.status);
    return 0;
}

void lock_poll(CompletionObject& object) {
    if (!object.is_single_threaded) object.extended_poll.lock();
}

void unlock_poll(CompletionObject& object) {
    if (!object.is_single_threaded) object.extended_poll.unlock();
}

int start_poll(ibv_cq_ex *cq, ibv_poll_cq_attr *attributes) {
    if (attributes->comp_mask != 0) return EINVAL;
    if (const int error = refusal(cq)) return error;
    lock_poll(own(cq));
    const int error = next_poll(cq);
    // Who begins no poll does not end one.
    if (error) unlock_poll(own(cq));
    return error;
}

void end_poll(ibv_cq_ex *cq) {
    unlock_poll(own(cq));
}

ibv_wc_opcode read_opcode(ibv_cq_ex *cq) {
    return static_cast<ibv_wc_opcode>(current(cq).work);
}
std::uint32_t read_vendor_err(ibv_cq_ex *) {
    return 0;
}
std::uint32_t read_byte_len(ibv_cq_ex *cq) {
    return current(cq).length_bytes;
}
// Or the key that was invalidated, which <infiniband/verbs.h> reads by the same call.
__be32 read_imm_data(ibv_cq_ex *cq) {
    return shown_completion(current(cq)).imm_data;
}
std::uint32_t read_qp_num(ibv_cq_ex *cq) {
    return current(cq).qpn;
}
std::uint32_t read_src_qp(ibv_cq_ex *cq) {
    return current(cq).source_qpn;
}
unsigned read_wc_flags(ibv_cq_ex *cq) {
    return shown_completion(current(cq)).wc_flags;
}
std::uint32_t read_slid(ibv_cq_ex *cq) {
    return current(cq).source_lid;
}
std::uint8_t read_sl(ibv_cq_ex *cq) {
    return current(cq).service_level;
}
std::uint8_t read_dlid_path_bits(ibv_cq_ex *cq) {
    return current(cq).path_bits;
}

std::uint64_t read_completion_ts(ibv_cq_ex *cq) {
    return static_cast<std::uint64_t>(current(cq).at);
}
std::uint64_t read_completion_wallclock_ns(ibv_cq_ex *cq) {
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    const Nanoseconds wall = Nanoseconds{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
    return static_cast<std::uint64_t>(wall - (monotonic_ns() - current(cq).at));
}

ibv_cq_ex *create_cq_ex(ibv_context *context, ibv_cq_init_attr_ex *init) {
    const bool flagged = init->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS;
    if (init->comp_mask & ~known_attributes || init->wc_flags & ~known_fields ||
        (flagged && init->flags & ~known_flags)) {
        return refuse(EOPNOTSUPP);
    }
    const bool has_parent = init->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD;
    if (has_parent && !is_of(init->parent_domain, context)) return refuse(EINVAL);
    CompletionObject *made = make_completion_queue(
        context, init->cqe, init->cq_context, init->channel, static_cast<int>(init->comp_vector));
    if (!made) return nullptr;
    made->is_single_threaded = flagged && init->flags & IBV_CREATE_CQ_ATTR_SINGLE_THREADED;
    ibv_cq_ex& shown = made->shown;
    shown.start_poll = start_poll;
    shown.next_poll = next_poll;
    shown.end_poll = end_poll;
    shown.read_opcode = read_opcode;
    shown.read_vendor_err = read_vendor_err;
    shown.read_byte_len = read_byte_len;
    shown.read_imm_data = read_imm_data;
    shown.read_qp_num = read_qp_num;
    shown.read_src_qp = read_src_qp;
    shown.read_wc_flags = read_wc_flags;
    shown.read_slid = read_slid;
    shown.read_sl = read_sl;
    shown.read_dlid_path_bits = read_dlid_path_bits;
    if (init->wc_flags & with_timestamp) shown.read_completion_ts = read_completion_ts;
    if (init->wc_flags & with_wallclock) {
        shown.read_completion_wallclock_ns = read_completion_wallclock_ns;
    }
    return &shown;
}

}  // namespace

void set_extended_operations(verbs_context& context) {
    set_queries(context);
    set_domain_operations(context);
    set_memory_operations(context);
    set_device_memory_operations(context);
    set_extended_domain_operations(context);
    context.create_cq_ex = create_cq_ex;
    context.create_qp_ex = create_qp_ex;
}

}  // namespace lanewise::verbs::abi
