// SPDX-License-Identifier: BSD-3-Clause

#include "paths/carried/testing/virtual_devices.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>
#include <utility>

namespace lanewise::paths::carried::testing {
namespace {

constexpr Nanoseconds microsecond_ns = 1'000;
constexpr Nanoseconds timeout_ns = 1'000 * microsecond_ns;
constexpr Nanoseconds not_ready_ns = 100 * microsecond_ns;
constexpr std::uint32_t psn_mask = 0xffffff;
constexpr int retries = 7;
constexpr int reassembled_max = 128;
constexpr std::size_t route_bytes = 40;

Nanoseconds clock_ns = 1'000'000'000;
std::uint32_t last_number = 0x100;

// How far a packet number lies ahead of another; negative where it lies behind.
std::int32_t ahead_of(std::uint32_t psn, std::uint32_t base) {
    return static_cast<std::int32_t>((psn - base) << 8) >> 8;
}

}  // namespace

enum class PacketKind : std::uint8_t {
    send,
    write,
    read,
    response,
    ack,
    not_ready,
    refused,
    datagram,
};

struct Packet {
    PacketKind kind = PacketKind::send;
    ibv_gid to{};
    std::uint32_t to_number = 0;
    std::uint32_t from_number = 0;
    std::uint32_t psn = 0;
    std::uint32_t offset = 0;  // in its message
    bool is_last = true;
    bool has_immediate = false;
    std::uint32_t immediate = 0;
    std::uint64_t address = 0;
    std::uint32_t length = 0;  // of a read
    std::vector<std::byte> bytes;
};

struct VirtualCompletions {
    ibv_cq shown{};
    std::deque<ibv_wc> done;
};

// A request that has not been completed.
struct Posted {
    ibv_send_wr work{};
    std::vector<ibv_sge> pieces;
    std::uint32_t length = 0;
    std::uint32_t first = 0;  // of its packet numbers
    std::uint32_t packets = 1;
    std::vector<std::byte> read;  // what has come of a response

    std::uint32_t last() const { return (first + packets - 1) & psn_mask; }
};

struct Waiting {
    std::uint64_t id = 0;
    ibv_sge piece{};
};

struct VirtualQueuePair {
    ibv_qp shown{};
    VirtualDevice *device = nullptr;
    VirtualCompletions *completions = nullptr;
    ibv_gid peer{};
    std::uint32_t peer_number = 0;
    std::uint32_t packet_bytes = 0;  // by its path MTU
    unsigned access = 0;             // that its peer has
    std::uint64_t life = 0;          // grows with each reset: what was planned before is void

    std::deque<Posted> posted;
    std::uint32_t next_psn = 0;
    int failures = 0;
    Nanoseconds retry_at = never;

    std::deque<Waiting> receives;
    std::uint32_t expected = 0;
    std::map<std::uint32_t, Packet> early;

    void complete(ibv_wc wc) {
        wc.qp_num = shown.qp_num;
        completions->done.push_back(wc);
    }
};

struct VirtualDevice {
    verbs_context extended{};
    ibv_device shown{};
    VirtualNetwork *network = nullptr;
    ibv_gid gid{};
    std::size_t number = 0;  // of its link
    std::uint16_t lid = 0;
    ibv_mtu mtu = IBV_MTU_1024;
    bool is_dead = false;
    int descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE);  // of the events
    std::deque<ibv_async_event> events;
    std::map<std::uint32_t, VirtualQueuePair *> queue_pairs;  // by number
    // Those that were destroyed as well, since something may be planned for them.
    std::vector<std::unique_ptr<VirtualQueuePair>> made;

    VirtualDevice() = default;
    ~VirtualDevice() { close(descriptor); }
    VirtualDevice(const VirtualDevice&) = delete;
    VirtualDevice& operator=(const VirtualDevice&) = delete;

    bool is_up() const { return network->link(number).up; }
    void raise(const ibv_async_event& event) {
        events.push_back(event);
        eventfd_write(descriptor, 1);
    }
};

namespace {

VirtualDevice& own(ibv_context *context) {
    return *reinterpret_cast<VirtualDevice *>(verbs_get_ctx(context));
}
VirtualQueuePair& own(ibv_qp *qp) {
    return *reinterpret_cast<VirtualQueuePair *>(qp);
}
VirtualCompletions& own(ibv_cq *cq) {
    return *reinterpret_cast<VirtualCompletions *>(cq);
}
std::byte *at(std::uint64_t address) {
    return reinterpret_cast<std::byte *>(static_cast<std::uintptr_t>(address));
}

struct AddressHandle {
    ibv_ah shown{};
    ibv_gid gid{};
};

// Copies part of what a request names to a packet.
std::vector<std::byte> gathered(const Posted& from, std::uint32_t offset, std::uint32_t count) {
    std::vector<std::byte> all;
    for (const ibv_sge& piece : from.pieces) {
        all.insert(all.end(), at(piece.addr), at(piece.addr) + piece.length);
    }
    return {all.begin() + offset, all.begin() + offset + count};
}

void scatter(const std::vector<ibv_sge>& pieces, const std::vector<std::byte>& bytes) {
    std::size_t done = 0;
    for (const ibv_sge& piece : pieces) {
        const std::size_t count = std::min<std::size_t>(piece.length, bytes.size() - done);
        std::memcpy(at(piece.addr), bytes.data() + done, count);
        done += count;
    }
}

ibv_wc completion_of(const Posted& one, ibv_wc_status status) {
    ibv_wc wc{};
    wc.wr_id = one.work.wr_id;
    wc.status = status;
    wc.opcode = one.work.opcode == IBV_WR_RDMA_READ ? IBV_WC_RDMA_READ : IBV_WC_SEND;
    return wc;
}

std::uint32_t packets_of(const VirtualQueuePair& qp, std::uint32_t bytes) {
    return std::max(1U, (bytes + qp.packet_bytes - 1) / qp.packet_bytes);
}

// The requester.

void transmit(VirtualQueuePair& qp, const Posted& one, std::uint32_t index) {
    Packet packet;
    packet.to = qp.peer;
    packet.to_number = qp.peer_number;
    packet.psn = (one.first + index) & psn_mask;
    packet.address = one.work.wr.rdma.remote_addr;
    packet.offset = index * qp.packet_bytes;
    packet.is_last = index + 1 == one.packets;
    if (one.work.opcode == IBV_WR_RDMA_READ) {
        packet.kind = PacketKind::read;
        packet.psn = one.first;
        packet.length = one.length;
    } else {
        packet.kind = one.work.opcode == IBV_WR_SEND ? PacketKind::send : PacketKind::write;
        packet.has_immediate = packet.is_last && packet.kind == PacketKind::write;
        packet.immediate = one.work.imm_data;
        const std::uint32_t left = one.length - packet.offset;
        packet.bytes = gathered(one, packet.offset, std::min(left, qp.packet_bytes));
    }
    qp.device->network->send(*qp.device, std::move(packet));
}

void transmit(VirtualQueuePair& qp, const Posted& one) {
    const bool reads = one.work.opcode == IBV_WR_RDMA_READ;
    for (std::uint32_t index = 0; index < (reads ? 1 : one.packets); ++index) {
        transmit(qp, one, index);
    }
}

void watch(VirtualQueuePair& qp);

void complete_flushed(VirtualQueuePair& qp) {
    for (const Posted& one : qp.posted) qp.complete(completion_of(one, IBV_WC_WR_FLUSH_ERR));
    for (const Waiting& one : qp.receives) {
        ibv_wc wc{};
        wc.wr_id = one.id;
        wc.status = IBV_WC_WR_FLUSH_ERR;
        wc.opcode = IBV_WC_RECV;
        qp.complete(wc);
    }
    qp.posted.clear();
    qp.receives.clear();
}

void flush(VirtualQueuePair& qp) {
    qp.shown.state = IBV_QPS_ERR;
    ++qp.life;
    qp.early.clear();
    VirtualNetwork& network = *qp.device->network;
    if (network.flush_max_ns() == 0) return complete_flushed(qp);
    const Nanoseconds delay = network.draw(static_cast<std::uint32_t>(network.flush_max_ns()));
    network.after(delay, [&qp, life = qp.life] {
        if (qp.life == life) complete_flushed(qp);
    });
}

void on_timeout(VirtualQueuePair& qp) {
    if (qp.posted.empty()) return;
    if (++qp.failures > retries) {
        qp.complete(completion_of(qp.posted.front(), IBV_WC_RETRY_EXC_ERR));
        qp.posted.pop_front();
        flush(qp);
        return;
    }
    for (const Posted& one : qp.posted) transmit(qp, one);
    qp.retry_at = clock_ns + timeout_ns;
    watch(qp);
}

void watch(VirtualQueuePair& qp) {
    qp.device->network->after(qp.retry_at - clock_ns, [&qp, life = qp.life, due = qp.retry_at] {
        if (qp.life == life && qp.retry_at == due) on_timeout(qp);
    });
}

void wait_again(VirtualQueuePair& qp, Nanoseconds delay) {
    qp.retry_at = clock_ns + delay;
    watch(qp);
}

// All up to this number has been executed by the peer.
void on_ack(VirtualQueuePair& qp, std::uint32_t psn) {
    if (qp.posted.empty() || ahead_of(psn, qp.posted.front().first) < 0 ||
        ahead_of(psn, qp.next_psn) >= 0) {
        return;
    }
    while (!qp.posted.empty() && ahead_of(psn, qp.posted.front().last()) >= 0) {
        const Posted& one = qp.posted.front();
        if (one.work.opcode == IBV_WR_RDMA_READ && one.read.size() < one.length) return;
        if (one.work.opcode == IBV_WR_RDMA_READ) scatter(one.pieces, one.read);
        qp.complete(completion_of(one, IBV_WC_SUCCESS));
        qp.posted.pop_front();
        qp.failures = 0;
        wait_again(qp, timeout_ns);
    }
}

void on_response(VirtualQueuePair& qp, const Packet& packet) {
    for (Posted& one : qp.posted) {
        if (one.work.opcode == IBV_WR_RDMA_READ && one.first == packet.psn) {
            one.read = packet.bytes;
            on_ack(qp, one.last());
            return;
        }
    }
}

void on_refused(VirtualQueuePair& qp, std::uint32_t psn) {
    on_ack(qp, (psn - 1) & psn_mask);
    if (qp.posted.empty()) return;
    qp.complete(completion_of(qp.posted.front(), IBV_WC_REM_ACCESS_ERR));
    qp.posted.pop_front();
    flush(qp);
}

// The responder.

void answer(VirtualQueuePair& qp, PacketKind kind, std::uint32_t psn,
            std::vector<std::byte> bytes = {}) {
    Packet packet;
    packet.kind = kind;
    packet.to = qp.peer;
    packet.to_number = qp.peer_number;
    packet.psn = psn;
    packet.bytes = std::move(bytes);
    qp.device->network->send(*qp.device, std::move(packet));
}

void answer_read(VirtualQueuePair& qp, const Packet& packet) {
    answer(qp, PacketKind::response, packet.psn,
           {at(packet.address), at(packet.address) + packet.length});
}

// All packets of a message but the last are as long as the path MTU of the receiver.
bool is_invalid(const VirtualQueuePair& qp, const Packet& packet) {
    if (packet.kind == PacketKind::read) return false;
    return packet.bytes.size() > qp.packet_bytes ||
           (!packet.is_last && packet.bytes.size() < qp.packet_bytes);
}

// Its queue pair has failed as well, which an event says.
void refuse(VirtualQueuePair& qp) {
    ibv_async_event event{};
    event.event_type = IBV_EVENT_QP_ACCESS_ERR;
    event.element.qp = &qp.shown;
    qp.device->raise(event);
    flush(qp);
}

// False where the receiver is not ready.
bool execute(VirtualQueuePair& qp, const Packet& packet) {
    const bool receives = packet.kind == PacketKind::send || packet.has_immediate;
    if (receives && qp.receives.empty()) return false;
    const Link& link = qp.device->network->link(qp.device->number);
    const bool may_write = (qp.access & IBV_ACCESS_REMOTE_WRITE) != 0 && !link.refuses_writes;
    if ((packet.kind == PacketKind::write && !may_write) || is_invalid(qp, packet)) {
        answer(qp, PacketKind::refused, packet.psn);
        refuse(qp);
        return true;
    }
    if (packet.kind == PacketKind::read) {
        const std::uint32_t count = packets_of(qp, packet.length);
        qp.expected = (qp.expected + count) & psn_mask;
        answer_read(qp, packet);
        return true;
    }
    std::byte *to =
        packet.kind == PacketKind::send ? at(qp.receives.front().piece.addr) : at(packet.address);
    std::memcpy(to + packet.offset, packet.bytes.data(), packet.bytes.size());
    qp.expected = (qp.expected + 1) & psn_mask;
    if (receives && packet.is_last) {
        ibv_wc wc{};
        wc.wr_id = qp.receives.front().id;
        wc.opcode = packet.kind == PacketKind::send ? IBV_WC_RECV : IBV_WC_RECV_RDMA_WITH_IMM;
        wc.byte_len = packet.offset + static_cast<std::uint32_t>(packet.bytes.size());
        wc.imm_data = packet.immediate;
        wc.wc_flags = packet.has_immediate ? IBV_WC_WITH_IMM : 0;
        qp.receives.pop_front();
        qp.complete(wc);
    }
    answer(qp, PacketKind::ack, packet.psn);
    return true;
}

void on_request(VirtualQueuePair& qp, const Packet& packet) {
    const std::int32_t ahead = ahead_of(packet.psn, qp.expected);
    if (ahead < 0) {
        if (packet.kind == PacketKind::read) answer_read(qp, packet);
        answer(qp, PacketKind::ack, (qp.expected - 1) & psn_mask);
        return;
    }
    if (ahead > 0) {
        if (ahead < reassembled_max) qp.early.emplace(packet.psn, packet);
        return;
    }
    if (!execute(qp, packet)) {
        answer(qp, PacketKind::not_ready, packet.psn);
        return;
    }
    for (auto next = qp.early.find(qp.expected); next != qp.early.end();
         next = qp.early.find(qp.expected)) {
        const Packet buffered = std::move(next->second);
        qp.early.erase(next);
        if (!execute(qp, buffered)) return;
    }
}

void on_datagram(VirtualQueuePair& qp, const Packet& packet) {
    if (qp.receives.empty()) return;
    const Waiting to = qp.receives.front();
    qp.receives.pop_front();
    std::memcpy(at(to.piece.addr) + route_bytes, packet.bytes.data(), packet.bytes.size());
    ibv_wc wc{};
    wc.wr_id = to.id;
    wc.opcode = IBV_WC_RECV;
    wc.byte_len = static_cast<std::uint32_t>(route_bytes + packet.bytes.size());
    qp.complete(wc);
}

bool is_ready(const VirtualQueuePair& qp) {
    return qp.shown.state == IBV_QPS_RTR || qp.shown.state == IBV_QPS_RTS;
}

void deliver(VirtualDevice& device, const Packet& packet) {
    const auto found = device.queue_pairs.find(packet.to_number);
    if (found == device.queue_pairs.end()) return;
    VirtualQueuePair& qp = *found->second;
    if (!is_ready(qp)) return;
    switch (packet.kind) {
        case PacketKind::datagram: return on_datagram(qp, packet);
        case PacketKind::ack: return on_ack(qp, packet.psn);
        case PacketKind::response: return on_response(qp, packet);
        case PacketKind::refused: return on_refused(qp, packet.psn);
        case PacketKind::not_ready:
            on_ack(qp, (packet.psn - 1) & psn_mask);
            if (!qp.posted.empty()) --qp.failures;
            return wait_again(qp, not_ready_ns);
        default: return on_request(qp, packet);
    }
}

// Whether the number of a packet is one that the queue pair waits for, now or later. It would take
// such a packet for one of its own, even if it is of a life before.
bool is_awaited(const VirtualQueuePair& qp, const Packet& packet) {
    const auto begins_with = [&](const Posted& one) { return one.first == packet.psn; };
    switch (packet.kind) {
        case PacketKind::ack:
        case PacketKind::not_ready:
            return !qp.posted.empty() && ahead_of(packet.psn, qp.posted.front().first) >= 0 &&
                   ahead_of(packet.psn, qp.next_psn) < 0;
        case PacketKind::response: return std::ranges::any_of(qp.posted, begins_with);
        default: return ahead_of(packet.psn, qp.expected) >= 0;
    }
}

// The verbs.

int query_device(ibv_context *, ibv_device_attr *attributes) {
    *attributes = {};
    attributes->phys_port_cnt = 1;
    attributes->max_sge = attributes->max_srq_sge = pieces_max;
    attributes->max_qp_wr = attributes->max_cqe = attributes->max_srq_wr = 1 << 14;
    attributes->max_qp_rd_atom = attributes->max_qp_init_rd_atom = 16;
    return 0;
}

// As on a ConnectX card: the address is there once for each version of RoCE.
int query_gid(ibv_context *context, std::uint8_t, int index, ibv_gid *gid) {
    const ibv_gid none{};
    if (index > 1 || std::memcmp(&own(context).gid, &none, sizeof none) == 0) return -1;
    *gid = own(context).gid;
    return 0;
}

int query_gid_ex(ibv_context *context, std::uint32_t, std::uint32_t index, ibv_gid_entry *entry,
                 std::uint32_t, std::size_t) {
    if (query_gid(context, 1, static_cast<int>(index), &entry->gid) != 0) return ENODATA;
    entry->gid_type = index == 0 ? IBV_GID_TYPE_ROCE_V1 : IBV_GID_TYPE_ROCE_V2;
    return 0;
}

int query_port(ibv_context *context, std::uint8_t, ibv_port_attr *attributes, std::size_t) {
    if (own(context).is_dead) return EIO;
    *attributes = {};
    attributes->state = own(context).is_up() ? IBV_PORT_ACTIVE : IBV_PORT_DOWN;
    attributes->active_mtu = own(context).mtu;
    attributes->lid = own(context).lid;
    attributes->max_msg_sz = 1U << 30;
    return 0;
}

ibv_pd *alloc_pd(ibv_context *context) {
    return new ibv_pd{context, ++last_number};
}
int dealloc_pd(ibv_pd *domain) {
    delete domain;
    return 0;
}

ibv_mr *reg_mr(ibv_pd *domain, void *memory, std::size_t bytes, std::uint64_t, unsigned) {
    auto *made = new ibv_mr{};
    made->context = domain->context;
    made->pd = domain;
    made->addr = memory;
    made->length = bytes;
    made->lkey = made->rkey = ++last_number;
    return made;
}
int dereg_mr(ibv_mr *region) {
    delete region;
    return 0;
}

ibv_comp_channel *create_channel(ibv_context *context) {
    return new ibv_comp_channel{context, -1, 0};
}
int destroy_channel(ibv_comp_channel *channel) {
    delete channel;
    return 0;
}
int get_cq_event(ibv_comp_channel *, ibv_cq **, void **) {
    return -1;
}
void ack_cq_events(ibv_cq *, unsigned) {}

ibv_cq *create_cq(ibv_context *context, int entries, void *, ibv_comp_channel *, int) {
    auto *made = new VirtualCompletions;
    made->shown.cqe = entries;
    made->shown.context = context;
    return &made->shown;
}
int resize_cq(ibv_cq *queue, int entries) {
    queue->cqe = entries;
    return 0;
}
int destroy_cq(ibv_cq *queue) {
    delete &own(queue);
    return 0;
}

int poll_cq(ibv_cq *queue, int count, ibv_wc *into) {
    std::deque<ibv_wc>& done = own(queue).done;
    int taken = 0;
    for (; taken < count && !done.empty(); ++taken) {
        into[taken] = done.front();
        done.pop_front();
    }
    return taken;
}
int req_notify_cq(ibv_cq *, int) {
    return 0;
}

ibv_qp *create_qp(ibv_pd *domain, ibv_qp_init_attr *wanted) {
    if (wanted->cap.max_send_sge > static_cast<std::uint32_t>(pieces_max)) {
        return errno = EINVAL, nullptr;
    }
    VirtualDevice& device = own(domain->context);
    VirtualQueuePair *made = device.made.emplace_back(new VirtualQueuePair).get();
    made->device = &device;
    made->completions = &own(wanted->send_cq);
    made->shown.context = domain->context;
    made->shown.qp_num = ++last_number;
    made->shown.qp_type = wanted->qp_type;
    device.queue_pairs[made->shown.qp_num] = made;
    return &made->shown;
}

int modify_qp(ibv_qp *shown, ibv_qp_attr *attributes, int mask) {
    VirtualQueuePair& qp = own(shown);
    if (qp.device->is_dead) return EIO;
    if (attributes->qp_state == IBV_QPS_ERR) {
        if (shown->state != IBV_QPS_ERR) flush(qp);
        return 0;
    }
    if (shown->state == IBV_QPS_ERR && attributes->qp_state != IBV_QPS_RESET) return EINVAL;
    shown->state = attributes->qp_state;
    if (attributes->qp_state == IBV_QPS_RESET) {
        ++qp.life;
        qp.posted.clear();
        qp.receives.clear();
        qp.early.clear();
        qp.failures = 0;
    }
    if (mask & IBV_QP_ACCESS_FLAGS) qp.access = attributes->qp_access_flags;
    if (mask & IBV_QP_AV) qp.peer = qp.device->network->gid_of(attributes->ah_attr);
    if (mask & IBV_QP_PATH_MTU) qp.packet_bytes = 128U << attributes->path_mtu;
    if (mask & IBV_QP_DEST_QPN) qp.peer_number = attributes->dest_qp_num;
    if (mask & IBV_QP_RQ_PSN) qp.expected = attributes->rq_psn;
    if (mask & IBV_QP_SQ_PSN) qp.next_psn = attributes->sq_psn;
    if (attributes->qp_state == IBV_QPS_RTR) qp.device->network->bring_kept(qp);
    return 0;
}

int query_qp(ibv_qp *shown, ibv_qp_attr *attributes, int /*mask*/, ibv_qp_init_attr * /*init*/) {
    attributes->qp_state = shown->state;
    return 0;
}

int destroy_qp(ibv_qp *shown) {
    VirtualQueuePair& qp = own(shown);
    qp.device->queue_pairs.erase(shown->qp_num);
    ++qp.life;
    shown->state = IBV_QPS_RESET;
    return 0;
}

void post_datagram(VirtualQueuePair& qp, const ibv_send_wr& work) {
    ibv_wc wc{};
    wc.wr_id = work.wr_id;
    wc.opcode = IBV_WC_SEND;
    if (qp.shown.state == IBV_QPS_ERR) {
        wc.status = IBV_WC_WR_FLUSH_ERR;
        return qp.complete(wc);
    }
    Packet packet;
    packet.kind = PacketKind::datagram;
    packet.to = reinterpret_cast<AddressHandle *>(work.wr.ud.ah)->gid;
    packet.to_number = work.wr.ud.remote_qpn;
    packet.bytes = {at(work.sg_list->addr), at(work.sg_list->addr) + work.sg_list->length};
    qp.device->network->send(*qp.device, std::move(packet));
    qp.complete(wc);
}

int post_send(ibv_qp *shown, ibv_send_wr *work, ibv_send_wr **) {
    VirtualQueuePair& qp = own(shown);
    for (; work; work = work->next) {
        if (shown->qp_type == IBV_QPT_UD) {
            post_datagram(qp, *work);
            continue;
        }
        Posted one;
        one.work = *work;
        one.pieces.assign(work->sg_list, work->sg_list + work->num_sge);
        for (const ibv_sge& piece : one.pieces) one.length += piece.length;
        one.packets = packets_of(qp, one.length);
        one.first = qp.next_psn;
        qp.next_psn = (qp.next_psn + one.packets) & psn_mask;
        const bool first = qp.posted.empty();
        qp.posted.push_back(one);
        if (shown->state == IBV_QPS_ERR) {
            flush(qp);
        } else {
            transmit(qp, one);
            if (first) wait_again(qp, timeout_ns);
        }
    }
    return 0;
}

int post_receive(ibv_qp *shown, ibv_recv_wr *work, ibv_recv_wr **) {
    VirtualQueuePair& qp = own(shown);
    for (; work; work = work->next) qp.receives.push_back({work->wr_id, *work->sg_list});
    if (shown->state == IBV_QPS_ERR) flush(qp);
    return 0;
}

ibv_ah *create_ah(ibv_pd *domain, ibv_ah_attr *attributes) {
    const ibv_gid none{};
    const ibv_gid gid = own(domain->context).network->gid_of(*attributes);
    if (std::memcmp(&gid, &none, sizeof none) == 0) return errno = EINVAL, nullptr;
    auto *made = new AddressHandle;
    made->shown.context = domain->context;
    made->gid = gid;
    return &made->shown;
}
int destroy_ah(ibv_ah *handle) {
    delete reinterpret_cast<AddressHandle *>(handle);
    return 0;
}

int get_async_event(ibv_context *context, ibv_async_event *event) {
    std::deque<ibv_async_event>& events = own(context).events;
    eventfd_t unused = 0;
    if (eventfd_read(context->async_fd, &unused) != 0) return -1;
    *event = events.front();
    events.pop_front();
    return 0;
}
void ack_async_event(ibv_async_event *) {}

int close_device(ibv_context *) {
    return 0;
}

}  // namespace

VirtualNetwork::VirtualNetwork(std::uint32_t seed) : random_(seed) {
    for (std::size_t at = 0; at < host_count * devices_each; ++at) {
        auto made = std::make_unique<VirtualDevice>();
        made->network = this;
        made->number = at % devices_each;
        made->gid = gid(at / devices_each, made->number);
        made->lid = lid(at / devices_each, made->number);
        std::snprintf(made->shown.name, sizeof made->shown.name, "virtual%zu", made->number);
        verbs_context& extended = made->extended;
        extended.sz = sizeof extended;
        extended.query_port = query_port;
        ibv_context& context = extended.context;
        context.device = &made->shown;
        context.async_fd = made->descriptor;
        context.num_comp_vectors = 1;
        context.abi_compat = __VERBS_ABI_IS_EXTENDED;
        context.ops.poll_cq = poll_cq;
        context.ops.req_notify_cq = req_notify_cq;
        context.ops.post_send = post_send;
        context.ops.post_recv = post_receive;
        devices_.push_back(std::move(made));
    }
}

VirtualNetwork::~VirtualNetwork() = default;

Verbs VirtualNetwork::verbs() {
    Verbs made;
    made.close_device = close_device;
    made.query_device = query_device;
    made.query_gid = query_gid;
    made.query_gid_ex = query_gid_ex;
    made.alloc_pd = alloc_pd;
    made.dealloc_pd = dealloc_pd;
    made.reg_mr_iova2 = reg_mr;
    made.dereg_mr = dereg_mr;
    made.create_comp_channel = create_channel;
    made.destroy_comp_channel = destroy_channel;
    made.get_cq_event = get_cq_event;
    made.ack_cq_events = ack_cq_events;
    made.create_cq = create_cq;
    made.resize_cq = resize_cq;
    made.destroy_cq = destroy_cq;
    made.create_qp = create_qp;
    made.modify_qp = modify_qp;
    made.query_qp = query_qp;
    made.destroy_qp = destroy_qp;
    made.create_ah = create_ah;
    made.destroy_ah = destroy_ah;
    made.get_async_event = get_async_event;
    made.ack_async_event = ack_async_event;
    return made;
}

Nanoseconds VirtualNetwork::now() {
    return clock_ns;
}

ibv_context *VirtualNetwork::context(std::size_t host, std::size_t device) {
    return &devices_[host * devices_each + device]->extended.context;
}

ibv_gid VirtualNetwork::gid(std::size_t host, std::size_t device) const {
    ibv_gid made{};
    made.raw[10] = made.raw[11] = 0xff;
    made.raw[12] = 10;
    made.raw[14] = static_cast<std::uint8_t>(device);
    made.raw[15] = static_cast<std::uint8_t>(host + 1);
    return made;
}

void VirtualNetwork::set_mtu(std::size_t host, std::size_t device, ibv_mtu mtu) {
    own(context(host, device)).mtu = mtu;
}

void VirtualNetwork::set_up(std::size_t number, bool up) {
    if (std::exchange(links_[number].up, up) == up) return;
    for (const auto& device : devices_) {
        if (device->number != number) continue;
        ibv_async_event event{};
        event.event_type = up ? IBV_EVENT_PORT_ACTIVE : IBV_EVENT_PORT_ERR;
        event.element.port_num = 1;
        device->raise(event);
    }
}

void VirtualNetwork::fail(std::size_t host, std::size_t device) {
    VirtualDevice& dead = own(context(host, device));
    dead.is_dead = true;
    for (const auto& [number, queue_pair] : dead.queue_pairs) flush(*queue_pair);
    ibv_async_event event{};
    event.event_type = IBV_EVENT_DEVICE_FATAL;
    dead.raise(event);
}

void VirtualNetwork::lose_completions(std::size_t host, std::size_t device, ibv_cq *queue) {
    ibv_async_event event{};
    event.event_type = IBV_EVENT_CQ_ERR;
    event.element.cq = queue;
    own(context(host, device)).raise(event);
}

void VirtualNetwork::remove_address(std::size_t host, std::size_t device) {
    own(context(host, device)).gid = {};
}

void VirtualNetwork::restore_address(std::size_t host, std::size_t device) {
    VirtualDevice& restored = own(context(host, device));
    restored.gid = gid(host, device);
    ibv_async_event event{};
    event.event_type = IBV_EVENT_GID_CHANGE;
    event.element.port_num = 1;
    restored.raise(event);
}

void VirtualNetwork::number_from(std::uint32_t number) {
    last_number = number;
}

ibv_gid VirtualNetwork::gid_of(const ibv_ah_attr& path) const {
    if (path.is_global) return path.grh.dgid;
    for (const auto& device : devices_) {
        if (device->lid == path.dlid) return device->gid;
    }
    return {};
}

bool VirtualNetwork::chance(double probability) {
    return probability > 0 && std::bernoulli_distribution(probability)(random_);
}

void VirtualNetwork::after(Nanoseconds delay, std::function<void()> then) {
    events_.emplace(clock_ns + delay, std::move(then));
}

void VirtualNetwork::run_until(Nanoseconds moment) {
    while (!events_.empty() && events_.begin()->first <= moment) {
        const auto event = events_.extract(events_.begin());
        clock_ns = std::max(clock_ns, event.key());
        event.mapped()();
    }
    clock_ns = std::max(clock_ns, moment);
}

void VirtualNetwork::send(const VirtualDevice& from, Packet packet) {
    const Link& link = links_[from.number];
    if (!link.up || link.silent || chance(link.loss)) return;
    Nanoseconds delay = draw(static_cast<std::uint32_t>(link.delay_max_ns));
    if (chance(link.late)) delay += draw(static_cast<std::uint32_t>(link.late_max_ns));
    VirtualDevice *to = nullptr;
    for (const auto& device : devices_) {
        if (std::memcmp(&device->gid, &packet.to, sizeof packet.to) == 0) to = device.get();
    }
    if (!to || to->number != from.number) return;
    if (packet.kind != PacketKind::datagram && chance(link.kept)) {
        kept_.emplace(packet.to_number, packet);
    }
    after(delay, [to, packet = std::move(packet)] { deliver(*to, packet); });
}

void VirtualNetwork::bring_kept(VirtualQueuePair& queue_pair) {
    const Link& link = links_[queue_pair.device->number];
    const auto [begin, end] = kept_.equal_range(queue_pair.shown.qp_num);
    for (auto at = begin; at != end; ++at) {
        const Nanoseconds delay = draw(static_cast<std::uint32_t>(link.kept_max_ns));
        after(delay, [this, &queue_pair, packet = std::move(at->second)] {
            if (!is_ready(queue_pair)) return;
            ++kept_count_;
            if (is_awaited(queue_pair, packet)) ++mistaken_count_;
            deliver(*queue_pair.device, packet);
        });
    }
    kept_.erase(begin, end);
}

}  // namespace lanewise::paths::carried::testing
