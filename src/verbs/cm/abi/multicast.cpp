// SPDX-License-Identifier: BSD-3-Clause
//
// Groups: rdma_join_multicast(3). In RoCEv2 a group is an IP multicast address, mapped into a GID,
// and its members are those of the IP group (annex A17.4.1); nobody has to be asked.

#include <algorithm>
#include <iterator>
#include <mutex>
#include <utility>
#include <vector>

#include "verbs/cm/abi/objects.hpp"

namespace lanewise::verbs::cm {
namespace {

constexpr std::uint32_t multicast_qpn = 0xffffff;

ibv_gid gid_of(const Address& address) {
    ibv_gid gid{};
    std::copy(address.begin(), address.end(), gid.raw);
    return gid;
}

std::vector<Group>::iterator group_of(IdObject& id, const ibv_gid& gid) {
    return std::find_if(id.groups.begin(), id.groups.end(), [&](const Group& one) {
        return std::equal(std::begin(one.gid.raw), std::end(one.gid.raw), std::begin(gid.raw));
    });
}

int join(rdma_cm_id *id, const sockaddr *address, void *context, std::uint32_t flags) {
    if (const int error = refusal(id)) return refuse(error);
    if (!id->verbs || !is_datagram(own(id))) return refuse(EINVAL);
    IdObject& object = own(id);
    const std::optional<Name> group = cm::name_of(address);
    if (!group || !is_multicast(group->address)) return refuse(EINVAL);
    auto event = make_event(object, RDMA_CM_EVENT_MULTICAST_JOIN);
    event->sends_only = flags == RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER;
    rdma_ud_param& shown = event->shown.param.ud;
    shown.private_data = context;
    shown.ah_attr = path_of(object);
    shown.ah_attr.grh.dgid = gid_of(group->address);
    shown.qp_num = multicast_qpn;
    shown.qkey = RDMA_UDP_QKEY;
    {
        const std::lock_guard guard(object.groups_lock);
        object.groups.push_back({shown.ah_attr.grh.dgid});
    }
    add_event(object, std::move(event));
    return complete(object);
}

}  // namespace

// Of a group that has been left meanwhile, the queue pair stays out.
int join_queue_pair(IdObject& id, const EventObject& event) {
    const ibv_gid& gid = event.shown.param.ud.ah_attr.grh.dgid;
    const std::lock_guard guard(id.groups_lock);
    const auto group = group_of(id, gid);
    if (!id.shown.qp || event.sends_only || group == id.groups.end()) return 0;
    const int error = ibv_attach_mcast(id.shown.qp, &gid, 0);
    group->attached = error == 0;
    if (error) id.groups.erase(group);
    return error;
}

void leave_groups(IdObject& id) {
    const std::lock_guard guard(id.groups_lock);
    for (Group& group : id.groups) {
        if (std::exchange(group.attached, false)) ibv_detach_mcast(id.shown.qp, &group.gid, 0);
    }
}

}  // namespace lanewise::verbs::cm

using namespace lanewise::verbs::cm;
using lanewise::verbs::is_multicast;

extern "C" {

int rdma_join_multicast(rdma_cm_id *id, sockaddr *addr, void *context) {
    return join(id, addr, context, RDMA_MC_JOIN_FLAG_FULLMEMBER);
}

int rdma_join_multicast_ex(rdma_cm_id *id, rdma_cm_join_mc_attr_ex *mc_join_attr, void *context) {
    constexpr std::uint32_t both = RDMA_CM_JOIN_MC_ATTR_ADDRESS | RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS;
    if (!mc_join_attr || (mc_join_attr->comp_mask & both) != both ||
        mc_join_attr->join_flags >= RDMA_MC_JOIN_FLAG_RESERVED) {
        return refuse(EINVAL);
    }
    return join(id, mc_join_attr->addr, context, mc_join_attr->join_flags);
}

int rdma_leave_multicast(rdma_cm_id *id, sockaddr *addr) {
    if (const int error = refusal(id)) return refuse(error);
    const std::optional<Name> group = name_of(addr);
    if (!group || !is_multicast(group->address)) return refuse(EINVAL);
    const ibv_gid gid = gid_of(group->address);
    const std::lock_guard guard(own(id).groups_lock);
    const auto joined = group_of(own(id), gid);
    if (joined == own(id).groups.end()) return refuse(EADDRNOTAVAIL);
    const bool attached = joined->attached;
    own(id).groups.erase(joined);
    return attached ? result(ibv_detach_mcast(id->qp, &gid, 0)) : 0;
}

}  // extern "C"
