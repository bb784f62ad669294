// SPDX-License-Identifier: BSD-3-Clause
#include "paths/carried/queue_pair.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "base/clock.hpp"
#include "paths/carried/device_pair.hpp"

namespace lanewise::paths::carried {
namespace {

constexpr std::uint32_t control_key = 0x4c57;
constexpr std::uint8_t timeout_usual = 14;
constexpr std::uint8_t hop_limit_usual = 64;
constexpr std::uint8_t retries = 7;  // and for ever where the peer has no receive
constexpr std::uint8_t shortest_wait = 1;
constexpr std::uint32_t repost_from = 16;
// The work requests of receives have the numbers of their slots.
constexpr std::uint64_t send_mark = ~std::uint64_t{0};
constexpr Nanoseconds ask_again_ns = 5'000'000;
constexpr Nanoseconds departure_ns = 50'000'000;
constexpr int farewells = 3;

Gid gid_of(const ibv_gid& from) {
    Gid made{};
    std::copy(std::begin(from.raw), std::end(from.raw), made.begin());
    return made;
}

bool in_states(ibv_qp_state state, std::initializer_list<ibv_qp_state> states) {
    return std::find(states.begin(), states.end(), state) != states.end();
}

std::optional<Operation> operation_of(ibv_wr_opcode opcode) {
    switch (opcode) {
        case IBV_WR_SEND:
        case IBV_WR_SEND_WITH_IMM:
            return Operation::send;
        case IBV_WR_RDMA_WRITE:
            return Operation::write;
        case IBV_WR_RDMA_WRITE_WITH_IMM:
            return Operation::announced_write;
        case IBV_WR_RDMA_READ:
            return Operation::read;
        case IBV_WR_ATOMIC_CMP_AND_SWP:
            return Operation::compare_swap;
        case IBV_WR_ATOMIC_FETCH_AND_ADD:
            return Operation::fetch_add;
        default:
            return std::nullopt;
    }
}

ibv_wc_opcode completed(Operation operation) {
    switch (operation) {
        case Operation::write:
        case Operation::announced_write:
            return IBV_WC_RDMA_WRITE;
        case Operation::read:
            return IBV_WC_RDMA_READ;
        case Operation::compare_swap:
            return IBV_WC_COMP_SWAP;
        case Operation::fetch_add:
            return IBV_WC_FETCH_ADD;
        default:
            return IBV_WC_SEND;
    }
}

FrameKind kind_of(Operation operation) {
    switch (operation) {
        case Operation::announced_write:
            return FrameKind::announcement;
        case Operation::compare_swap:
            return FrameKind::compare_swap;
        case Operation::fetch_add:
            return FrameKind::fetch_add;
        case Operation::result:
            return FrameKind::result;
        default:
            return FrameKind::data;
    }
}

Frame frame_of(const Message& message) {
    const Request& request = *message.request;
    Frame frame;
    frame.kind = kind_of(request.operation);
    frame.flags = static_cast<std::uint8_t>(
        (message.is_last ? frame_is_last : 0) | (request.has_immediate ? frame_has_immediate : 0) |
        (request.solicited ? frame_is_solicited : 0) | (request.refused ? frame_is_refusal : 0));
    frame.immediate = request.immediate;
    frame.number = message.number;
    frame.remote_address = request.remote_address;
    frame.remote_key = request.remote_key;
    frame.length_bytes = request.length_bytes;
    frame.compare_add = request.compare_add;
    frame.swap = request.swap;
    return frame;
}

}  // namespace

QueuePair::QueuePair(DevicePair& pair, const ibv_qp_init_attr& wanted)
    : pair_(pair),
      init_(wanted),
      send_queue_(reinterpret_cast<CompletionQueue *>(wanted.send_cq)),
      receive_queue_(reinterpret_cast<CompletionQueue *>(wanted.recv_cq)),
      shared_(reinterpret_cast<SharedReceives *>(wanted.srq)),
      receives_(wanted.cap.max_recv_wr),
      memory_(wanted.cap.max_send_wr, wanted.cap.max_inline_data),
      agreement_(pair.options().rules, pair.draw()),
      log_(frame_payload_bytes) {
    for (std::uint32_t slot = 0; slot < receive_slots; ++slot) free_slots_.push_back(slot);
}

std::unique_ptr<QueuePair> QueuePair::make(DevicePair& pair, ibv_pd *domain,
                                           const ibv_qp_init_attr& wanted) {
    std::unique_ptr<QueuePair> made(new QueuePair(pair, wanted));
    if (!made->memory_.data()) return errno = ENOMEM, nullptr;
    if (!made->make_carriers(domain)) return nullptr;
    made->shown_.owner = made.get();
    ibv_qp& shown = made->shown_.qp;
    shown.context = pair.context(0);
    shown.qp_context = wanted.qp_context;
    shown.pd = domain;
    shown.send_cq = wanted.send_cq;
    shown.recv_cq = wanted.recv_cq;
    shown.srq = wanted.srq;
    shown.qp_num = made->carriers_[0].control->qp_num;
    shown.state = IBV_QPS_RESET;
    shown.qp_type = IBV_QPT_RC;
    pthread_mutex_init(&shown.mutex, nullptr);
    pthread_cond_init(&shown.cond, nullptr);
    pair.add_numbers(made.get());
    return made;
}

bool QueuePair::make_carriers(ibv_pd *domain) {
    for (unsigned device = 0; device < device_count; ++device) {
        if (!make_carrier(device, domain) || !make_control(device)) return false;
    }
    return true;
}

bool QueuePair::make_carrier(unsigned device, ibv_pd *domain) {
    const Verbs& verbs = pair_.verbs();
    Carrier& carrier = carriers_[device];
    ibv_pd *on_device = pair_.domain_on(device, domain);
    if (!on_device) return errno = EINVAL, false;
    const auto address = reinterpret_cast<std::uintptr_t>(memory_.data());
    carrier.memory = verbs.reg_mr_iova2(on_device, memory_.data(), memory_.size(), address,
                                        IBV_ACCESS_LOCAL_WRITE);
    if (!carrier.memory) return false;
    ibv_qp_init_attr init{};
    init.send_cq = init.recv_cq = pair_.data_queue(device);
    init.cap.max_send_wr = window;
    init.cap.max_recv_wr = receive_slots;
    init.cap.max_send_sge = init_.cap.max_send_sge + 1;
    init.cap.max_recv_sge = 1;
    init.qp_type = IBV_QPT_RC;
    carrier.data = verbs.create_qp(on_device, &init);
    return carrier.data != nullptr;
}

bool QueuePair::make_control(unsigned device) {
    const Verbs& verbs = pair_.verbs();
    Carrier& carrier = carriers_[device];
    ibv_pd *domain = pair_.control_domain(device);
    const auto address = reinterpret_cast<std::uintptr_t>(memory_.data());
    carrier.control_memory =
        verbs.reg_mr_iova2(domain, memory_.data(), memory_.size(), address, IBV_ACCESS_LOCAL_WRITE);
    ibv_qp_init_attr init{};
    init.send_cq = init.recv_cq = pair_.control_queue(device);
    init.cap = {letter_slots, letter_slots, 1, 1, 0};
    init.qp_type = IBV_QPT_UD;
    carrier.control = verbs.create_qp(domain, &init);
    if (!carrier.control_memory || !carrier.control) return false;
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_INIT;
    attributes.port_num = 1;
    attributes.qkey = control_key;
    int error = verbs.modify_qp(carrier.control, &attributes,
                                IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);
    for (std::uint32_t slot = 0; slot < letter_slots; ++slot) post_letter_receive(device, slot);
    attributes.qp_state = IBV_QPS_RTR;
    if (!error) error = verbs.modify_qp(carrier.control, &attributes, IBV_QP_STATE);
    attributes.qp_state = IBV_QPS_RTS;
    if (!error) {
        error = verbs.modify_qp(carrier.control, &attributes, IBV_QP_STATE | IBV_QP_SQ_PSN);
    }
    if (error) errno = error;
    return error == 0;
}

QueuePair::~QueuePair() {
    const Verbs& verbs = pair_.verbs();
    for (Carrier& carrier : carriers_) {
        if (carrier.data) verbs.destroy_qp(carrier.data);
        if (carrier.memory) verbs.dereg_mr(carrier.memory);
        if (carrier.control) verbs.destroy_qp(carrier.control);
        if (carrier.peer) verbs.destroy_ah(carrier.peer);
        if (carrier.control_memory) verbs.dereg_mr(carrier.control_memory);
    }
}

// States and attributes of the program's queue pair. What it asks for is kept until the carriers
// are opened.
int QueuePair::modify(const ibv_qp_attr& attributes, unsigned mask) {
    const ibv_qp_state before = shown_.qp.state;
    const ibv_qp_state state = mask & IBV_QP_STATE ? attributes.qp_state : before;
    const bool possible = state == before || in_states(state, {IBV_QPS_RESET, IBV_QPS_ERR}) ||
                          (before == IBV_QPS_RESET && state == IBV_QPS_INIT) ||
                          (before == IBV_QPS_INIT && state == IBV_QPS_RTR) ||
                          (before == IBV_QPS_RTR && state == IBV_QPS_RTS) ||
                          (in_states(before, {IBV_QPS_RTS, IBV_QPS_SQD}) &&
                           in_states(state, {IBV_QPS_RTS, IBV_QPS_SQD}));
    if (!possible || (mask & (IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE))) return EINVAL;
    // A queue pair begins anew with new numbers, of which the peer would not know.
    if (state == IBV_QPS_RESET && before != IBV_QPS_RESET && agreement_.epoch() > 0) {
        return EOPNOTSUPP;
    }
    ibv_qp_attr& kept = attributes_;
    if (mask & IBV_QP_ACCESS_FLAGS) kept.qp_access_flags = attributes.qp_access_flags;
    if (mask & IBV_QP_PKEY_INDEX) kept.pkey_index = attributes.pkey_index;
    if (mask & IBV_QP_PORT) kept.port_num = attributes.port_num;
    if (mask & IBV_QP_AV) kept.ah_attr = attributes.ah_attr;
    if (mask & IBV_QP_PATH_MTU) kept.path_mtu = attributes.path_mtu;
    if (mask & IBV_QP_TIMEOUT) kept.timeout = attributes.timeout;
    if (mask & IBV_QP_RETRY_CNT) kept.retry_cnt = attributes.retry_cnt;
    if (mask & IBV_QP_RNR_RETRY) kept.rnr_retry = attributes.rnr_retry;
    if (mask & IBV_QP_RQ_PSN) kept.rq_psn = attributes.rq_psn;
    if (mask & IBV_QP_SQ_PSN) kept.sq_psn = attributes.sq_psn;
    if (mask & IBV_QP_MAX_QP_RD_ATOMIC) kept.max_rd_atomic = attributes.max_rd_atomic;
    if (mask & IBV_QP_MAX_DEST_RD_ATOMIC) kept.max_dest_rd_atomic = attributes.max_dest_rd_atomic;
    if (mask & IBV_QP_MIN_RNR_TIMER) kept.min_rnr_timer = attributes.min_rnr_timer;
    if (mask & IBV_QP_DEST_QPN) kept.dest_qp_num = attributes.dest_qp_num;
    shown_.qp.state = kept.qp_state = state;
    if (state == IBV_QPS_RTR && before == IBV_QPS_INIT) connect(attributes);
    if (state == IBV_QPS_ERR && before != IBV_QPS_ERR) fail(IBV_WC_WR_FLUSH_ERR);
    step();
    return 0;
}

void QueuePair::query(ibv_qp_attr& attributes, ibv_qp_init_attr& init) const {
    attributes = attributes_;
    attributes.qp_state = attributes.cur_qp_state = shown_.qp.state;
    attributes.path_mig_state = IBV_MIG_MIGRATED;
    attributes.cap = init_.cap;
    init = init_;
}

// The end with the lower number leads; where both are equal, that with the lower address.
void QueuePair::connect(const ibv_qp_attr& attributes) {
    Carrier& home = carriers_[0];
    home.path = attributes.ah_attr;
    home.path.port_num = 1;
    home.contact.control_number = attributes.dest_qp_num;
    home.peer = pair_.verbs().create_ah(pair_.control_domain(0), &home.path);
    const std::uint32_t mine = shown_.qp.qp_num;
    const std::uint32_t theirs = attributes.dest_qp_num;
    ibv_gid gid{};
    pair_.verbs().query_gid(pair_.context(0), 1, attributes.ah_attr.grh.sgid_index, &gid);
    const bool leads =
        mine != theirs ? mine < theirs : gid_of(gid) < gid_of(attributes.ah_attr.grh.dgid);
    const bool odd = ((mine ^ theirs) & 1U) != 0;
    const std::uint8_t first = pair_.options().balances && odd ? 1 : 0;
    agreement_.begin(leads ? Role::leader : Role::follower, first, pair_.usable(), monotonic_ns());
    pair_.wake();
}

PairCounters QueuePair::counters() const {
    if (starts_ == 0) return {0, attributes_.dest_qp_num != 0 ? 1U : 0U, 0, 0};
    return {1, 0, starts_ - 1, returns_};
}

Nanoseconds QueuePair::deadline() const {
    return failed_ || departed_at_ != never ? never
           : peer_gone_                     ? fails_at_
                                            : std::min(agreement_.deadline(), asks_again_at_);
}

Letter QueuePair::letter(LetterKind kind) const {
    Letter made;
    made.kind = kind;
    made.from = shown_.qp.qp_num;
    made.to = attributes_.dest_qp_num;
    made.statement = agreement_.statement();
    if (failed_ || departed_at_ != never) {
        made.statement.stage = Stage::gone;
        made.statement.received = received_;
    }
    const Gid like = gid_of(attributes_.ah_attr.grh.dgid);
    for (unsigned device = 0; device < device_count; ++device) {
        std::uint8_t unused = 0;
        Contact& contact = made.contacts[device];
        contact.gid = pair_.own_gid(device, like, unused);
        contact.lid = pair_.own_lid(device);
        contact.control_number = carriers_[device].control->qp_num;
        if (carriers_[device].data) contact.carrier_number = carriers_[device].data->qp_num;
    }
    return made;
}

void QueuePair::send_letter(const Letter& letter, unsigned device) {
    Carrier& carrier = carriers_[device];
    if (!carrier.peer || carrier.letters == letter_slots) return;
    std::byte *out = memory_.letter_out(device, carrier.next_letter);
    std::memcpy(out, &letter, sizeof letter);
    ibv_sge piece{reinterpret_cast<std::uintptr_t>(out), sizeof letter,
                  carrier.control_memory->lkey};
    ibv_send_wr work{};
    work.sg_list = &piece;
    work.num_sge = 1;
    work.opcode = IBV_WR_SEND;
    work.send_flags = IBV_SEND_SIGNALED;
    work.wr.ud = {carrier.peer, carrier.contact.control_number, control_key};
    ibv_send_wr *bad = nullptr;
    if (pair_.operations(device).post_send(carrier.control, &work, &bad) != 0) return;
    ++carrier.letters;
    carrier.next_letter = (carrier.next_letter + 1) % letter_slots;
}

// Where letters can arrive.
void QueuePair::send_everywhere(const Letter& letter) {
    const std::uint8_t devices = pair_.settled();
    for (unsigned device = 0; device < device_count; ++device) {
        if ((devices >> device & 1U) != 0) send_letter(letter, device);
    }
}

void QueuePair::post_letter_receive(unsigned device, std::uint32_t slot) {
    Carrier& carrier = carriers_[device];
    ibv_sge piece{reinterpret_cast<std::uintptr_t>(memory_.letter_in(device, slot)),
                  letter_slot_bytes, carrier.control_memory->lkey};
    ibv_recv_wr work{slot, nullptr, &piece, 1};
    ibv_recv_wr *bad = nullptr;
    pair_.operations(device).post_recv(carrier.control, &work, &bad);
}

void QueuePair::on_letter(const ibv_wc& completion, unsigned device) {
    if (!(completion.opcode & IBV_WC_RECV)) {
        --carriers_[device].letters;
        return;
    }
    const auto slot = static_cast<std::uint32_t>(completion.wr_id);
    std::optional<Letter> found;
    if (completion.status == IBV_WC_SUCCESS) {
        found = read_letter({memory_.letter_in(device, slot) + datagram_header_bytes,
                             completion.byte_len - datagram_header_bytes});
    }
    post_letter_receive(device, slot);
    const bool connected = attributes_.dest_qp_num != 0 && carriers_[0].peer;
    if (!found || !connected || found->to != shown_.qp.qp_num ||
        found->from != attributes_.dest_qp_num) {
        return;
    }
    learn(*found);
    if (failed_ || departed_at_ != never) {
        if (found->statement.stage != Stage::gone)
            send_letter(letter(LetterKind::statement), device);
        return;
    }
    if (found->kind == LetterKind::key_question) {
        answer_key(*found, device);
    } else if (found->kind == LetterKind::key_answer) {
        // One that was not asked for is late, or forged.
        if (asks_again_at_ == never || found->key != asked_key_) return;
        peer_keys_[found->key] = found->answer;
        asks_again_at_ = never;
    } else if (found->statement.stage == Stage::gone) {
        peer_gone_ = true;
        if (log_.restart(found->statement.received)) finish_requests();
    } else {
        agreement_.on_statement(found->statement, static_cast<std::uint8_t>(device),
                                monotonic_ns());
    }
    step();
}

// How the peer is reached on both devices. Its numbers do not change.
void QueuePair::learn(const Letter& letter) {
    if (knows_peer_) return;
    carriers_[0].contact = letter.contacts[0];
    Carrier& second = carriers_[1];
    second.contact = letter.contacts[1];
    second.path = carriers_[0].path;
    second.path.dlid = second.contact.lid;
    if (second.path.is_global) {
        std::copy(second.contact.gid.begin(), second.contact.gid.end(),
                  std::begin(second.path.grh.dgid.raw));
        pair_.own_gid(1, second.contact.gid, second.path.grh.sgid_index);
    }
    second.peer = pair_.verbs().create_ah(pair_.control_domain(1), &second.path);
    knows_peer_ = second.peer != nullptr;
}

void QueuePair::answer_key(const Letter& question, unsigned device) {
    Letter made = letter(LetterKind::key_answer);
    const Region *region = pair_.regions().find_remote(question.key);
    made.key = question.key;
    made.answer = region ? region->second->rkey : 0;
    send_letter(made, device);
}

void QueuePair::on_ports(std::uint8_t usable) {
    agreement_.on_ports(usable, monotonic_ns());
    step();
}

// Does all that is to be done now.
void QueuePair::step() {
    if (departed_at_ != never || failed_) return;
    const Nanoseconds now = monotonic_ns();
    if (peer_gone_) {
        wait_in_vain(now);
        return;
    }
    agreement_.on_work(log_.size(), now);
    const bool speaks = agreement_.must_speak(now);
    for (Task task = agreement_.task(now); task != Task::none; task = agreement_.task(now)) {
        if (task == Task::freeze) {
            freeze();
            if (agreement_.task(now) == Task::freeze) break;  // the hardware is not done yet
        } else if (task == Task::open) {
            if (open(agreement_.device())) {
                agreement_.on_opened(now);
            } else {
                agreement_.on_trouble(now);
            }
        } else if (task == Task::start) {
            start();
            if (failed_) return;
        } else {
            pair_.options().warn(
                fmt::format("{:#x} has not answered on either device; protect both ends",
                            attributes_.dest_qp_num));
            fail(IBV_WC_RETRY_EXC_ERR);
            return;
        }
    }
    if (speaks || agreement_.must_speak(now)) send_everywhere(letter(LetterKind::statement));
    pump();
}

// The peer has destroyed its queue pair. What is still sent to it fails when the hardware would
// have given up; many programs have ended by then.
void QueuePair::wait_in_vain(Nanoseconds now) {
    if (log_.size() == 0) {
        fails_at_ = never;
    } else if (fails_at_ == never) {
        const unsigned timeout = attributes_.timeout == 0 ? timeout_usual : attributes_.timeout;
        fails_at_ = now + (Nanoseconds{4096} << timeout) * (attributes_.retry_cnt + 1);
        pair_.wake();
    } else if (now >= fails_at_) {
        fail(IBV_WC_RETRY_EXC_ERR);
    }
}

// Into the error state, where it takes nothing any more. All work comes back before it is known
// how many messages have been received.
void QueuePair::freeze() {
    std::optional<unsigned> frozen;
    for (unsigned device = 0; device < device_count; ++device) {
        Carrier& carrier = carriers_[device];
        if (!carrier.live || carrier.freezing) continue;
        ibv_qp_attr attributes{};
        attributes.qp_state = IBV_QPS_ERR;
        pair_.verbs().modify_qp(carrier.data, &attributes, IBV_QP_STATE);
        carrier.freezing = true;
        frozen = device;
    }
    // Last, because the next carrier is opened as soon as all is back.
    if (frozen) pair_.read_data(*frozen);
    look_frozen();
}

void QueuePair::look_frozen() {
    bool frozen = true;
    for (unsigned device = 0; device < device_count; ++device) {
        Carrier& carrier = carriers_[device];
        if (!carrier.freezing) continue;
        if (carrier.sends > 0 || carrier.receives > 0) {
            frozen = false;
            continue;
        }
        carrier.live = carrier.freezing = false;
        pair_.count_live(device, -1);
    }
    if (frozen) agreement_.on_frozen(received_, monotonic_ns());
}

// The carrier of a device, from the beginning: old packets have other packet numbers.
bool QueuePair::open(unsigned device) {
    const Verbs& verbs = pair_.verbs();
    Carrier& carrier = carriers_[device];
    if (!knows_peer_) return false;
    ibv_qp_attr made{};
    made.qp_state = IBV_QPS_RESET;
    int error = verbs.modify_qp(carrier.data, &made, IBV_QP_STATE);
    made.qp_state = IBV_QPS_INIT;
    made.port_num = 1;
    made.qp_access_flags = attributes_.qp_access_flags;
    if (!error) {
        error =
            verbs.modify_qp(carrier.data, &made,
                            IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
    }
    made.qp_state = IBV_QPS_RTR;
    made.path_mtu = static_cast<ibv_mtu>(
        std::min({unsigned{attributes_.path_mtu}, pair_.mtu(0), pair_.mtu(1)}));
    made.dest_qp_num = carrier.contact.carrier_number;
    made.rq_psn = agreement_.peer_psn();
    made.max_dest_rd_atomic = pair_.reads_max(device);
    made.min_rnr_timer = shortest_wait;
    made.ah_attr = carrier.path;
    if (!error) {
        error =
            verbs.modify_qp(carrier.data, &made,
                            IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                                IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
    }
    made.qp_state = IBV_QPS_RTS;
    made.timeout = attributes_.timeout == 0 ? timeout_usual : attributes_.timeout;
    made.retry_cnt = made.rnr_retry = retries;
    made.sq_psn = agreement_.psn();
    made.max_rd_atomic = pair_.reads_max(device);
    if (!error) {
        error = verbs.modify_qp(carrier.data, &made,
                                IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
                                    IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
    }
    if (error) {
        pair_.options().warn(fmt::format("a queue pair of {} cannot be opened: {}",
                                         pair_.context(device)->device->name,
                                         std::strerror(error)));
        return false;
    }
    carrier.live = true;
    pair_.count_live(device, 1);
    peer_keys_.clear();
    asks_again_at_ = never;
    post_receives();
    return true;
}

void QueuePair::start() {
    const std::uint8_t device = agreement_.device();
    if (!log_.restart(agreement_.peer_received())) {
        pair_.options().warn(fmt::format("{:#x} says that it received {} messages, which cannot be",
                                         attributes_.dest_qp_num, agreement_.peer_received()));
        fail(IBV_WC_FATAL_ERR);
        return;
    }
    agreement_.on_started(monotonic_ns());
    const bool returned = starts_ > 0 && device == agreement_.home();
    if (returned) ++returns_;
    const Occasion occasion = starts_ == 0 ? Occasion::protection
                              : returned   ? Occasion::returning
                                           : Occasion::migration;
    ++starts_;
    pair_.options().note(occasion, device);
    finish_requests();
}

void QueuePair::post_receives() {
    Carrier& carrier = carriers_[agreement_.device()];
    if (!carrier.live || carrier.freezing) return;
    std::array<ibv_recv_wr, receive_slots> works;
    std::array<ibv_sge, receive_slots> pieces;
    std::size_t count = 0;
    for (const std::uint32_t slot : free_slots_) {
        pieces[count] = {reinterpret_cast<std::uintptr_t>(memory_.receive_slot(slot)), slot_bytes,
                         carrier.memory->lkey};
        works[count] = {slot, nullptr, &pieces[count], 1};
        if (count > 0) works[count - 1].next = &works[count];
        ++count;
    }
    if (count == 0) return;
    ibv_recv_wr *bad = nullptr;
    const ibv_context_ops& operations = pair_.operations(agreement_.device());
    if (operations.post_recv(carrier.data, works.data(), &bad) != 0) {
        agreement_.on_trouble(monotonic_ns());
        return;
    }
    carrier.receives += static_cast<std::uint32_t>(count);
    free_slots_.clear();
}

void QueuePair::pump() {
    if (agreement_.stage() != Stage::open || peer_gone_) return;
    Carrier& carrier = carriers_[agreement_.device()];
    while (carrier.live && !carrier.freezing && carrier.sends < window) {
        const std::optional<Message> message = log_.next();
        if (!message || !post(*message)) return;
        log_.on_posted();
    }
}

// The key on the device in use of what the program names by the key on its peer's home device.
bool QueuePair::translate(const Message& message, std::uint32_t& remote_key) {
    remote_key = message.request->remote_key;
    if (agreement_.device() == 0 || message.kind == Message::Kind::frame) return true;
    const auto found = peer_keys_.find(remote_key);
    if (found != peer_keys_.end()) {
        remote_key = found->second;
        return true;
    }
    const Nanoseconds now = monotonic_ns();
    if (asks_again_at_ != never && now < asks_again_at_) return false;
    asked_key_ = remote_key;
    asks_again_at_ = now + ask_again_ns;
    Letter question = letter(LetterKind::key_question);
    question.key = remote_key;
    send_everywhere(question);
    pair_.wake();
    return false;
}

// Hands a message to the hardware; false where it must wait.
bool QueuePair::post(const Message& message) {
    const std::uint8_t device = agreement_.device();
    Carrier& carrier = carriers_[device];
    const Request& request = *message.request;
    ibv_send_wr work{};
    work.wr_id = send_mark;
    work.send_flags = IBV_SEND_SIGNALED;
    std::uint32_t remote_key = 0;
    if (!translate(message, remote_key)) return false;
    std::vector<ibv_sge> pieces;
    if (message.kind == Message::Kind::frame) {
        const Frame frame = frame_of(message);
        std::byte *head = memory_.frame_slot(carrier.posted);
        std::memcpy(head, &frame, sizeof frame);
        pieces.push_back(
            {reinterpret_cast<std::uintptr_t>(head), sizeof frame, carrier.memory->lkey});
        work.opcode = IBV_WR_SEND;
        if (request.solicited) work.send_flags |= IBV_SEND_SOLICITED;
    } else {
        work.opcode =
            message.kind == Message::Kind::read ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE_WITH_IMM;
        work.imm_data = static_cast<std::uint32_t>(message.number);
        work.wr.rdma = {request.remote_address, remote_key};
        if (request.fenced) work.send_flags |= IBV_SEND_FENCE;
    }
    std::uint32_t skip = message.offset_bytes;
    std::uint32_t left = is_atomic(request.operation) ? 0 : message.length_bytes;
    for (const Piece& piece : request.pieces) {
        const std::uint32_t skipped = std::min(skip, piece.length_bytes);
        const std::uint32_t taken = std::min(piece.length_bytes - skipped, left);
        skip -= skipped;
        left -= taken;
        if (taken == 0) continue;
        std::uint32_t key = piece.own ? carrier.memory->lkey : piece.key;
        if (!piece.own && device == 1) {
            const Region *region = pair_.regions().find_local(piece.key);
            key = region ? region->second->lkey : 0;
        }
        pieces.push_back({piece.address + skipped, taken, key});
    }
    work.sg_list = pieces.data();
    work.num_sge = static_cast<int>(pieces.size());
    ibv_send_wr *bad = nullptr;
    if (const int error = pair_.operations(device).post_send(carrier.data, &work, &bad)) {
        pair_.options().warn(fmt::format(
            "{} refused a request: {}", pair_.context(device)->device->name, std::strerror(error)));
        agreement_.on_trouble(monotonic_ns());
        return false;
    }
    ++carrier.sends;
    ++carrier.posted;
    return true;
}

void QueuePair::on_data(const ibv_wc& completion, unsigned device) {
    Carrier& carrier = carriers_[device];
    // Of a completion in error only the number, the status and the queue pair are valid.
    if (completion.wr_id == send_mark) {
        --carrier.sends;
        on_send_done(completion, carrier);
    } else {
        --carrier.receives;
        const auto slot = static_cast<std::uint32_t>(completion.wr_id);
        if (completion.status == IBV_WC_SUCCESS && !failed_) {
            on_message(slot, completion);
        } else {
            free_slots_.push_back(slot);
            if (!carrier.freezing) on_trouble();
        }
        if (free_slots_.size() >= repost_from) post_receives();
    }
    if (carrier.freezing) {
        look_frozen();
        step();
    } else {
        pump();
    }
}

void QueuePair::on_trouble() {
    agreement_.on_trouble(monotonic_ns());
    step();
}

void QueuePair::on_send_done(const ibv_wc& completion, Carrier& carrier) {
    if (failed_) return;
    if (completion.status == IBV_WC_SUCCESS) {
        log_.on_done();
        finish_requests();
        return;
    }
    const bool is_path = completion.status == IBV_WC_RETRY_EXC_ERR ||
                         completion.status == IBV_WC_RNR_RETRY_EXC_ERR ||
                         completion.status == IBV_WC_WR_FLUSH_ERR;
    if (!is_path) {
        fail(completion.status);
    } else if (!carrier.freezing) {
        on_trouble();
    }
}

void QueuePair::on_message(std::uint32_t slot, const ibv_wc& completion) {
    Frame frame;
    const bool is_write = completion.opcode == IBV_WC_RECV_RDMA_WITH_IMM;
    std::uint64_t number = received_ + 1;
    if (is_write) {
        if (completion.imm_data != static_cast<std::uint32_t>(number)) number = 0;
    } else {
        std::memcpy(&frame, memory_.receive_slot(slot), sizeof frame);
        if (completion.byte_len < sizeof frame) number = 0;
        if (frame.number != number) number = 0;
    }
    if (number == 0) {
        pair_.options().warn(fmt::format("message {} of {:#x} has another number", received_ + 1,
                                         attributes_.dest_qp_num));
        free_slots_.push_back(slot);
        fail(IBV_WC_FATAL_ERR);
        return;
    }
    received_ = number;
    if (is_write) {
        free_slots_.push_back(slot);
    } else {
        on_frame(slot, completion.byte_len - static_cast<std::uint32_t>(sizeof frame), frame);
    }
}

void QueuePair::on_frame(std::uint32_t slot, std::uint32_t length_bytes, const Frame& frame) {
    switch (frame.kind) {
        case FrameKind::data:
        case FrameKind::announcement:
            held_.push_back({slot, length_bytes});
            deliver_held();
            return;
        case FrameKind::compare_swap:
        case FrameKind::fetch_add:
            perform_atomic(frame);
            break;
        case FrameKind::result:
            on_result(frame);
            break;
    }
    free_slots_.push_back(slot);
}

// Executed here, by the processor, since the hardware does not say whether it has executed one. The
// frame arrives once, so the operation happens once; the result is a numbered message, too.
void QueuePair::perform_atomic(const Frame& frame) {
    const Regions& regions = pair_.regions();
    std::byte *at = regions.locate(regions.find_remote(frame.remote_key), frame.remote_address,
                                   sizeof(std::uint64_t), IBV_ACCESS_REMOTE_ATOMIC);
    Request result;
    result.operation = Operation::result;
    const bool granted = (attributes_.qp_access_flags & IBV_ACCESS_REMOTE_ATOMIC) != 0;
    result.refused = !at || !granted || frame.remote_address % sizeof(std::uint64_t) != 0;
    if (!result.refused) {
        auto *word = reinterpret_cast<std::uint64_t *>(at);
        if (frame.kind == FrameKind::fetch_add) {
            result.compare_add = __atomic_fetch_add(word, frame.compare_add, __ATOMIC_SEQ_CST);
        } else {
            std::uint64_t expected = frame.compare_add;
            __atomic_compare_exchange_n(word, &expected, frame.swap, false, __ATOMIC_SEQ_CST,
                                        __ATOMIC_SEQ_CST);
            result.compare_add = expected;
        }
    }
    log_.add(std::move(result));
}

void QueuePair::on_result(const Frame& frame) {
    const Request *request = log_.awaiting_result();
    if (!request || failed_) return;
    if (frame.flags & frame_is_refusal) {
        fail(IBV_WC_REM_ACCESS_ERR);
        return;
    }
    const Piece piece = request->pieces.empty() ? Piece{} : request->pieces.front();
    const Regions& regions = pair_.regions();
    std::byte *at = regions.locate(regions.find_local(piece.key), piece.address,
                                   sizeof frame.compare_add, IBV_ACCESS_LOCAL_WRITE);
    if (!at) {
        fail(IBV_WC_LOC_PROT_ERR);
        return;
    }
    std::memcpy(at, &frame.compare_add, sizeof frame.compare_add);
    log_.on_result();
    finish_requests();
}

std::optional<Receive> QueuePair::take_receive() {
    return shared_ ? shared_->receives.take() : receives_.take();
}

void QueuePair::deliver_held() {
    while (!held_.empty() && !failed_ && deliver(held_.front())) {
        free_slots_.push_back(held_.front().slot);
        held_.pop_front();
    }
    if (!held_.empty() && shared_ && !failed_) {
        std::deque<QueuePair *>& hungry = shared_->hungry;
        if (std::find(hungry.begin(), hungry.end(), this) == hungry.end()) hungry.push_back(this);
    }
    if (free_slots_.size() >= repost_from) post_receives();
}

void QueuePair::on_receives() {
    deliver_held();
}

// False where the program has posted no receive.
bool QueuePair::deliver(const Held& held) {
    if (!current_) {
        current_ = take_receive();
        current_bytes_ = 0;
    }
    if (!current_) return false;
    const std::byte *slot = memory_.receive_slot(held.slot);
    Frame frame;
    std::memcpy(&frame, slot, sizeof frame);
    ibv_wc done{};
    done.status = scatter(slot + sizeof frame, held.length_bytes);
    if (done.status == IBV_WC_SUCCESS && !(frame.flags & frame_is_last)) return true;
    done.wr_id = current_->id;
    done.opcode = frame.kind == FrameKind::data ? IBV_WC_RECV : IBV_WC_RECV_RDMA_WITH_IMM;
    done.byte_len = frame.length_bytes;
    done.qp_num = shown_.qp.qp_num;
    done.src_qp = attributes_.dest_qp_num;
    if (frame.flags & frame_has_immediate) {
        done.wc_flags = IBV_WC_WITH_IMM;
        done.imm_data = frame.immediate;
    }
    current_.reset();
    receive_queue_->add(done, frame.flags & frame_is_solicited ? Waking::solicited : Waking::usual);
    if (done.status != IBV_WC_SUCCESS) fail(IBV_WC_WR_FLUSH_ERR);
    return true;
}

// Puts data where the current receive has room for it.
ibv_wc_status QueuePair::scatter(const std::byte *data, std::uint32_t length_bytes) {
    std::uint64_t skip = current_bytes_;
    std::uint32_t left = length_bytes;
    const Regions& regions = pair_.regions();
    for (const Piece& piece : current_->pieces) {
        const std::uint64_t skipped = std::min<std::uint64_t>(skip, piece.length_bytes);
        const auto taken =
            static_cast<std::uint32_t>(std::min<std::uint64_t>(piece.length_bytes - skipped, left));
        skip -= skipped;
        if (taken == 0) continue;
        std::byte *at = regions.locate(regions.find_local(piece.key), piece.address + skipped,
                                       taken, IBV_ACCESS_LOCAL_WRITE);
        if (!at) return IBV_WC_LOC_PROT_ERR;
        std::memcpy(at, data, taken);
        data += taken;
        left -= taken;
    }
    current_bytes_ += length_bytes;
    return left == 0 ? IBV_WC_SUCCESS : IBV_WC_LOC_LEN_ERR;
}

bool QueuePair::accepts(const ibv_send_wr& work) const {
    const bool fits =
        work.num_sge >= 0 && static_cast<std::uint32_t>(work.num_sge) <= init_.cap.max_send_sge;
    return fits && operation_of(work.opcode).has_value();
}

Request QueuePair::request_of(const ibv_send_wr& work) {
    Request made;
    made.id = work.wr_id;
    made.operation = *operation_of(work.opcode);
    made.signaled = init_.sq_sig_all || (work.send_flags & IBV_SEND_SIGNALED);
    made.solicited = (work.send_flags & IBV_SEND_SOLICITED) != 0;
    made.fenced = (work.send_flags & IBV_SEND_FENCE) != 0;
    made.has_immediate =
        work.opcode == IBV_WR_SEND_WITH_IMM || work.opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
    made.immediate = work.imm_data;
    if (is_atomic(made.operation)) {
        made.remote_address = work.wr.atomic.remote_addr;
        made.remote_key = work.wr.atomic.rkey;
        made.compare_add = work.wr.atomic.compare_add;
        made.swap = work.wr.atomic.swap;
    } else {
        made.remote_address = work.wr.rdma.remote_addr;
        made.remote_key = work.wr.rdma.rkey;
    }
    std::byte *copy = nullptr;
    if (work.send_flags & IBV_SEND_INLINE) {
        copy = memory_.inline_slot(requests_ % init_.cap.max_send_wr);
    }
    for (int i = 0; i < work.num_sge; ++i) {
        const ibv_sge& piece = work.sg_list[i];
        if (copy) {
            // The memory of inline data need not be registered.
            std::memcpy(copy + made.length_bytes,
                        reinterpret_cast<const void *>(static_cast<std::uintptr_t>(piece.addr)),
                        piece.length);
        } else {
            made.pieces.push_back({piece.addr, piece.length, piece.lkey});
        }
        made.length_bytes += piece.length;
    }
    if (copy) {
        made.pieces = {{reinterpret_cast<std::uintptr_t>(copy), made.length_bytes, 0, true}};
    }
    ++requests_;
    return made;
}

int QueuePair::post_send(ibv_send_wr *work, ibv_send_wr **bad) {
    int error = in_states(shown_.qp.state, {IBV_QPS_RTS, IBV_QPS_SQD, IBV_QPS_ERR}) ? 0 : EINVAL;
    for (; work && !error; work = work->next) {
        std::uint64_t inline_bytes = 0;
        for (int i = 0; i < work->num_sge && (work->send_flags & IBV_SEND_INLINE); ++i) {
            inline_bytes += work->sg_list[i].length;
        }
        if (!accepts(*work) || inline_bytes > init_.cap.max_inline_data) {
            error = EINVAL;
        } else if (log_.size() >= init_.cap.max_send_wr) {
            error = ENOMEM;
        } else {
            Request request = request_of(*work);
            if (failed_) {
                complete(request, IBV_WC_WR_FLUSH_ERR);
                continue;
            }
            log_.add(std::move(request));
        }
        if (error) break;
    }
    if (error) *bad = work;
    if (peer_gone_) {
        step();
        return error;
    }
    const bool in_service = agreement_.stage() == Stage::open;
    pump();
    if (!in_service) {
        agreement_.on_work(log_.size(), monotonic_ns());
        pair_.wake();
    }
    return error;
}

int QueuePair::post_receive(ibv_recv_wr *work, ibv_recv_wr **bad) {
    int error = shared_ || shown_.qp.state == IBV_QPS_RESET ? EINVAL : 0;
    for (; work && !error; work = work->next) {
        if (!receives_.add(*work)) error = ENOMEM;
        if (error) break;
    }
    if (error) *bad = work;
    if (failed_) {
        flush_receives();
    } else if (!held_.empty()) {
        deliver_held();
    }
    return error;
}

void QueuePair::finish_requests() {
    while (std::optional<Request> request = log_.take_ended()) {
        if (request->operation == Operation::result || !request->signaled) continue;
        complete(*request, IBV_WC_SUCCESS);
    }
}

void QueuePair::complete(const Request& request, ibv_wc_status status) {
    ibv_wc done{};
    done.wr_id = request.id;
    done.status = status;
    done.opcode = completed(request.operation);
    done.byte_len = request.length_bytes;
    done.qp_num = shown_.qp.qp_num;
    send_queue_->add(done, Waking::usual);
}

void QueuePair::flush_receives() {
    ibv_wc done{};
    done.status = IBV_WC_WR_FLUSH_ERR;
    done.opcode = IBV_WC_RECV;
    done.qp_num = shown_.qp.qp_num;
    const auto flush = [&](const Receive& receive) {
        done.wr_id = receive.id;
        receive_queue_->add(done, Waking::usual);
    };
    if (current_) flush(*current_);
    current_.reset();
    while (!shared_) {
        const std::optional<Receive> receive = receives_.take();
        if (!receive) return;
        flush(*receive);
    }
}

// The queue pair of the program goes to the error state: the oldest request has the status, and all
// else is flushed.
void QueuePair::fail(ibv_wc_status status) {
    if (failed_) return;
    failed_ = true;
    shown_.qp.state = IBV_QPS_ERR;
    while (std::optional<Request> request = log_.take_failed()) {
        if (request->operation == Operation::result) continue;
        complete(*request, status);
        status = IBV_WC_WR_FLUSH_ERR;
    }
    flush_receives();
    freeze();
    if (carriers_[0].peer) send_everywhere(letter(LetterKind::statement));
}

void QueuePair::depart() {
    freeze();
    const Nanoseconds until = monotonic_ns() + departure_ns;
    const auto is_freezing = [](const Carrier& one) { return one.freezing; };
    while (std::any_of(carriers_.begin(), carriers_.end(), is_freezing) && monotonic_ns() < until) {
        for (unsigned device = 0; device < device_count; ++device) pair_.read_data(device);
        look_frozen();
    }
    departed_at_ = monotonic_ns();
    for (int i = 0; i < farewells && carriers_[0].peer; ++i) {
        send_everywhere(letter(LetterKind::statement));
    }
    const Verbs& verbs = pair_.verbs();
    for (unsigned device = 0; device < device_count; ++device) {
        Carrier& carrier = carriers_[device];
        if (carrier.live) pair_.count_live(device, -1);
        carrier.live = carrier.freezing = false;
        if (carrier.data) verbs.destroy_qp(carrier.data);
        if (carrier.memory) verbs.dereg_mr(carrier.memory);
        carrier.data = nullptr;
        carrier.memory = nullptr;
    }
    if (shared_) std::erase(shared_->hungry, this);
}

}  // namespace lanewise::paths::carried
