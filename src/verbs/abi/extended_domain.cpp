// SPDX-License-Identifier: BSD-3-Clause
//
// Extended connections (XRC): a process receives from all peers into few shared queues, which
// packets name by number. A domain says which connections may name which queues. Processes would
// share one by a file that all have open; here the queues of another process are out of reach, so a
// file names a domain of this process only.

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

#include "verbs/abi/objects.hpp"
#include "verbs/port/random.hpp"

namespace lanewise::verbs::abi {
namespace {

constexpr unsigned known_xrcd_fields = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
constexpr unsigned extended_fields =
    IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
constexpr std::uint32_t numbers = 1 << 24;

// Finds the domain that the file names, or makes one as the flags say: 0, or an errno.
int open_named(Context& context, int flags, ExtendedDomainObject& made) {
    const auto found = context.named_domains.find(*made.file);
    const bool exists = found != context.named_domains.end();
    if (!exists && !(flags & O_CREAT)) return ENOENT;
    if (exists && flags & O_CREAT && flags & O_EXCL) return EEXIST;
    Context::NamedDomain& named = context.named_domains[*made.file];
    if (!exists) named.number = ++context.last_extended_domain;
    ++named.handles;
    made.number = named.number;
    return 0;
}

ibv_xrcd *open_xrcd(ibv_context *context, ibv_xrcd_init_attr *init) {
    if (const int error = command_error("ibv_open_xrcd", context)) return refuse(error);
    if (const int error = refusal(context)) return refuse(error);
    if (init->comp_mask != known_xrcd_fields || init->oflags & ~(O_CREAT | O_EXCL)) {
        return refuse(EINVAL);
    }
    auto made = HandlePool<ExtendedDomainObject>::make();
    made->shown.context = context;
    struct stat file {};
    if (init->fd != -1) {
        if (fstat(init->fd, &file) != 0) return refuse(errno);
        made->file = FileIdentity(file.st_dev, file.st_ino);
    } else if (!(init->oflags & O_CREAT)) {
        return refuse(EINVAL);
    }
    Context& owner = own(context);
    const std::lock_guard guard(owner.adapter->lock());
    if (!made->file) {
        made->number = ++owner.last_extended_domain;
    } else if (const int error = open_named(owner, init->oflags, *made)) {
        return refuse(error);
    }
    return &made.release()->shown;
}

int close_xrcd(ibv_xrcd *xrcd) {
    if (!is_live(xrcd)) return EINVAL;
    ExtendedDomainObject& object = own(xrcd);
    Context& context = own(xrcd->context);
    if (!context.forked) {
        const std::lock_guard guard(context.adapter->lock());
        if (object.users > 0) return EBUSY;
        if (object.file && --context.named_domains[*object.file].handles == 0) {
            context.named_domains.erase(*object.file);
        }
    }
    HandlePool<ExtendedDomainObject>::destroy(&object);
    return 0;
}

// Only a queue whose number was drawn before has it, and then another is drawn.
SharedReceiveObject *make_numbered(ibv_srq_init_attr_ex& init) {
    ExtendedReceive extended{.xrc_domain = own(init.xrcd).number,
                             .completions = own(init.cq).engine};
    SharedReceiveObject *made = nullptr;
    do {
        extended.number = port::random_number() % numbers;
        errno = 0;
        if (extended.number == 0) continue;
        made = make_shared_receive_queue(init.pd, init.attr, init.srq_context, extended);
    } while (!made && (errno == 0 || errno == EEXIST));
    return made;
}

ibv_srq *create_srq_ex(ibv_context *context, ibv_srq_init_attr_ex *init) {
    if (const int error = command_error("ibv_create_srq", context)) return refuse(error);
    if (const int error = refusal(context)) return refuse(error);
    if (init->comp_mask & ~extended_fields) return refuse(EOPNOTSUPP);
    if (init->comp_mask != extended_fields || init->srq_type != IBV_SRQT_XRC) {
        return refuse(init->srq_type == IBV_SRQT_XRC ? EINVAL : EOPNOTSUPP);
    }
    const bool fits =
        is_of(init->pd, context) && is_of(init->xrcd, context) && is_of(init->cq, context);
    if (!fits) return refuse(EINVAL);
    const std::lock_guard guard(own(context).adapter->lock());
    if (const int error = gone(own(init->cq))) return refuse(error);
    SharedReceiveObject *made = make_numbered(*init);
    if (!made) return nullptr;
    made->extended_domain = &own(init->xrcd);
    ++made->extended_domain->users;
    return &made->shown;
}

int get_srq_num(ibv_srq *srq, std::uint32_t *number) {
    if (const int error = refusal(srq)) return error;
    const std::lock_guard guard(own(srq->context).adapter->lock());
    if (const int error = gone(own(srq))) return error;
    const std::uint32_t of_queue = own(srq).engine->extended().number;
    if (of_queue == 0) return EOPNOTSUPP;
    *number = of_queue;
    return 0;
}

}  // namespace

void set_extended_domain_operations(verbs_context& context) {
    context.open_xrcd = open_xrcd;
    context.close_xrcd = close_xrcd;
    context.create_srq_ex = create_srq_ex;
    context.get_srq_num = get_srq_num;
}

}  // namespace lanewise::verbs::abi
