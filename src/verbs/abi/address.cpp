// SPDX-License-Identifier: BSD-3-Clause
//
// Address vectors and address handles.

#include "verbs/abi/objects.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace lanewise::verbs::abi {
namespace {

Address address_of(const ibv_gid& gid) {
    Address made;
    std::copy(std::begin(gid.raw), std::end(gid.raw), made.begin());
    return made;
}

// By GIDs: both ends are addresses already.
bool resolve_global(AddressVector& address, const Port& port) {
    if (address.source_gid_index >= port.gids.size()) return false;
    address.source = port.gids[address.source_gid_index];
    address.destination = address.destination_gid;
    return address.source != no_address && address.destination != no_address &&
           is_ipv4(address.source) == is_ipv4(address.destination);
}

// By LIDs, as InfiniBand does inside of a subnet.
bool resolve_local(AddressVector& address, const Port& port, const LidPlan& plan) {
    const std::optional<Address> source = address_of_lid(port, lid_of(port, plan), plan);
    const std::optional<Address> destination = address_of_lid(port, address.destination_lid, plan);
    if (!source || !destination || address.destination_lid == 0) return false;
    address.source = *source;
    address.destination = *destination;
    return true;
}

// The address handle of who sent a datagram, from the 40 bytes before its data. RoCEv2 puts an IPv6
// header there, or 20 bytes and an IPv4 header (annex A17.4.5).
void read_header(const ibv_grh& grh, Address& source, Address& destination,
                 std::uint8_t& traffic_class) {
    std::array<std::uint8_t, sizeof grh> bytes{};
    std::memcpy(bytes.data(), &grh, sizeof grh);
    if (bytes[0] >> 4 == 6) {
        traffic_class = static_cast<std::uint8_t>(bytes[0] << 4 | bytes[1] >> 4);
        source = address_of(grh.sgid);
        destination = address_of(grh.dgid);
        return;
    }
    traffic_class = bytes[21];
    in_addr from{};
    in_addr to{};
    std::memcpy(&from, bytes.data() + 32, sizeof from);
    std::memcpy(&to, bytes.data() + 36, sizeof to);
    source = port::address_of(from);
    destination = port::address_of(to);
}

}  // namespace

std::optional<AddressVector> resolved(const Adapter& adapter, const ibv_ah_attr& attributes,
                                      std::uint8_t port) {
    if (port < 1 || port > adapter.ports().size()) return std::nullopt;
    AddressVector address;
    address.port = port;
    address.service_level = attributes.sl;
    address.source_path_bits = attributes.src_path_bits;
    address.static_rate = attributes.static_rate;
    address.destination_lid = attributes.dlid;
    address.is_global = attributes.is_global;
    address.source_gid_index = attributes.grh.sgid_index;
    address.hop_limit = attributes.grh.hop_limit;
    address.traffic_class = attributes.grh.traffic_class;
    address.flow_label = attributes.grh.flow_label;
    address.destination_gid = address_of(attributes.grh.dgid);

    const Port& where = adapter.ports()[port - 1U];
    const bool by_lid = adapter.config().link_layer == LinkLayer::infiniband && !address.is_global;
    const bool meant = by_lid ? resolve_local(address, where, adapter.config().lids)
                              : address.is_global && resolve_global(address, where);
    if (!meant) return std::nullopt;
    return address;
}

ibv_ah_attr shown_address(const AddressVector& address) {
    ibv_ah_attr made{};
    std::copy(address.destination_gid.begin(), address.destination_gid.end(),
              std::begin(made.grh.dgid.raw));
    made.grh.flow_label = address.flow_label;
    made.grh.sgid_index = address.source_gid_index;
    made.grh.hop_limit = address.hop_limit;
    made.grh.traffic_class = address.traffic_class;
    made.dlid = address.destination_lid;
    made.sl = address.service_level;
    made.src_path_bits = address.source_path_bits;
    made.static_rate = address.static_rate;
    made.is_global = address.is_global;
    made.port_num = address.port;
    return made;
}

}  // namespace lanewise::verbs::abi

using namespace lanewise::verbs::abi;
using lanewise::verbs::Address;
using lanewise::verbs::congestion_bits;

extern "C" {

ibv_ah *ibv_create_ah(ibv_pd *pd, ibv_ah_attr *attr) {
    if (const int error = command_error("ibv_create_ah", pd)) return refuse(error);
    if (const int error = refusal(pd)) return refuse(error);
    Context& context = own(pd->context);
    const std::lock_guard guard(context.adapter->lock());
    const auto address = resolved(*context.adapter, *attr, attr->port_num);
    if (!address) return refuse(EINVAL);
    auto object = HandlePool<AddressObject>::make(ibv_ah{pd->context, pd, 0}, *address);
    ++own(pd).users;
    return &object.release()->shown;
}

int ibv_destroy_ah(ibv_ah *ah) {
    if (!is_live(ah)) return EINVAL;
    Context& context = own(ah->context);
    if (!context.forked) {
        const std::lock_guard guard(context.adapter->lock());
        --own(ah->pd).users;
    }
    HandlePool<AddressObject>::destroy(&own(ah));
    return 0;
}

int ibv_init_ah_from_wc(ibv_context *context, uint8_t port_num, ibv_wc *wc, ibv_grh *grh,
                        ibv_ah_attr *ah_attr) {
    if (const int error = refusal(context)) return error;
    Context& owner = own(context);
    *ah_attr = {};
    ah_attr->dlid = wc->slid;
    const bool infiniband = owner.adapter->config().link_layer == LinkLayer::infiniband;
    ah_attr->sl = infiniband ? wc->sl : 0;
    ah_attr->src_path_bits = wc->dlid_path_bits;
    ah_attr->port_num = port_num;
    if (!(wc->wc_flags & IBV_WC_GRH)) return 0;

    // The table of GIDs is the device's.
    if (owner.adapter->is_dead()) return EIO;
    const std::lock_guard guard(owner.adapter->lock());
    if (port_num < 1 || port_num > owner.adapter->ports().size()) return EINVAL;
    Address source{};
    Address destination{};
    std::uint8_t traffic_class = 0;
    read_header(*grh, source, destination, traffic_class);
    const GidTable& gids = owner.adapter->ports()[port_num - 1U].gids;
    const auto found = std::find(gids.begin(), gids.end(), destination);
    if (found == gids.end()) return EINVAL;
    ah_attr->is_global = 1;
    std::copy(source.begin(), source.end(), std::begin(ah_attr->grh.dgid.raw));
    ah_attr->grh.sgid_index = static_cast<std::uint8_t>(found - gids.begin());
    ah_attr->grh.hop_limit = 0xff;
    ah_attr->grh.traffic_class = static_cast<std::uint8_t>(traffic_class & ~congestion_bits);
    return 0;
}

ibv_ah *ibv_create_ah_from_wc(ibv_pd *pd, ibv_wc *wc, ibv_grh *grh, uint8_t port_num) {
    if (const int error = refusal(pd)) return refuse(error);
    ibv_ah_attr attributes{};
    if (const int error = ibv_init_ah_from_wc(pd->context, port_num, wc, grh, &attributes)) {
        return refuse(error);
    }
    return ibv_create_ah(pd, &attributes);
}

int ibv_resolve_eth_l2_from_gid(ibv_context *, ibv_ah_attr *, uint8_t *, uint16_t *) {
    return EOPNOTSUPP;
}

// A group is a multicast address of IP, and its members are all who have joined that; no LID says
// more (annex A17.4.1).
int ibv_attach_mcast(ibv_qp *qp, const ibv_gid *gid, uint16_t) {
    if (const int error = command_error("ibv_attach_mcast", qp)) return error;
    if (const int error = refusal(qp)) return error;
    Context& context = own(qp->context);
    const std::lock_guard guard(context.adapter->lock());
    if (const int error = gone(own(qp))) return error;
    return context.adapter->attach(own(qp).engine, address_of(*gid));
}
// As what destroys an object, since a queue pair in a group cannot be destroyed.
int ibv_detach_mcast(ibv_qp *qp, const ibv_gid *gid, uint16_t) {
    if (const int error = planned_error("ibv_detach_mcast", qp)) return told(error);
    if (const int error = refusal(qp)) return error;
    Context& context = own(qp->context);
    const std::lock_guard guard(context.adapter->lock());
    if (const int error = gone(own(qp))) return error;
    return context.adapter->detach(own(qp).engine, address_of(*gid));
}

}  // extern "C"
