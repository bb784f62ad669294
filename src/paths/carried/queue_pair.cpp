// SPDX-License-Identifier: BSD-3-Clause

#include "paths/carried/queue_pair.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "paths/carried/attributes.hpp"
#include "paths/carried/device_pair.hpp"

namespace lanewise::paths::carried {
namespace {

constexpr std::uint32_t control_key = 0x4c57;
constexpr std::uint32_t repost_from = 16;
constexpr Nanoseconds departure_ns = 50'000'000;
constexpr int farewells = 3;

Gid gid_of(const ibv_gid& from) {
    Gid made{};
    std::copy(std::begin(from.raw), std::end(from.raw), made.begin());
    return made;
}

constexpr std::uint32_t mtu_bytes(ibv_mtu mtu) {
    return 128U << static_cast<unsigned>(mtu);
}

// Of a request, or of the response to a read. Each has a number.
std::uint32_t packets_of(const std::vector<ibv_sge>& pieces, std::uint32_t mtu) {
    std::uint64_t bytes = 0;
    for (const ibv_sge& piece : pieces) bytes += piece.length;
    return bytes == 0 ? 1 : static_cast<std::uint32_t>((bytes - 1) / mtu + 1);
}

bool in_states(ibv_qp_state state, std::initializer_list<ibv_qp_state> states) {
    return std::find(states.begin(), states.end(), state) != states.end();
}

}  // namespace

QueuePair::QueuePair(DevicePair& pair, ibv_pd *domain, const ibv_qp_init_attr& wanted)
    : pair_(pair),
      init_(wanted),
      send_queue_(reinterpret_cast<CompletionQueue *>(wanted.send_cq)),
      receive_queue_(reinterpret_cast<CompletionQueue *>(wanted.recv_cq)),
      shared_(reinterpret_cast<SharedReceives *>(wanted.srq)),
      receives_(wanted.cap.max_recv_wr, wanted.cap.max_recv_sge),
      memory_(wanted.cap.max_send_wr, wanted.cap.max_inline_data),
      agreement_(pair.options().rules, pair.draw()),
      log_(frame_payload_bytes),
      deliveries_(shared_ ? shared_->receives : receives_,
                  DomainRegions(pair.regions(), shared_ ? shared_->shown.pd : domain)) {
    for (std::uint32_t slot = 0; slot < receive_slots; ++slot) free_slots_.push_back(slot);
}

std::unique_ptr<QueuePair> QueuePair::make(DevicePair& pair, ibv_pd *domain,
                                           const ibv_qp_init_attr& wanted) {
    std::unique_ptr<QueuePair> made(new QueuePair(pair, domain, wanted));
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

// Nothing of the work and the connection before is left.
void QueuePair::begin_anew() {
    receives_.clear();
    log_ = SendLog(frame_payload_bytes);
    attributes_ = {};
    agreement_ = Agreement(pair_.options().rules, pair_.draw());
    for (Carrier& carrier : carriers_) {
        if (carrier.peer) pair_.verbs().destroy_ah(std::exchange(carrier.peer, nullptr));
    }
    knows_peer_ = lacks_second_path_ = peer_gone_ = false;
    fails_at_ = never;
}

// States and attributes of the program's queue pair. What it asks for is kept until the carriers
// are opened.
int QueuePair::modify(const ibv_qp_attr& attributes, unsigned mask) {
    const ibv_qp_state before = shown_.qp.state;
    const ibv_qp_state state = mask & IBV_QP_STATE ? attributes.qp_state : before;
    const bool possible = state == before || state == IBV_QPS_RESET ||
                          (before != IBV_QPS_RESET && state == IBV_QPS_ERR) ||
                          (before == IBV_QPS_RESET && state == IBV_QPS_INIT) ||
                          (before == IBV_QPS_INIT && state == IBV_QPS_RTR) ||
                          (before == IBV_QPS_RTR && state == IBV_QPS_RTS) ||
                          (in_states(before, {IBV_QPS_RTS, IBV_QPS_SQD}) &&
                           in_states(state, {IBV_QPS_RTS, IBV_QPS_SQD}));
    if (!possible || (mask & (IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE))) return EINVAL;
    if (const unsigned required = required_with(before, state); (mask & required) != required) {
        return EINVAL;
    }
    // A queue pair begins anew with new numbers, of which the peer would not know.
    const bool has_begun = agreement_.epoch() > 0 || failed_;
    if (state == IBV_QPS_RESET && before != IBV_QPS_RESET && has_begun) return EOPNOTSUPP;
    // What is under way on the devices is not drained.
    if (state == IBV_QPS_SQD) return EOPNOTSUPP;
    const bool connects = state == IBV_QPS_RTR && before == IBV_QPS_INIT;
    if (const int error = connects ? reach(attributes.ah_attr) : 0) return error;
    for (const Carrier& carrier : carriers_) {
        const bool learns = carrier.live && !carrier.freezing && (mask & IBV_QP_ACCESS_FLAGS);
        const int error =
            learns ? grant(pair_.verbs(), carrier.data, attributes.qp_access_flags) : 0;
        if (error) return error;
    }
    if (state == IBV_QPS_RESET) begin_anew();
    keep(attributes, mask, attributes_);
    shown_.qp.state = attributes_.qp_state = state;
    if (connects) connect();
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

// 0, or why no path leads to the peer from the first device.
int QueuePair::reach(const ibv_ah_attr& path) {
    Carrier& home = carriers_[0];
    ibv_ah_attr wanted = path;
    wanted.port_num = 1;
    errno = EINVAL;
    ibv_ah *peer = pair_.verbs().create_ah(pair_.control_domain(0), &wanted);
    if (!peer) return errno;
    home.peer = peer;
    home.path = wanted;
    return 0;
}

// The end with the lower number leads; where both are equal, that with the lower address.
bool QueuePair::leads() const {
    const ibv_ah_attr& path = attributes_.ah_attr;
    const std::uint32_t mine = shown_.qp.qp_num;
    if (mine != attributes_.dest_qp_num) return mine < attributes_.dest_qp_num;
    if (!path.is_global) return pair_.own_lid(0) < path.dlid;
    ibv_gid gid{};
    pair_.verbs().query_gid(pair_.context(0), 1, path.grh.sgid_index, &gid);
    return gid_of(gid) < gid_of(path.grh.dgid);
}

// A queue pair may be its own peer, at any address of its device.
void QueuePair::connect() {
    const std::uint32_t mine = shown_.qp.qp_num;
    const std::uint32_t theirs = attributes_.dest_qp_num;
    carriers_[0].contact.control_number = theirs;
    const bool is_alone = mine == theirs && pair_.is_own(attributes_.ah_attr);
    const Role role = is_alone ? Role::alone : leads() ? Role::leader : Role::follower;
    const bool odd = ((mine ^ theirs) & 1U) != 0;
    const std::uint8_t first = pair_.options().balances && odd ? 1 : 0;
    if (!pair_.reaches_like(attributes_.ah_attr)) {
        lack_second_path(fmt::format("{} has no address like the one that a queue pair uses on {}",
                                     pair_.context(1)->device->name,
                                     pair_.context(0)->device->name));
    }
    agreement_.offer(own_terms());
    agreement_.begin(role, first, usable(), pair_.now());
    pair_.wake();
}

void QueuePair::lack_second_path(const std::string& why) {
    lacks_second_path_ = true;
    pair_.warn_once(why + ", so the queue pair is not protected");
}

// The devices whose ports are up, of those over which the peer can be reached.
std::uint8_t QueuePair::usable() const {
    return lacks_second_path_ ? pair_.usable() & 1U : pair_.usable();
}

// On either device.
Terms QueuePair::own_terms() const {
    const unsigned mtu = std::min({unsigned{attributes_.path_mtu}, pair_.mtu(0), pair_.mtu(1)});
    return {static_cast<std::uint8_t>(mtu), std::min(pair_.reads_max(0), pair_.reads_max(1))};
}

PairCounters QueuePair::counters() const {
    const bool is_connected = attributes_.dest_qp_num != 0;
    if (lacks_second_path_) return {.unprotected_count = is_connected ? 1U : 0U};
    if (starts_ == 0) return {.idle_count = is_connected ? 1U : 0U};
    return {.protected_count = 1, .migrations = starts_ - 1, .returns = returns_};
}

Nanoseconds QueuePair::deadline() const {
    return failed_ || departed_at_ != never ? never
           : peer_gone_                     ? fails_at_
                        : std::min(agreement_.deadline(), peer_keys_.deadline());
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
    const GidKind like = pair_.kind_of(attributes_.ah_attr);
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
    work.wr_id = send_mark;
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
    if (completion.wr_id == send_mark) {
        --carriers_[device].letters;
        return;
    }
    // Its queue pair is in the error state, where a receive comes back at once, again and again.
    if (completion.status != IBV_WC_SUCCESS) return;
    const auto slot = static_cast<std::uint32_t>(completion.wr_id);
    const std::optional<Letter> found =
        read_letter({memory_.letter_in(device, slot) + datagram_header_bytes,
                     completion.byte_len - datagram_header_bytes});
    post_letter_receive(device, slot);
    const bool connected = attributes_.dest_qp_num != 0 && carriers_[0].peer;
    if (!found || !connected || !is_between(*found, attributes_.dest_qp_num, shown_.qp.qp_num)) {
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
        if (!peer_keys_.on_answer(found->key, found->answer)) return;
    } else if (found->statement.stage == Stage::gone) {
        on_peer_gone(found->statement.received);
    } else {
        agreement_.on_statement(found->statement, static_cast<std::uint8_t>(device), pair_.now());
    }
    step();
}

void QueuePair::on_peer_gone(std::uint64_t received) {
    // A request that the peer has refused has come back before.
    pair_.read_data(agreement_.device());
    if (failed_) return;
    peer_gone_ = true;
    if (log_.restart(received)) finish_requests();
    if (has_refused_) fail(IBV_WC_WR_FLUSH_ERR);
}

// How the peer is reached on both devices. Its numbers do not change, but an address that the
// second device lacks may come later.
void QueuePair::learn(const Letter& letter) {
    if (carriers_[1].peer) return;
    carriers_[0].contact = letter.contacts[0];
    carriers_[1].contact = letter.contacts[1];
    knows_peer_ = true;
    if (reach_over_second()) {
        lacks_second_path_ = false;
    } else if (!lacks_second_path_) {
        lack_second_path(fmt::format("no path leads from {} to the second device of a peer",
                                     pair_.context(1)->device->name));
    }
    agreement_.on_ports(usable(), pair_.now());
}

bool QueuePair::reach_over_second() {
    Carrier& second = carriers_[1];
    second.path = carriers_[0].path;
    second.path.dlid = second.contact.lid;
    bool has_ends = second.contact.lid != 0 && pair_.own_lid(1) != 0;
    if (second.path.is_global) {
        const Gid& to = second.contact.gid;
        const GidKind kind{to, pair_.kind_of(carriers_[0].path).type};
        std::copy(to.begin(), to.end(), std::begin(second.path.grh.dgid.raw));
        has_ends = to != Gid{} && pair_.own_gid(1, kind, second.path.grh.sgid_index) != Gid{};
    }
    if (!has_ends) return false;
    second.peer = pair_.verbs().create_ah(pair_.control_domain(1), &second.path);
    return second.peer != nullptr;
}

// What the peer's atomics, and the results of this end's, may touch.
DomainRegions QueuePair::own_regions() const {
    return {pair_.regions(), shown_.qp.pd};
}

void QueuePair::answer_key(const Letter& question, unsigned device) {
    Letter made = letter(LetterKind::key_answer);
    const Region *region = pair_.regions().find_remote(question.key);
    made.key = question.key;
    made.answer = region ? region->second->rkey : 0;
    send_letter(made, device);
}

void QueuePair::on_ports() {
    if (lacks_second_path_ && knows_peer_ && reach_over_second()) lacks_second_path_ = false;
    agreement_.offer(own_terms());
    agreement_.on_ports(usable(), pair_.now());
    step();
}

// Does all that is to be done now.
void QueuePair::step() {
    if (departed_at_ != never || failed_) return;
    const Nanoseconds now = pair_.now();
    if (peer_gone_) {
        // Receives of a carrier that has failed would be posted and come back for ever.
        if (agreement_.task(now) == Task::freeze) freeze();
        wait_in_vain(now);
        return;
    }
    agreement_.on_work(log_.requests(), now);
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
                agreement_.is_freezing()
                    ? fmt::format("a device has not returned the work of queue pair {:#x}",
                                  shown_.qp.qp_num)
                    : fmt::format("{:#x} has not answered on either device; protect both ends",
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
    if (log_.requests() == 0) {
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
    if (frozen) agreement_.on_frozen(received_, pair_.now());
}

bool QueuePair::open(unsigned device) {
    Carrier& carrier = carriers_[device];
    if (!knows_peer_ || !carrier.peer) return false;
    const Terms terms = agreement_.terms();
    carrier.mtu_bytes = mtu_bytes(static_cast<ibv_mtu>(terms.mtu));
    const int error = open_carrier(pair_.verbs(), carrier.data,
                                   {.path = carrier.path,
                                    .peer_number = carrier.contact.carrier_number,
                                    .peer_psn = agreement_.peer_psn(),
                                    .psn = agreement_.psn(),
                                    .terms = terms,
                                    .access = attributes_.qp_access_flags,
                                    .timeout = attributes_.timeout});
    if (error) {
        pair_.options().warn(fmt::format("a queue pair of {} cannot be opened: {}",
                                         pair_.context(device)->device->name,
                                         std::strerror(error)));
        return false;
    }
    carrier.live = true;
    pair_.count_live(device, 1);
    peer_keys_.forget();
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
    agreement_.on_started(pair_.now());
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
        agreement_.on_trouble(pair_.now());
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
    if (const auto found = peer_keys_.find(remote_key)) {
        remote_key = *found;
        return true;
    }
    if (!peer_keys_.must_ask(remote_key, pair_.now())) return false;
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
    DeviceView view{.device = device, .regions = pair_.regions(), .own_key = carrier.memory->lkey};
    if (!translate(message, view.remote_key)) return false;
    if (message.kind == Message::Kind::frame) {
        const Frame frame = frame_of(message);
        std::byte *head = memory_.frame_slot(carrier.posted);
        std::memcpy(head, &frame, sizeof frame);
        view.head = {reinterpret_cast<std::uintptr_t>(head), sizeof frame, view.own_key};
    }
    std::vector<ibv_sge> pieces;
    ibv_send_wr work = work_of(message, view, pieces);
    ibv_send_wr *bad = nullptr;
    if (const int error = pair_.operations(device).post_send(carrier.data, &work, &bad)) {
        pair_.options().warn(fmt::format(
            "{} refused a request: {}", pair_.context(device)->device->name, std::strerror(error)));
        agreement_.on_trouble(pair_.now());
        return false;
    }
    ++carrier.sends;
    ++carrier.posted;
    agreement_.on_posted(packets_of(pieces, carrier.mtu_bytes));
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
    agreement_.on_trouble(pair_.now());
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
        fail(completion.status, log_.place_on_its_way());
    } else if (!carrier.freezing) {
        on_trouble();
    }
}

void QueuePair::on_message(std::uint32_t slot, const ibv_wc& completion) {
    const std::uint64_t next = received_ + 1;
    const bool is_write = completion.opcode == IBV_WC_RECV_RDMA_WITH_IMM;
    const std::optional<Frame> frame =
        is_write ? std::nullopt : read_frame(memory_.receive_slot(slot), completion.byte_len, next);
    if (is_write ? !is_write_number(completion.imm_data, next) : !frame) {
        pair_.options().warn(
            fmt::format("message {} of {:#x} has another number", next, attributes_.dest_qp_num));
        free_slots_.push_back(slot);
        fail(IBV_WC_FATAL_ERR);
        return;
    }
    received_ = next;
    if (is_write) {
        free_slots_.push_back(slot);
    } else {
        on_frame(slot, completion.byte_len - static_cast<std::uint32_t>(sizeof *frame), *frame);
    }
}

void QueuePair::on_frame(std::uint32_t slot, std::uint32_t length_bytes, const Frame& frame) {
    switch (frame.kind) {
        case FrameKind::data:
        case FrameKind::announcement:
            deliveries_.hold(slot, memory_.receive_slot(slot), length_bytes);
            deliver_held();
            return;
        case FrameKind::compare_swap:
        case FrameKind::fetch_add: {
            Request result = perform_atomic(frame, own_regions(), attributes_.qp_access_flags);
            has_refused_ = has_refused_ || result.refusal != 0;
            log_.add(std::move(result));
            break;
        }
        case FrameKind::result: on_result(frame); break;
    }
    free_slots_.push_back(slot);
}

void QueuePair::on_result(const Frame& frame) {
    const Request *request = log_.awaiting_result();
    if (!request || failed_) return;
    const ibv_wc_status status = put_result(frame, *request, own_regions());
    if (status != IBV_WC_SUCCESS) {
        fail(status, log_.place_awaiting_result());
        return;
    }
    log_.on_result();
    finish_requests();
}

void QueuePair::deliver_held() {
    while (!failed_) {
        std::optional<Deliveries::Delivered> delivered = deliveries_.next();
        if (!delivered) break;
        if (delivered->slot) free_slots_.push_back(*delivered->slot);
        if (!delivered->completion) continue;
        ibv_wc& done = *delivered->completion;
        done.qp_num = shown_.qp.qp_num;
        done.src_qp = attributes_.dest_qp_num;
        receive_queue_->add(done, delivered->waking);
        if (done.status != IBV_WC_SUCCESS) fail(IBV_WC_WR_FLUSH_ERR);
    }
    if (!deliveries_.empty() && shared_ && !failed_) {
        std::deque<QueuePair *>& hungry = shared_->hungry;
        if (std::find(hungry.begin(), hungry.end(), this) == hungry.end()) hungry.push_back(this);
    }
    make_way_for_results();
    if (free_slots_.size() >= repost_from) post_receives();
}

// The result of an atomic may come behind more frames than there are slots, and the program may
// wait for it before it posts the receive for these.
void QueuePair::make_way_for_results() {
    if (!log_.awaits_result() || deliveries_.slots() < receive_slots / 2) return;
    for (const std::uint32_t slot : deliveries_.give_slots_back()) free_slots_.push_back(slot);
    post_receives();
}

void QueuePair::on_receives() {
    deliver_held();
}

// What the program posts is kept in the log, from where it goes to the hardware.
int QueuePair::add_request(const ibv_send_wr& work) {
    if (!accepts(work, init_.cap, pair_.message_bytes_max())) return EINVAL;
    if (log_.requests() >= init_.cap.max_send_wr) return ENOMEM;
    std::byte *inline_slot = memory_.inline_slot(requests_++ % init_.cap.max_send_wr);
    const Signaling signaling = init_.sq_sig_all ? Signaling::all : Signaling::asked;
    Request request = request_of(work, signaling, inline_slot);
    if (failed_) {
        complete(request, IBV_WC_WR_FLUSH_ERR);
    } else {
        log_.add(std::move(request));
    }
    return 0;
}

int QueuePair::post_send(ibv_send_wr *work, ibv_send_wr **bad) {
    int error = in_states(shown_.qp.state, {IBV_QPS_RTS, IBV_QPS_SQD, IBV_QPS_ERR}) ? 0 : EINVAL;
    while (work && !error) {
        error = add_request(*work);
        if (!error) work = work->next;
    }
    if (error) *bad = work;
    make_way_for_results();
    if (peer_gone_) {
        step();
        return error;
    }
    const bool in_service = agreement_.stage() == Stage::open;
    pump();
    if (!in_service) {
        agreement_.on_work(log_.requests(), pair_.now());
        pair_.wake();
    }
    return error;
}

int QueuePair::post_receive(ibv_recv_wr *work, ibv_recv_wr **bad) {
    int error = shared_ || shown_.qp.state == IBV_QPS_RESET ? EINVAL : 0;
    for (; work && !error; work = work->next) {
        error = receives_.add(*work);
        if (error) break;
    }
    if (error) *bad = work;
    if (failed_) {
        flush_receives();
    } else if (!deliveries_.empty()) {
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
    const ibv_wc done = completion_of(request, status, shown_.qp.qp_num);
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
    if (const std::optional<Receive> begun = deliveries_.take_current()) flush(*begun);
    while (!shared_) {
        const std::optional<Receive> receive = receives_.take();
        if (!receive) return;
        flush(*receive);
    }
}

// The queue pair of the program goes to the error state: the request at a place in the log has the
// status, or the oldest one behind it, and all else is flushed.
void QueuePair::fail(ibv_wc_status status, std::uint64_t place) {
    if (failed_) return;
    failed_ = true;
    shown_.qp.state = IBV_QPS_ERR;
    for (std::uint64_t at = log_.taken();; ++at) {
        const std::optional<Request> request = log_.take_failed();
        if (!request) break;
        if (request->operation == Operation::result) continue;
        complete(*request,
                 at < place ? IBV_WC_WR_FLUSH_ERR : std::exchange(status, IBV_WC_WR_FLUSH_ERR));
    }
    flush_receives();
    freeze();
    if (carriers_[0].peer) send_everywhere(letter(LetterKind::statement));
}

void QueuePair::depart() {
    freeze();
    const Nanoseconds until = pair_.now() + departure_ns;
    const auto is_freezing = [](const Carrier& one) { return one.freezing; };
    while (std::any_of(carriers_.begin(), carriers_.end(), is_freezing) && pair_.now() < until) {
        for (unsigned device = 0; device < device_count; ++device) pair_.read_data(device);
        look_frozen();
    }
    departed_at_ = pair_.now();
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

void QueuePair::forget_completions() {
    for (CompletionQueue *queue : {send_queue_, receive_queue_}) queue->forget(shown_.qp.qp_num);
}

}  // namespace lanewise::paths::carried
