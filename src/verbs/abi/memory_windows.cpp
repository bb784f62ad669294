// SPDX-License-Identifier: BSD-3-Clause
//
// Memory windows (ibv_alloc_mw(3)). One of type 1 is bound by ibv_bind_mw, which gives it the next
// key of its own; one of type 2 by a work request, in which the program names the key. Either is
// work that the queue pair does in order.

#include <cerrno>

#include "verbs/abi/objects.hpp"

namespace lanewise::verbs::abi {
namespace {

// The program writes through a window by no key of its own, so local writes mean nothing here.
constexpr unsigned known_window_access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                                         IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC |
                                         IBV_ACCESS_ZERO_BASED;

ibv_mw *alloc_mw(ibv_pd *pd, ibv_mw_type type) {
    if (const int error = command_error("ibv_alloc_mw", pd)) return refuse(error);
    if (const int error = refusal(pd)) return refuse(error);
    if (type != IBV_MW_TYPE_1 && type != IBV_MW_TYPE_2) return refuse(EINVAL);
    auto made = HandlePool<WindowObject>::make();
    Context& context = own(pd->context);
    const std::lock_guard guard(context.adapter->lock());
    made->key = context.adapter->engine().memory().add_window(own(pd).number,
                                                              static_cast<WindowType>(type));
    if (made->key == 0) return refuse(ENOMEM);
    made->shown = {.context = pd->context,
                   .pd = pd,
                   .rkey = made->key,
                   .handle = window_index(made->key),
                   .type = type};
    ++own(pd).users;
    return &made.release()->shown;
}

int dealloc_mw(ibv_mw *mw) {
    if (!is_live(mw)) return EINVAL;
    Context& context = own(mw->context);
    if (context.forked) return 0;
    {
        const std::lock_guard guard(context.adapter->lock());
        context.adapter->engine().memory().remove_window(own(mw).key);
        --own(mw->pd).users;
    }
    HandlePool<WindowObject>::destroy(&own(mw));
    return 0;
}

int bind_mw(ibv_qp *qp, ibv_mw *mw, ibv_mw_bind *wanted) {
    if (const int error = planned_error("ibv_bind_mw", qp)) return error;
    if (const int error = refusal(qp)) return error;
    if (!is_live(mw)) return EINVAL;
    const std::uint32_t key = ibv_inc_rkey(mw->rkey);
    const auto binding = binding_of(*qp, mw, key, wanted->bind_info);
    if (!binding) return EINVAL;
    Context& context = own(qp->context);
    const std::lock_guard guard(context.adapter->lock());
    if (const int error = gone(own(qp))) return error;
    const int error = own(qp).engine->post_send({.id = wanted->wr_id,
                                                 .operation = Operation::bind_window,
                                                 .flags = wanted->send_flags,
                                                 .binding = &*binding});
    if (error == 0) mw->rkey = key;
    send_posted(context, *own(qp).engine);
    return error;
}

}  // namespace

std::optional<WindowBinding> binding_of(const ibv_qp& qp, ibv_mw *mw, std::uint32_t key,
                                        const ibv_mw_bind_info& info) {
    if (!is_live(mw) || mw->context != qp.context) return std::nullopt;
    if (window_index(key) != window_index(own(mw).key)) return std::nullopt;
    if (info.length > 0 && !is_live(info.mr)) return std::nullopt;
    if (info.mw_access_flags & ~known_window_access) return std::nullopt;
    return WindowBinding{.key = key,
                         .region_key = info.length > 0 ? info.mr->lkey : 0,
                         .address = info.addr,
                         .length_bytes = info.length,
                         .access = info.mw_access_flags};
}

void set_window_operations(ibv_context_ops& operations) {
    operations.alloc_mw = alloc_mw;
    operations.bind_mw = bind_mw;
    operations.dealloc_mw = dealloc_mw;
}

}  // namespace lanewise::verbs::abi
