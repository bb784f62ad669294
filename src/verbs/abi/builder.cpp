// SPDX-License-Identifier: BSD-3-Clause
//
// Work requests built by calls, ibv_wr_start … ibv_wr_complete (ibv_wr_post(3)): the requests are
// collected in the queue pair and posted together, or, where one of them made no sense, not at all.

#include <cerrno>
#include <cstring>
#include <utility>

#include "verbs/abi/objects.hpp"

namespace lanewise::verbs::abi {
namespace {

void clear(RequestBatch& batch) {
    batch.items.clear();
    batch.slices.clear();
    batch.bytes.clear();
    batch.error = 0;
}

// Requests to a queue pair that was destroyed are collected here, and come to nothing.
RequestBatch& batch_of(ibv_qp_ex *qp) {
    if (is_live(&qp->qp_base)) return own(qp).batch;
    thread_local RequestBatch nothing;
    clear(nothing);
    return nothing;
}

RequestBatch::Item& add(ibv_qp_ex *qp, Operation operation) {
    RequestBatch& batch = batch_of(qp);
    RequestBatch::Item& item = batch.items.emplace_back();
    item.request.id = qp->wr_id;
    item.request.operation = operation;
    // What is inline is said by ibv_wr_set_inline_data() alone.
    item.request.flags = qp->wr_flags & ~unsigned{SendFlag::inline_data};
    item.first_slice = batch.slices.size();
    item.first_byte = batch.bytes.size();
    return item;
}

SendRequest& add_remote(ibv_qp_ex *qp, Operation operation, std::uint32_t rkey,
                        std::uint64_t address) {
    SendRequest& request = add(qp, operation).request;
    request.rkey = rkey;
    request.remote_address = address;
    return request;
}

// The request that is being built; none where no operation came first.
RequestBatch::Item *last(ibv_qp_ex *qp) {
    RequestBatch& batch = batch_of(qp);
    if (!batch.items.empty()) return &batch.items.back();
    batch.error = EINVAL;
    return nullptr;
}

void wr_start(ibv_qp_ex *qp) {
    RequestBatch& batch = batch_of(qp);
    if (is_live(&qp->qp_base)) {
        batch.building.lock();
        batch.is_open = true;
    }
    clear(batch);
}

// Lets the next thread build.
void end(RequestBatch& batch) {
    clear(batch);
    if (std::exchange(batch.is_open, false)) batch.building.unlock();
}

void wr_abort(ibv_qp_ex *qp) {
    end(batch_of(qp));
}

void wr_rdma_write(ibv_qp_ex *qp, std::uint32_t rkey, std::uint64_t address) {
    add_remote(qp, Operation::write, rkey, address);
}

void wr_rdma_write_imm(ibv_qp_ex *qp, std::uint32_t rkey, std::uint64_t address, __be32 immediate) {
    add_remote(qp, Operation::write_immediate, rkey, address).immediate = immediate;
}

void wr_rdma_read(ibv_qp_ex *qp, std::uint32_t rkey, std::uint64_t address) {
    add_remote(qp, Operation::read, rkey, address);
}

void wr_send(ibv_qp_ex *qp) {
    add(qp, Operation::send);
}

void wr_send_imm(ibv_qp_ex *qp, __be32 immediate) {
    add(qp, Operation::send_immediate).request.immediate = immediate;
}

void wr_atomic_cmp_swp(ibv_qp_ex *qp, std::uint32_t rkey, std::uint64_t address,
                       std::uint64_t compare, std::uint64_t swap) {
    SendRequest& request = add_remote(qp, Operation::compare_swap, rkey, address);
    request.compare_add = compare;
    request.swap = swap;
}

void wr_atomic_fetch_add(ibv_qp_ex *qp, std::uint32_t rkey, std::uint64_t address,
                         std::uint64_t value) {
    add_remote(qp, Operation::fetch_add, rkey, address).compare_add = value;
}

void wr_send_inv(ibv_qp_ex *qp, std::uint32_t key) {
    add(qp, Operation::send_invalidate).request.invalidated_key = key;
}

void wr_local_inv(ibv_qp_ex *qp, std::uint32_t key) {
    add(qp, Operation::local_invalidate).request.invalidated_key = key;
}

void wr_bind_mw(ibv_qp_ex *qp, ibv_mw *mw, std::uint32_t key, const ibv_mw_bind_info *info) {
    const auto binding = binding_of(qp->qp_base, mw, key, *info);
    if (!binding || mw->type != IBV_MW_TYPE_2) {
        batch_of(qp).error = EINVAL;
        return;
    }
    RequestBatch::Item& item = add(qp, Operation::bind_window);
    item.window = mw;
    item.binding = *binding;
}

void refuse_batch(ibv_qp_ex *qp) {
    batch_of(qp).error = EOPNOTSUPP;
}
void wr_send_tso(ibv_qp_ex *qp, void *, std::uint16_t, std::uint16_t) {
    refuse_batch(qp);
}
void wr_atomic_write(ibv_qp_ex *qp, std::uint32_t, std::uint64_t, const void *) {
    refuse_batch(qp);
}

void wr_set_xrc_srqn(ibv_qp_ex *qp, std::uint32_t number) {
    if (RequestBatch::Item *item = last(qp)) item->request.remote_srqn = number;
}

void wr_set_ud_addr(ibv_qp_ex *qp, ibv_ah *ah, std::uint32_t remote_qpn,
                    std::uint32_t remote_qkey) {
    RequestBatch::Item *item = last(qp);
    if (!item) return;
    if (!is_live(ah)) {
        batch_of(qp).error = EINVAL;
        return;
    }
    item->address = own(ah).address;
    item->request.remote_qpn = remote_qpn;
    item->request.remote_qkey = remote_qkey;
}

void wr_set_sge_list(ibv_qp_ex *qp, std::size_t count, const ibv_sge *list) {
    RequestBatch::Item *item = last(qp);
    if (!item) return;
    for (std::size_t index = 0; index < count; ++index) {
        own(qp).batch.slices.push_back({list[index].addr, list[index].length, list[index].lkey});
    }
    item->slice_count += count;
}

void wr_set_sge(ibv_qp_ex *qp, std::uint32_t lkey, std::uint64_t address, std::uint32_t length) {
    const ibv_sge slice{address, length, lkey};
    wr_set_sge_list(qp, 1, &slice);
}

void wr_set_inline_data_list(ibv_qp_ex *qp, std::size_t count, const ibv_data_buf *list) {
    RequestBatch::Item *item = last(qp);
    if (!item) return;
    std::vector<std::byte>& bytes = own(qp).batch.bytes;
    for (std::size_t index = 0; index < count; ++index) {
        const auto *from = static_cast<const std::byte *>(list[index].addr);
        bytes.insert(bytes.end(), from, from + list[index].length);
        item->byte_count += list[index].length;
    }
    item->request.flags |= SendFlag::inline_data;
}

void wr_set_inline_data(ibv_qp_ex *qp, void *address, std::size_t length) {
    const ibv_data_buf piece{address, length};
    wr_set_inline_data_list(qp, 1, &piece);
}

SendRequest request_of(const RequestBatch& batch, const RequestBatch::Item& item,
                       const std::span<const std::byte>& inline_bytes, ibv_qp_type type) {
    SendRequest request = item.request;
    request.slices = std::span(batch.slices).subspan(item.first_slice, item.slice_count);
    if (request.flags & SendFlag::inline_data) request.inline_bytes = {&inline_bytes, 1};
    if (type == IBV_QPT_UD && item.address) request.address = &*item.address;
    if (item.window) request.binding = &item.binding;
    return request;
}

// All requests are looked at before the first is posted.
int post(QueuePairObject& object) {
    const RequestBatch& batch = object.batch;
    const ibv_qp_type type = object.shown.qp_base.qp_type;
    for (const bool posts : {false, true}) {
        for (std::size_t at = 0; at < batch.items.size(); ++at) {
            const RequestBatch::Item& item = batch.items[at];
            const std::span<const std::byte> bytes =
                std::span(batch.bytes).subspan(item.first_byte, item.byte_count);
            const SendRequest request = request_of(batch, item, bytes, type);
            const int error =
                posts ? object.engine->post_send(request) : object.engine->check_send(request, at);
            if (error) return error;
            if (posts && item.window) item.window->rkey = item.binding.key;
        }
    }
    return 0;
}

int complete(ibv_qp_ex *qp) {
    if (const int error = refusal(&qp->qp_base)) return error;
    QueuePairObject& object = own(qp);
    Context& context = own(qp->qp_base.context);
    if (object.batch.error) return object.batch.error;
    const std::lock_guard guard(context.adapter->lock());
    if (const int error = gone(object)) return error;
    const int error = post(object);
    send_posted(context, *object.engine);
    return error;
}

int wr_complete(ibv_qp_ex *qp) {
    const int error = complete(qp);
    end(batch_of(qp));
    return error;
}

}  // namespace

void set_work_operations(ibv_qp_ex& qp) {
    qp.wr_start = wr_start;
    qp.wr_complete = wr_complete;
    qp.wr_abort = wr_abort;
    qp.wr_rdma_write = wr_rdma_write;
    qp.wr_rdma_write_imm = wr_rdma_write_imm;
    qp.wr_rdma_read = wr_rdma_read;
    qp.wr_send = wr_send;
    qp.wr_send_imm = wr_send_imm;
    qp.wr_atomic_cmp_swp = wr_atomic_cmp_swp;
    qp.wr_atomic_fetch_add = wr_atomic_fetch_add;
    qp.wr_bind_mw = wr_bind_mw;
    qp.wr_local_inv = wr_local_inv;
    qp.wr_send_inv = wr_send_inv;
    qp.wr_send_tso = wr_send_tso;
    qp.wr_set_xrc_srqn = wr_set_xrc_srqn;
    qp.wr_atomic_write = wr_atomic_write;
    qp.wr_set_ud_addr = wr_set_ud_addr;
    qp.wr_set_sge = wr_set_sge;
    qp.wr_set_sge_list = wr_set_sge_list;
    qp.wr_set_inline_data = wr_set_inline_data;
    qp.wr_set_inline_data_list = wr_set_inline_data_list;
}

}  // namespace lanewise::verbs::abi
