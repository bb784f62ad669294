// SPDX-License-Identifier: BSD-3-Clause

#include "verbs/cm/rsocket/stream.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

namespace lanewise::verbs::cm {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::uint64_t is_send = std::uint64_t{1} << 32;
constexpr int resolve_timeout_ms = 2000;
// Another thread may have taken the event that this one waits for.
constexpr int wait_ms = 50;
// How long nothing of what was sent may arrive until it is no longer waited for.
constexpr milliseconds drain_idle_max{500};
constexpr milliseconds mapping_wait{1000};
constexpr int lock_tries = 20;
constexpr milliseconds lock_pause{1};
constexpr std::uint8_t retries_without_limit = 7;
// 0.64 ms until a sender tries again that has overtaken the reader; the connection manager's is
// a thousand times as long.
constexpr std::uint8_t reader_behind_timer = 12;
// A number, since the macro ibv_reg_mr mixes it with another enumeration.
constexpr int local_write = IBV_ACCESS_LOCAL_WRITE;

// What the immediate datum of a message says.
constexpr std::uint32_t says_end = 1;
constexpr std::uint32_t says_mapping = 2;

// Both ends must mean the same by their messages.
constexpr std::array<std::byte, 4> greeting{std::byte{'L'}, std::byte{'W'}, std::byte{'S'},
                                            std::byte{1}};

rdma_conn_param parameters() {
    rdma_conn_param made{};
    made.private_data = greeting.data();
    made.private_data_len = greeting.size();
    made.retry_count = retries_without_limit;
    made.rnr_retry_count = retries_without_limit;
    return made;
}

bool greets(const rdma_conn_param& given) {
    return given.private_data && given.private_data_len >= greeting.size() &&
           std::memcmp(given.private_data, greeting.data(), greeting.size()) == 0;
}

void set_non_blocking(int descriptor) {
    fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK);
}

int refuse_call(int error) {
    errno = error;
    return -1;
}

}  // namespace

std::shared_ptr<Stream> Stream::make() {
    std::shared_ptr<Stream> made(new Stream);
    made->channel_ = rdma_create_event_channel();
    if (!made->channel_) return nullptr;
    set_non_blocking(made->channel_->fd);
    if (rdma_create_id(made->channel_, &made->id_, nullptr, RDMA_PS_TCP) != 0) return nullptr;
    return made;
}

Stream::~Stream() {
    if (is_of_parent()) return;
    if (id_ && id_->qp) rdma_destroy_qp(id_);
    for (const auto& [memory, mapping] : mapped_) ibv_dereg_mr(mapping.second);
    if (region_) ibv_dereg_mr(region_);
    if (queue_) ibv_destroy_cq(queue_);
    if (completions_) ibv_destroy_comp_channel(completions_);
    if (id_) rdma_destroy_id(id_);
    if (channel_) rdma_destroy_event_channel(channel_);
}

std::byte *Stream::receive_slot(std::uint32_t slot) {
    return memory_.data() + (send_slots + slot) * slot_bytes;
}

bool Stream::make_queue_pair() {
    completions_ = ibv_create_comp_channel(id_->verbs);
    if (!completions_) return false;
    set_non_blocking(completions_->fd);
    queue_ = ibv_create_cq(id_->verbs, send_slots + receive_slots, nullptr, completions_, 0);
    memory_.resize((send_slots + receive_slots) * slot_bytes);
    region_ = ibv_reg_mr(id_->pd, memory_.data(), memory_.size(), local_write);
    if (!queue_ || !region_) return false;
    ibv_qp_init_attr init{};
    init.send_cq = queue_;
    init.recv_cq = queue_;
    init.cap = {send_slots, receive_slots, 1, 1, 0};
    init.qp_type = IBV_QPT_RC;
    init.sq_sig_all = 1;
    if (rdma_create_qp(id_, id_->pd, &init) != 0) return false;
    for (std::uint32_t slot = 0; slot < send_slots; ++slot) free_.push_back(slot);
    for (std::uint32_t slot = 0; slot < receive_slots; ++slot) {
        if (!post_receive(slot)) return false;
    }
    return true;
}

// Once the connection manager has made the queue pair ready. A device that does not allow it here
// makes the stream slower, not wrong.
void Stream::let_peer_try_soon() {
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_RTS;
    attributes.min_rnr_timer = reader_behind_timer;
    ibv_modify_qp(id_->qp, &attributes, IBV_QP_STATE | IBV_QP_MIN_RNR_TIMER);
}

bool Stream::post_receive(std::uint32_t slot) {
    ibv_sge piece{reinterpret_cast<std::uintptr_t>(receive_slot(slot)), slot_bytes, region_->lkey};
    ibv_recv_wr work{slot, nullptr, &piece, 1};
    ibv_recv_wr *bad = nullptr;
    return ibv_post_recv(id_->qp, &work, &bad) == 0;
}

bool Stream::post(std::uint32_t slot, std::size_t bytes, std::optional<std::uint32_t> about) {
    ibv_sge piece{reinterpret_cast<std::uintptr_t>(send_slot(slot)),
                  static_cast<std::uint32_t>(bytes), region_->lkey};
    ibv_send_wr work{};
    work.wr_id = is_send | slot;
    work.sg_list = &piece;
    work.num_sge = bytes > 0 ? 1 : 0;
    work.opcode = about ? IBV_WR_SEND_WITH_IMM : IBV_WR_SEND;
    work.imm_data = htonl(about.value_or(0));
    return post(work, slot);
}

bool Stream::post(ibv_send_wr& work, std::uint32_t slot) {
    ibv_send_wr *bad = nullptr;
    if (const int error = ibv_post_send(id_->qp, &work, &bad)) {
        fail(error);
        return false;
    }
    std::erase(free_, slot);
    ++sends_in_flight_;
    return true;
}

std::optional<std::uint32_t> Stream::free_slot() const {
    return free_.empty() ? std::nullopt : std::optional(free_.back());
}

int Stream::bind(const sockaddr *address) {
    return rdma_bind_addr(id_, const_cast<sockaddr *>(address));
}

int Stream::listen(int backlog) {
    const std::lock_guard guard(lock_);
    if (rdma_listen(id_, backlog) != 0) return -1;
    state_ = State::listening;
    return 0;
}

// Addresses and routes are known at once, so only the peer has to be waited for.
int Stream::await_event(rdma_cm_event_type wanted) {
    rdma_cm_event *event = nullptr;
    if (rdma_get_cm_event(channel_, &event) != 0) return -1;
    const bool came = event->event == wanted;
    const int status = event->status;
    rdma_ack_cm_event(event);
    if (came) return 0;
    return refuse_call(status != 0 ? std::abs(status) : EPROTO);
}

int Stream::connect(const sockaddr *address) {
    std::unique_lock guard(lock_);
    if (state_ == State::connected) return refuse_call(EISCONN);
    if (state_ == State::fresh) {
        auto *to = const_cast<sockaddr *>(address);
        if (rdma_resolve_addr(id_, nullptr, to, resolve_timeout_ms) != 0 ||
            await_event(RDMA_CM_EVENT_ADDR_RESOLVED) != 0 ||
            rdma_resolve_route(id_, resolve_timeout_ms) != 0 ||
            await_event(RDMA_CM_EVENT_ROUTE_RESOLVED) != 0) {
            return -1;
        }
        rdma_conn_param given = parameters();
        if (!make_queue_pair() || rdma_connect(id_, &given) != 0) {
            state_ = State::over;
            return -1;
        }
        state_ = State::connecting;
        is_connecting_ = true;
        if (non_blocking) return refuse_call(EINPROGRESS);
    }
    while (state_ == State::connecting) {
        progress();
        if (state_ != State::connecting) break;
        if (non_blocking) return refuse_call(EALREADY);
        wait(guard);
    }
    // A peer that has left again was connected.
    const bool was_connecting = std::exchange(is_connecting_, false);
    if (state_ == State::connected || (was_connecting && peer_has_left_)) return 0;
    return refuse_call(error_ != 0 ? std::exchange(error_, 0) : ECONNREFUSED);
}

std::shared_ptr<Stream> Stream::accept() {
    std::unique_lock guard(lock_);
    if (state_ != State::listening) {
        errno = EINVAL;
        return nullptr;
    }
    rdma_cm_event *event = nullptr;
    while (rdma_get_cm_event(channel_, &event) != 0) {
        if (errno != EAGAIN || non_blocking) return nullptr;
        wait(guard);
    }
    rdma_cm_id *id = event->id;
    const bool is_request = event->event == RDMA_CM_EVENT_CONNECT_REQUEST;
    const bool known = is_request && greets(event->param.conn);
    rdma_ack_cm_event(event);
    if (!is_request) {
        errno = ECONNABORTED;
        return nullptr;
    }
    std::shared_ptr<Stream> made(new Stream);
    made->channel_ = rdma_create_event_channel();
    if (!known || !made->channel_ || rdma_migrate_id(id, made->channel_) != 0) {
        rdma_reject(id, nullptr, 0);
        rdma_destroy_id(id);
        errno = ECONNABORTED;
        return nullptr;
    }
    set_non_blocking(made->channel_->fd);
    made->id_ = id;
    rdma_conn_param given = parameters();
    if (!made->make_queue_pair()) return nullptr;
    if (rdma_accept(id, &given) != 0) {
        made.reset();
        errno = ECONNABORTED;  // the peer has given up
        return nullptr;
    }
    made->let_peer_try_soon();
    made->state_ = State::connected;
    return made;
}

void Stream::fail(int error) {
    if (error_ == 0) error_ = error;
    state_ = State::over;
}

void Stream::take_event(const rdma_cm_event& event) {
    switch (event.event) {
        case RDMA_CM_EVENT_ESTABLISHED:
            if (state_ != State::connecting) return;
            let_peer_try_soon();
            state_ = State::connected;
            return;
        case RDMA_CM_EVENT_REJECTED: return fail(ECONNREFUSED);
        case RDMA_CM_EVENT_UNREACHABLE: return fail(ETIMEDOUT);
        case RDMA_CM_EVENT_CONNECT_ERROR:
            return fail(event.status != 0 ? std::abs(event.status) : ECONNABORTED);
        case RDMA_CM_EVENT_DISCONNECTED:
            // What has arrived, or comes once there is room for it, can still be read.
            peer_has_left_ = true;
            state_ = State::over;
            return;
        default: return;
    }
}

void Stream::take_events() {
    rdma_cm_event *event = nullptr;
    while (state_ != State::listening && rdma_get_cm_event(channel_, &event) == 0) {
        take_event(*event);
        rdma_ack_cm_event(event);
    }
}

void Stream::take_received(const ibv_wc& completion) {
    const auto slot = static_cast<std::uint32_t>(completion.wr_id);
    if (!(completion.wc_flags & IBV_WC_WITH_IMM)) {
        // A message without data, which no stream sends, would be there for readers and never read.
        if (completion.byte_len > 0 && !reading_is_over_) {
            arrived_.push_back({slot, completion.byte_len, 0});
            arrived_bytes_ += completion.byte_len;
            put_aside();
        } else {
            post_receive(slot);
        }
        return;
    }
    const std::uint32_t about = ntohl(completion.imm_data);
    if (about == says_end) peer_is_done_ = true;
    if (about == says_mapping && completion.byte_len == sizeof(Mapping)) {
        Mapping mapping;
        std::memcpy(&mapping, receive_slot(slot), sizeof mapping);
        of_peer_[mapping.offset] = mapping;
    }
    post_receive(slot);
}

// Leaves half of the receives to messages that are about to come, as far as the buffer goes.
void Stream::put_aside() {
    while (arrived_.size() > receive_slots / 2 &&
           aside_.size() + arrived_bytes_ <= receive_buffer_bytes) {
        const Arrived first = arrived_.front();
        const std::size_t left = first.bytes - first.read;
        aside_.add({receive_slot(first.slot) + first.read, left});
        arrived_bytes_ -= left;
        arrived_.pop_front();
        post_receive(first.slot);
    }
}

void Stream::take_completions() {
    std::array<ibv_wc, 16> taken{};
    int count = 0;
    while (queue_ && (count = ibv_poll_cq(queue_, taken.size(), taken.data())) > 0) {
        completions_taken_ += static_cast<std::size_t>(count);
        heard_ = steady_clock::now();
        for (const ibv_wc& one : std::span(taken).first(static_cast<std::size_t>(count))) {
            if (one.wr_id & is_send) {
                free_.push_back(static_cast<std::uint32_t>(one.wr_id));
                --sends_in_flight_;
            }
            if (one.status == IBV_WC_SUCCESS) {
                if (!(one.wr_id & is_send)) take_received(one);
            } else if (state_ == State::connected) {
                // Bytes are lost, also where they were flushed: this end has not ended the
                // connection.
                fail(ECONNRESET);
            }
        }
    }
}

void Stream::progress() {
    take_completions();
    const bool was_over = state_ == State::over;
    take_events();
    take_completions();  // what came before the end that an event told
    // A peer that has sent everything says so before it leaves.
    const bool is_cut = !was_over && peer_has_left_ && !peer_is_done_;
    if (is_cut && error_ == 0) error_ = ECONNRESET;
    if (is_end_due_ && state_ == State::connected) say_end();
}

// Once there is a slot for it.
void Stream::say_end() {
    const std::optional<std::uint32_t> slot = free_slot();
    if (slot && post(*slot, 0, says_end)) is_end_due_ = false;
}

// True when the peer has what was given to it, or the connection is over; false where nothing of it
// has arrived for so long.
bool Stream::drain(std::unique_lock<std::mutex>& guard, milliseconds idle_max) {
    auto until = steady_clock::now() + idle_max;
    for (std::uint32_t before = sends_in_flight_;;) {
        progress();
        if (state_ != State::connected || (sends_in_flight_ == 0 && !is_end_due_)) return true;
        const auto now = steady_clock::now();
        if (std::exchange(before, sends_in_flight_) != sends_in_flight_) until = now + idle_max;
        if (now >= until) return false;
        wait(guard);
    }
}

// A write of no bytes, which the peer's device acknowledges. What is under way asks as well.
void Stream::ask_if_there() {
    const bool is_silent = steady_clock::now() - heard_ >= silence_max_.load();
    if (state_ != State::connected || !is_silent || sends_in_flight_ > 0) return;
    const std::optional<std::uint32_t> slot = free_slot();
    if (!slot) return;
    ibv_send_wr work{};
    work.wr_id = is_send | *slot;
    work.opcode = IBV_WR_RDMA_WRITE;
    post(work, *slot);
}

void Stream::disarm() {
    ibv_cq *queue = nullptr;
    void *context = nullptr;
    while (completions_ && ibv_get_cq_event(completions_, &queue, &context) == 0) {
        ibv_ack_cq_events(queue, 1);
    }
}

std::vector<int> Stream::arm() {
    const std::lock_guard guard(lock_);
    if (!queue_) return {channel_->fd};
    if (keeps_alive_) ask_if_there();
    ibv_req_notify_cq(queue_, 0);
    return {channel_->fd, completions_->fd};
}

void Stream::wait(std::unique_lock<std::mutex>& guard) {
    guard.unlock();
    const std::vector<int> descriptors = arm();
    std::vector<pollfd> wanted;
    for (const int one : descriptors) wanted.push_back({one, POLLIN, 0});
    // What came before it was armed makes no noise.
    const bool news = [&] {
        const std::lock_guard again(lock_);
        const std::uint64_t before = completions_taken_;
        take_completions();
        return completions_taken_ != before;
    }();
    if (!news) poll(wanted.data(), wanted.size(), wait_ms);
    disarm();
    guard.lock();
}

std::optional<ssize_t> Stream::refusal_to_send() const {
    if (state_ == State::connected && !is_done_) return std::nullopt;
    return refuse_call(state_ == State::fresh || state_ == State::connecting ? ENOTCONN
                       : state_ == State::over && !is_done_                  ? ECONNRESET
                                                                             : EPIPE);
}

ssize_t Stream::send(std::span<const std::byte> bytes, int flags) {
    std::unique_lock guard(lock_);
    std::size_t sent = 0;
    while (sent < bytes.size()) {
        progress();
        if (const auto refused = refusal_to_send()) {
            return sent > 0 ? static_cast<ssize_t>(sent) : *refused;
        }
        const std::optional<std::uint32_t> slot = free_slot();
        if (!slot) {
            if (non_blocking || flags & MSG_DONTWAIT) break;
            wait(guard);
            continue;
        }
        const std::size_t count = std::min(bytes.size() - sent, slot_bytes);
        std::memcpy(send_slot(*slot), bytes.data() + sent, count);
        if (!post(*slot, count, std::nullopt)) return refuse_call(ECONNRESET);
        sent += count;
    }
    if (sent == 0 && !bytes.empty()) return refuse_call(EAGAIN);
    return static_cast<ssize_t>(sent);
}

void Stream::Aside::add(std::span<const std::byte> bytes) {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
}

std::size_t Stream::Aside::copy_out(std::span<std::byte> into) const {
    const std::size_t count = std::min(into.size(), size());
    if (count > 0) std::memcpy(into.data(), bytes_.data() + read_, count);
    return count;
}

// What was read stays until it is as much as the rest, so that little is moved.
void Stream::Aside::drop(std::size_t count) {
    read_ += count;
    if (read_ < size()) return;
    bytes_.erase(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(read_));
    read_ = 0;
}

std::size_t Stream::copy_out(std::span<std::byte> into, bool keeps) {
    std::size_t copied = aside_.copy_out(into);
    if (!keeps) aside_.drop(copied);
    for (std::size_t i = 0; i < arrived_.size() && copied < into.size();) {
        Arrived& first = arrived_[i];
        const std::size_t count = std::min(first.bytes - first.read, into.size() - copied);
        std::memcpy(into.data() + copied, receive_slot(first.slot) + first.read, count);
        copied += count;
        if (keeps) {
            ++i;
            continue;
        }
        first.read += count;
        arrived_bytes_ -= count;
        if (first.read < first.bytes) break;
        if (state_ == State::connected || peer_has_left_) post_receive(first.slot);
        arrived_.pop_front();
    }
    if (!keeps) put_aside();
    return copied;
}

ssize_t Stream::receive(std::span<std::byte> into, int flags) {
    std::unique_lock guard(lock_);
    const bool peeks = flags & MSG_PEEK;
    std::size_t got = 0;
    while (got < into.size()) {
        progress();
        if (reading_is_over_) break;
        got += copy_out(into.subspan(got), peeks);
        if (got == into.size() || (got > 0 && (peeks || !(flags & MSG_WAITALL)))) break;
        if (peer_is_done_) break;
        if (state_ != State::connected) {
            progress();
            if (has_unread()) continue;
            if (got > 0) break;
            if (state_ == State::over && error_ != 0) return refuse_call(std::exchange(error_, 0));
            if (peer_has_left_) break;
            return refuse_call(ENOTCONN);
        }
        if (non_blocking || flags & MSG_DONTWAIT) {
            if (got > 0) break;
            return refuse_call(EAGAIN);
        }
        wait(guard);
    }
    return static_cast<ssize_t>(got);
}

// Room for what the peer still sends: two ends that close would otherwise wait for each other.
void Stream::drop_arrived() {
    for (const Arrived& one : arrived_) post_receive(one.slot);
    arrived_.clear();
    arrived_bytes_ = 0;
    aside_.clear();
}

void Stream::end_sending() {
    if (!is_done_) is_end_due_ = true;
    is_done_ = true;
}

// Once everything has arrived: a queue pair that is broken before loses it.
bool Stream::drain_and_leave(std::unique_lock<std::mutex>& guard, milliseconds idle_max) {
    if (state_ != State::connected) return true;
    reading_is_over_ = true;
    drop_arrived();
    end_sending();
    if (!drain(guard, idle_max)) return false;
    if (state_ == State::connected) rdma_disconnect(id_);
    state_ = State::over;
    return true;
}

int Stream::shut_down(int how) {
    if (how != SHUT_RD && how != SHUT_WR && how != SHUT_RDWR) return refuse_call(EINVAL);
    std::unique_lock guard(lock_);
    if (how != SHUT_WR) {
        reading_is_over_ = true;
        drop_arrived();
    }
    if (how == SHUT_RD) return 0;
    progress();
    if (state_ != State::connected) {
        return is_done_ || state_ == State::over ? 0 : refuse_call(ENOTCONN);
    }
    // A peer that does not read for a while, as one that waits here itself, is not waited for.
    if (how == SHUT_RDWR) {
        drain_and_leave(guard, drain_idle_max);
    } else {
        end_sending();
        drain(guard, drain_idle_max);
    }
    return 0;
}

bool Stream::close(milliseconds idle_max) {
    std::unique_lock guard(lock_);
    progress();
    return drain_and_leave(guard, idle_max);
}

bool Stream::close_at_exit() {
    std::unique_lock guard(lock_, std::defer_lock);
    // The program may be ending in the middle of a call that holds the lock.
    for (int tries = 0; tries < lock_tries && !guard.try_lock(); ++tries) {
        std::this_thread::sleep_for(lock_pause);
    }
    if (!guard) return true;
    progress();
    return drain_and_leave(guard, milliseconds{0});
}

bool Stream::is_connected() {
    const std::lock_guard guard(lock_);
    progress();
    return state_ == State::connected;
}

int Stream::take_error() {
    const std::lock_guard guard(lock_);
    progress();
    return std::exchange(error_, 0);
}

short Stream::events() {
    const std::lock_guard guard(lock_);
    if (state_ == State::listening) {
        pollfd requests{channel_->fd, POLLIN, 0};
        return poll(&requests, 1, 0) > 0 ? POLLIN : short{0};
    }
    progress();
    int found = 0;
    if (has_unread() || peer_is_done_ || peer_has_left_ || reading_is_over_) found |= POLLIN;
    if (state_ == State::connected && !free_.empty()) found |= POLLOUT;
    if (state_ == State::over) found |= POLLHUP | POLLOUT;
    if (error_ != 0) found |= POLLERR;
    return static_cast<short>(found);
}

bool Stream::announce(std::unique_lock<std::mutex>& guard, const Mapping& mapping) {
    for (;;) {
        progress();
        if (state_ != State::connected) return false;
        if (const std::optional<std::uint32_t> slot = free_slot()) {
            std::memcpy(send_slot(*slot), &mapping, sizeof mapping);
            return post(*slot, sizeof mapping, says_mapping);
        }
        wait(guard);
    }
}

off_t Stream::map(void *memory, std::size_t bytes, bool writable, off_t offset) {
    int access = IBV_ACCESS_LOCAL_WRITE;
    if (writable) access |= IBV_ACCESS_REMOTE_WRITE;
    std::unique_lock guard(lock_);
    if (!id_->pd) return refuse_call(ENOTCONN);
    // In parentheses: the macro of that name wants its flags unsigned and signed.
    ibv_mr *region = (ibv_reg_mr)(id_->pd, memory, bytes, access);
    if (!region) return -1;
    // Of the program's choice, or where the memory is.
    const off_t at =
        offset >= 0 ? offset : static_cast<off_t>(reinterpret_cast<std::uintptr_t>(memory));
    const Mapping mapping{at, reinterpret_cast<std::uintptr_t>(memory), bytes, region->rkey, 0};
    if (!announce(guard, mapping)) {
        ibv_dereg_mr(region);
        return refuse_call(ENOTCONN);
    }
    mapped_[memory] = {mapping, region};
    return at;
}

int Stream::unmap(const void *memory, std::size_t) {
    std::unique_lock guard(lock_);
    const auto found = mapped_.find(memory);
    if (found == mapped_.end()) return refuse_call(EINVAL);
    auto [gone, region] = found->second;
    mapped_.erase(found);  // while the lock is free, another thread may look for it
    gone.bytes = 0;
    announce(guard, gone);
    ibv_dereg_mr(region);
    return 0;
}

const Stream::Mapping *Stream::mapping_at(off_t at) const {
    auto found = of_peer_.upper_bound(at);
    if (found == of_peer_.begin()) return nullptr;
    --found;
    const auto within = static_cast<std::uint64_t>(at - found->first);
    return within < found->second.bytes ? &found->second : nullptr;
}

// How much of it was sent: what fits a slot and the mapping. 0 where the connection is over.
std::size_t Stream::post_write(std::uint32_t slot, const Mapping& to, off_t at,
                               std::span<const std::byte> bytes) {
    const auto within = static_cast<std::uint64_t>(at - to.offset);
    const std::size_t count =
        std::min({bytes.size(), slot_bytes, static_cast<std::size_t>(to.bytes - within)});
    std::memcpy(send_slot(slot), bytes.data(), count);
    ibv_sge piece{reinterpret_cast<std::uintptr_t>(send_slot(slot)),
                  static_cast<std::uint32_t>(count), region_->lkey};
    ibv_send_wr work{};
    work.wr_id = is_send | slot;
    work.sg_list = &piece;
    work.num_sge = 1;
    work.opcode = IBV_WR_RDMA_WRITE;
    work.wr.rdma.remote_addr = to.address + within;
    work.wr.rdma.rkey = to.rkey;
    return post(work, slot) ? count : 0;
}

ssize_t Stream::write_mapped(std::span<const std::byte> bytes, off_t offset, int flags) {
    std::unique_lock guard(lock_);
    const bool waits = !non_blocking && !(flags & MSG_DONTWAIT);
    const auto until = steady_clock::now() + mapping_wait;
    std::size_t sent = 0;
    const auto end_with = [&](int error) {
        return sent > 0 ? static_cast<ssize_t>(sent) : refuse_call(error);
    };
    while (sent < bytes.size()) {
        progress();
        if (refusal_to_send()) return end_with(errno);
        const off_t at = offset + static_cast<off_t>(sent);
        const Mapping *to = mapping_at(at);
        // A mapping that was made before the peer said something else is there by now; one that the
        // peer told of by another way may be about to come.
        const bool may_come = sent == 0 && waits && steady_clock::now() < until;
        if (!to && !may_come) return end_with(EINVAL);
        const std::optional<std::uint32_t> slot = free_slot();
        if (!to || !slot) {
            if (!waits) return end_with(EAGAIN);
            wait(guard);
            continue;
        }
        const std::size_t count = post_write(*slot, *to, at, bytes.subspan(sent));
        if (count == 0) return end_with(ECONNRESET);
        sent += count;
    }
    return static_cast<ssize_t>(sent);
}

}  // namespace lanewise::verbs::cm
