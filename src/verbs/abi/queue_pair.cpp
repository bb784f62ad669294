// SPDX-License-Identifier: BSD-3-Clause
//
// Queue pairs: made, modified, queried, destroyed. What is posted to them is in work.cpp.

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cerrno>

#include "verbs/abi/objects.hpp"

namespace lanewise::verbs::abi {
namespace {

constexpr unsigned unsupported_attributes = IBV_QP_CAP | IBV_QP_RATE_LIMIT;
constexpr std::uint64_t known_operations =
    IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_SEND |
    IBV_QP_EX_WITH_SEND_WITH_IMM | IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
    IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_LOCAL_INV |
    IBV_QP_EX_WITH_SEND_WITH_INV;

// What a queue pair belongs to: a protection domain, or an extended one where it only takes
// requests.
struct Parents {
    ibv_pd *pd = nullptr;
    ibv_xrcd *xrcd = nullptr;
};

std::optional<Transport> transport_of(ibv_qp_type type) {
    switch (type) {
        case IBV_QPT_RC: return Transport::rc;
        case IBV_QPT_UC: return Transport::uc;
        case IBV_QPT_UD: return Transport::ud;
        case IBV_QPT_XRC_SEND:
        case IBV_QPT_XRC_RECV: return Transport::xrc;
        default: return std::nullopt;
    }
}

Role role_of(ibv_qp_type type) {
    if (type == IBV_QPT_XRC_SEND) return Role::initiator;
    return type == IBV_QPT_XRC_RECV ? Role::target : Role::both;
}

// A queue of no requests is one that nothing can be posted to; the engine wants at least one.
std::uint32_t at_least_one(std::uint32_t value) {
    return std::max(value, 1U);
}

bool fits(const ibv_qp_cap& cap, const DeviceConfig& config) {
    return cap.max_send_wr <= config.requests_max && cap.max_recv_wr <= config.requests_max &&
           cap.max_send_sge <= config.slices_max && cap.max_recv_sge <= config.slices_max &&
           cap.max_inline_data <= config.inline_bytes_max;
}

// What a queue pair has, which may be more than was asked for. One with a shared receive queue has
// none of its own, and one of XRC has at most one direction.
ibv_qp_cap capacities_of(const QueuePairInit& from) {
    ibv_qp_cap made{from.send_requests_max, from.receive_requests_max, from.send_slices_max,
                    from.receive_slices_max, from.inline_bytes_max};
    if (from.shared_receive_queue || from.role != Role::both) {
        made.max_recv_wr = made.max_recv_sge = 0;
    }
    if (from.role == Role::target) made.max_send_wr = made.max_send_sge = 0;
    return made;
}

CompletionQueue *engine_of(ibv_cq *cq) {
    return cq ? own(cq).engine : nullptr;
}

QueuePairInit engine_init(const ibv_qp_init_attr& from, Transport transport, const Parents& of,
                          std::uint32_t number, void *cookie) {
    QueuePairInit to;
    to.transport = transport;
    to.role = role_of(from.qp_type);
    to.number = number;
    to.domain = of.pd ? own(of.pd).number : 0;
    to.xrc_domain = of.xrcd ? own(of.xrcd).number : 0;
    to.send_queue = to.role != Role::target ? engine_of(from.send_cq) : nullptr;
    to.receive_queue = to.role == Role::both ? engine_of(from.recv_cq) : nullptr;
    to.shared_receive_queue = from.srq ? own(from.srq).engine : nullptr;
    to.send_requests_max = at_least_one(from.cap.max_send_wr);
    to.receive_requests_max = at_least_one(from.cap.max_recv_wr);
    to.send_slices_max = at_least_one(from.cap.max_send_sge);
    to.receive_slices_max = at_least_one(from.cap.max_recv_sge);
    to.inline_bytes_max = from.cap.max_inline_data;
    to.signal_all = from.sq_sig_all != 0;
    to.cookie = cookie;
    return to;
}

// With the lock. Of what is there, whether none is gone.
bool has_sound_queues(const ibv_qp_init_attr& init) {
    const auto is_sound = [](auto *queue) { return !queue || !gone(own(queue)); };
    const Role role = role_of(init.qp_type);
    return (role == Role::target || is_sound(init.send_cq)) &&
           (role != Role::both || (is_sound(init.recv_cq) && is_sound(init.srq)));
}

// Whether the queues are there that a queue pair of this kind has.
bool has_queues(const ibv_qp_init_attr& init, const ibv_context *opened) {
    const Role role = role_of(init.qp_type);
    const bool sends = role == Role::target || is_of(init.send_cq, opened);
    const bool receives = role != Role::both || is_of(init.recv_cq, opened);
    return sends && receives && (!init.srq || (role == Role::both && is_of(init.srq, opened)));
}

ibv_qp *make_queue_pair(const Parents& of, ibv_qp_init_attr& init) {
    const int planned =
        of.pd ? command_error("ibv_create_qp", of.pd) : command_error("ibv_create_qp", of.xrcd);
    if (planned) return refuse(planned);
    if (const int error = of.xrcd ? refusal(of.xrcd) : refusal(of.pd)) return refuse(error);
    ibv_context *opened = of.xrcd ? of.xrcd->context : of.pd->context;
    const bool is_target = role_of(init.qp_type) == Role::target;
    if (!has_queues(init, opened) || is_target != (of.xrcd != nullptr)) return refuse(EINVAL);
    Context& context = own(opened);
    const std::optional<Transport> transport = transport_of(init.qp_type);
    if (!transport) return refuse(EOPNOTSUPP);
    ibv_qp_init_attr wanted = init;
    if (init.srq) wanted.cap.max_recv_wr = wanted.cap.max_recv_sge = 0;  // ibv_create_qp(3)
    const std::lock_guard guard(context.adapter->lock());
    if (!has_sound_queues(init)) return refuse(EINVAL);
    Device& engine = context.adapter->engine();
    if (!fits(wanted.cap, engine.config())) return refuse(EINVAL);
    const std::uint32_t number = context.adapter->take_number();
    if (number == 0) return refuse(ENOMEM);

    auto object = HandlePool<QueuePairObject>::make();
    object->engine =
        engine.create_queue_pair(engine_init(wanted, *transport, of, number, object.get()));
    if (!object->engine) return nullptr;
    static std::atomic<std::uint64_t> created = 0;
    object->ordinal = ++created;
    ibv_qp& qp = object->shown.qp_base;
    qp.context = opened;
    qp.qp_context = init.qp_context;
    qp.pd = of.pd;
    const Role role = role_of(init.qp_type);
    qp.send_cq = role != Role::target ? init.send_cq : nullptr;
    qp.recv_cq = role == Role::both ? init.recv_cq : nullptr;
    qp.srq = init.srq;
    qp.handle = number;
    qp.qp_num = number;
    qp.state = IBV_QPS_RESET;
    qp.qp_type = init.qp_type;
    init.cap = capacities_of(object->engine->init());
    pthread_mutex_init(&qp.mutex, nullptr);
    pthread_cond_init(&qp.cond, nullptr);
    set_work_operations(object->shown);
    mark_use(use_connected);
    if (of.pd) ++own(of.pd).users;
    if (of.xrcd) {
        object->extended_domain = &own(of.xrcd);
        ++object->extended_domain->users;
    }
    return shown(*object.release());
}

// The alternate path is one attribute, the primary one is spread over four.
bool set_paths(const Adapter& adapter, const ibv_qp_attr& from, unsigned mask, std::uint8_t port,
               Attributes& to) {
    if (mask & IBV_QP_AV) {
        const std::uint8_t named = from.ah_attr.port_num ? from.ah_attr.port_num : port;
        const auto address = resolved(adapter, from.ah_attr, named);
        if (!address) return false;
        to.primary.address = *address;
    }
    to.primary.pkey_index = from.pkey_index;
    to.primary.timeout = from.timeout;
    if (!(mask & IBV_QP_ALT_PATH)) return true;
    const auto address = resolved(adapter, from.alt_ah_attr, from.alt_port_num);
    if (!address) return false;
    to.alternate = {*address, from.alt_pkey_index, from.alt_timeout};
    return true;
}

bool is_mtu(ibv_mtu mtu) {
    return mtu >= IBV_MTU_256 && mtu <= IBV_MTU_4096;
}

// A path MTU whose packets the interface cannot carry would lose every full packet.
bool fits_interface(const Adapter& adapter, const Attributes& attributes) {
    const Port& port = adapter.ports()[attributes.primary.address.port - 1U];
    const port::Interface& interface = port.interface;
    const Mtu longest = active_mtu(port, adapter.config());
    if (attributes.path_mtu <= longest) return true;
    warn(fmt::format("a path MTU of {} does not fit {}, whose MTU of {} carries {}; ask for {}",
                     mtu_bytes(attributes.path_mtu), interface.name, interface.mtu_bytes,
                     mtu_bytes(longest), mtu_bytes(longest)));
    return false;
}

Attributes engine_attributes(const ibv_qp_attr& from) {
    Attributes to;
    to.state = static_cast<State>(from.qp_state);
    to.current_state = static_cast<State>(from.cur_qp_state);
    to.drained_notice = from.en_sqd_async_notify != 0;
    to.access = from.qp_access_flags;
    to.port = from.port_num;
    to.qkey = from.qkey;
    to.path_mtu = static_cast<Mtu>(from.path_mtu);
    to.destination_qpn = from.dest_qp_num;
    to.migration = static_cast<Migration>(from.path_mig_state);
    to.receive_psn = from.rq_psn;
    to.send_psn = from.sq_psn;
    to.read_atomic_max = from.max_rd_atomic;
    to.destination_read_atomic_max = from.max_dest_rd_atomic;
    to.retry_count = from.retry_cnt;
    to.rnr_retry = from.rnr_retry;
    to.rnr_timer = from.min_rnr_timer;
    return to;
}

void show_attributes(const Attributes& from, ibv_qp_attr& to) {
    to.qp_state = static_cast<ibv_qp_state>(from.state);
    to.cur_qp_state = to.qp_state;
    to.path_mtu = static_cast<ibv_mtu>(from.path_mtu);
    to.path_mig_state = static_cast<ibv_mig_state>(from.migration);
    to.qkey = from.qkey;
    to.rq_psn = from.receive_psn;
    to.sq_psn = from.send_psn;
    to.dest_qp_num = from.destination_qpn;
    to.qp_access_flags = from.access;
    to.ah_attr = shown_address(from.primary.address);
    to.alt_ah_attr = shown_address(from.alternate.address);
    to.pkey_index = from.primary.pkey_index;
    to.alt_pkey_index = from.alternate.pkey_index;
    to.sq_draining = from.draining;
    to.max_rd_atomic = from.read_atomic_max;
    to.max_dest_rd_atomic = from.destination_read_atomic_max;
    to.min_rnr_timer = from.rnr_timer;
    to.port_num = from.port;
    to.timeout = from.primary.timeout;
    to.retry_cnt = from.retry_count;
    to.rnr_retry = from.rnr_retry;
    to.alt_port_num = from.alternate.address.port;
    to.alt_timeout = from.alternate.timeout;
}

ibv_qp_init_attr shown_init(const ibv_qp& qp, const QueuePairInit& from) {
    ibv_qp_init_attr to{};
    to.qp_context = qp.qp_context;
    to.send_cq = qp.send_cq;
    to.recv_cq = qp.recv_cq;
    to.srq = qp.srq;
    to.cap = capacities_of(from);
    to.qp_type = qp.qp_type;
    to.sq_sig_all = from.signal_all;
    return to;
}

}  // namespace

std::uint64_t ordinal_of(Device& engine, std::uint32_t number) {
    const QueuePair *found = engine.find(number);
    return found ? static_cast<const QueuePairObject *>(found->init().cookie)->ordinal : 0;
}

ibv_qp *create_qp_ex(ibv_context *, ibv_qp_init_attr_ex *init) {
    constexpr unsigned known = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_XRCD |
                               IBV_QP_INIT_ATTR_SEND_OPS_FLAGS | IBV_QP_INIT_ATTR_CREATE_FLAGS;
    const bool flags = init->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS && init->create_flags != 0;
    const bool operations = init->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS &&
                            (init->send_ops_flags & ~known_operations) != 0;
    if (init->comp_mask & ~known || flags || operations) return refuse(EOPNOTSUPP);
    const bool takes_extended = init->qp_type == IBV_QPT_XRC_RECV;
    const unsigned parent = takes_extended ? IBV_QP_INIT_ATTR_XRCD : IBV_QP_INIT_ATTR_PD;
    if (!(init->comp_mask & parent)) return refuse(EINVAL);
    const Parents of = takes_extended ? Parents{.xrcd = init->xrcd} : Parents{.pd = init->pd};
    // The extended struct begins with the plain one.
    return make_queue_pair(of, *reinterpret_cast<ibv_qp_init_attr *>(init));
}

int modify(ibv_qp *qp, ibv_qp_attr *attr, int attr_mask) {
    Context& context = own(qp->context);
    const auto mask = static_cast<unsigned>(attr_mask);
    if (mask & unsupported_attributes) return EOPNOTSUPP;
    if (mask & IBV_QP_PATH_MTU && !is_mtu(attr->path_mtu)) return EINVAL;
    const std::lock_guard guard(context.adapter->lock());
    QueuePairObject& object = own(qp);
    if (const int error = gone(object)) return error;
    context.adapter->send_all(lanewise::monotonic_ns());  // it may be about to be reset
    Attributes attributes = engine_attributes(*attr);
    const std::uint8_t port = object.engine->query().port;
    if (!set_paths(*context.adapter, *attr, mask, port, attributes)) return EINVAL;
    if (mask & IBV_QP_PATH_MTU && mask & IBV_QP_AV &&
        !fits_interface(*context.adapter, attributes)) {
        return EINVAL;
    }
    if (const int error = object.engine->modify(attributes, mask)) return error;
    if (object.engine->state() == State::reset) {
        context.adapter->forget_arrived(qp->qp_num);
    }
    qp->state = static_cast<ibv_qp_state>(object.engine->state());
    context.adapter->transmit(lanewise::monotonic_ns());
    context.progress->deadline_changed();
    return 0;
}

}  // namespace lanewise::verbs::abi

using namespace lanewise::verbs::abi;
using lanewise::verbs::Attributes;

extern "C" {

ibv_qp *ibv_create_qp(ibv_pd *pd, ibv_qp_init_attr *qp_init_attr) {
    return make_queue_pair({.pd = pd}, *qp_init_attr);
}

ibv_qp_ex *ibv_qp_to_qp_ex(ibv_qp *qp) {
    if (!is_live(qp)) return refuse(EINVAL);
    return &own(qp).shown;
}

int ibv_modify_qp(ibv_qp *qp, ibv_qp_attr *attr, int attr_mask) {
    if (const int error = command_error("ibv_modify_qp", qp)) return error;
    if (const int error = refusal(qp)) return error;
    return told(modify(qp, attr, attr_mask));
}

int ibv_query_qp(ibv_qp *qp, ibv_qp_attr *attr, int, ibv_qp_init_attr *init_attr) {
    if (const int error = command_error("ibv_query_qp", qp)) return error;
    if (const int error = refusal(qp)) return error;
    Context& context = own(qp->context);
    const std::lock_guard guard(context.adapter->lock());
    if (const int error = gone(own(qp))) return error;
    *attr = {};
    show_attributes(own(qp).engine->query(), *attr);
    const ibv_qp_init_attr init = shown_init(*qp, own(qp).engine->init());
    attr->cap = init.cap;
    if (init_attr) *init_attr = init;
    qp->state = attr->qp_state;
    return 0;
}

// For those that protect queue pairs (paths/preload): why the n-th migration of one took place. The
// numbers are those of MigrationCause; 0 where it is not known.
int lanewise_migration_cause(ibv_qp *qp, std::uint64_t number) {
    if (refusal(qp) != 0) return 0;
    const std::lock_guard guard(own(qp->context).adapter->lock());
    if (gone(own(qp))) return 0;
    return static_cast<int>(own(qp).engine->cause_of_migration(number));
}

// Packets are written in order, and the bytes of one as well (place.hpp), but other processors than
// those of x86 may show them in another.
int ibv_query_qp_data_in_order(ibv_qp *, ibv_wr_opcode, uint32_t) {
    return 0;
}

int ibv_destroy_qp(ibv_qp *qp) {
    if (!is_live(qp)) return EINVAL;
    Context& context = own(qp->context);
    if (context.forked) return 0;
    QueuePairObject& object = own(qp);
    {
        const std::lock_guard guard(context.adapter->lock());
        if (const int error = gone(object)) return error;
        // The peer may be waiting for an acknowledgement of the last message.
        context.adapter->send_all(lanewise::monotonic_ns());
        if (context.adapter->engine().is_member(object.engine)) return told(EBUSY);
        if (const int error = context.adapter->engine().destroy(object.engine)) return told(error);
        object.engine = nullptr;
        context.adapter->forget_arrived(qp->qp_num);
        if (qp->pd) --own(qp->pd).users;
        if (object.extended_domain) --object.extended_domain->users;
    }
    context.events.forget_if([&](const ibv_async_event& event) {
        switch (event.event_type) {
            case IBV_EVENT_CQ_ERR:
            case IBV_EVENT_SRQ_LIMIT_REACHED:
            case IBV_EVENT_PORT_ACTIVE:
            case IBV_EVENT_PORT_ERR: return false;
            default: return event.element.qp == qp;
        }
    });
    wait_for(qp->mutex, qp->cond, qp->events_completed, object.events_taken);
    HandlePool<QueuePairObject>::destroy(&object);
    return 0;
}

// Enhanced connection establishment is a matter of vendors; this one has nothing to say.
int ibv_query_ece(ibv_qp *, ibv_ece *ece) {
    *ece = {};
    return 0;
}

int ibv_set_ece(ibv_qp *, ibv_ece *ece) {
    return ece->vendor_id == 0 && ece->options == 0 ? 0 : EOPNOTSUPP;
}

}  // extern "C"
