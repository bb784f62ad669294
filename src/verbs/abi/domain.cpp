// SPDX-License-Identifier: BSD-3-Clause
//
// Protection domains, thread domains, and parent domains, which join one of each
// (ibv_alloc_parent_domain(3)). A parent domain is its protection domain under another handle. No
// object here is allocated from buffers that a card would read, so the allocators of a parent
// domain are taken and never called, and a thread domain saves no lock.

#include <cerrno>

#include "verbs/abi/objects.hpp"

namespace lanewise::verbs::abi {
namespace {

constexpr unsigned known_parent_fields =
    IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS | IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT;

ibv_td *alloc_td(ibv_context *context, ibv_td_init_attr *init) {
    if (const int error = command_error("ibv_alloc_td", context)) return refuse(error);
    if (const int error = refusal(context)) return refuse(error);
    if (init->comp_mask != 0) return refuse(EINVAL);
    auto made = HandlePool<ThreadDomainObject>::make();
    made->shown.context = context;
    return &made.release()->shown;
}

int dealloc_td(ibv_td *td) {
    if (!is_live(td)) return EINVAL;
    if (own(td->context).forked) return 0;
    {
        const std::lock_guard guard(own(td->context).adapter->lock());
        if (own(td).users > 0) return told(EBUSY);
    }
    HandlePool<ThreadDomainObject>::destroy(&own(td));
    return 0;
}

ibv_pd *alloc_parent_domain(ibv_context *context, ibv_parent_domain_init_attr *init) {
    if (const int error = command_error("ibv_alloc_parent_domain", context)) return refuse(error);
    if (const int error = refusal(context)) return refuse(error);
    if (init->comp_mask & ~known_parent_fields || !is_of(init->pd, context)) {
        return refuse(EINVAL);
    }
    const bool has_allocators = init->comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS;
    if (has_allocators && (!init->alloc || !init->free)) return refuse(EINVAL);
    if (init->td && !is_of(init->td, context)) return refuse(EINVAL);
    auto made = HandlePool<DomainObject>::make();
    made->number = own(init->pd).number;
    made->shown = {context, made->number};
    made->parent_of = &own(init->pd);
    const std::lock_guard guard(own(context).adapter->lock());
    ++made->parent_of->users;
    if (init->td) {
        made->thread_domain = &own(init->td);
        ++made->thread_domain->users;
    }
    return &made.release()->shown;
}

}  // namespace

void set_domain_operations(verbs_context& context) {
    context.alloc_td = alloc_td;
    context.dealloc_td = dealloc_td;
    context.alloc_parent_domain = alloc_parent_domain;
}

}  // namespace lanewise::verbs::abi

using namespace lanewise::verbs::abi;

extern "C" {

ibv_pd *ibv_alloc_pd(ibv_context *context) {
    if (const int error = command_error("ibv_alloc_pd", context)) return refuse(error);
    if (const int error = refusal(context)) return refuse(error);
    Context& owner = own(context);
    auto domain = HandlePool<DomainObject>::make();
    const std::lock_guard guard(owner.adapter->lock());
    domain->number = ++owner.last_domain;
    domain->shown = {context, domain->number};
    return &domain.release()->shown;
}

int ibv_dealloc_pd(ibv_pd *pd) {
    if (!is_live(pd)) return EINVAL;
    if (own(pd->context).forked) return 0;
    DomainObject& domain = own(pd);
    {
        const std::lock_guard guard(own(pd->context).adapter->lock());
        if (domain.users > 0) return told(EBUSY);
        if (domain.parent_of) --domain.parent_of->users;
        if (domain.thread_domain) --domain.thread_domain->users;
    }
    HandlePool<DomainObject>::destroy(&domain);
    return 0;
}

}  // extern "C"
