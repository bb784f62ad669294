// SPDX-License-Identifier: BSD-3-Clause

#include "paths/carried/device_pair.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <pthread.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <utility>

#include "paths/event_thread.hpp"
#include "paths/lock_at_end.hpp"

namespace lanewise::paths::carried {
namespace {

// What one queue pair may have in it at a time.
constexpr std::size_t data_entries_each = window + receive_slots;
constexpr std::size_t control_entries_each = std::size_t{2} * letter_slots;
// After so many letters others get the lock.
constexpr int letters_max = 1 << 13;
constexpr int batch = 16;
// Of one request: each queue pair has so much memory for every request that it may have.
constexpr std::uint32_t inline_bytes_max = 1024;
constexpr int gids_max = 64;
// After so long without a poll the thread makes progress instead of the program.
constexpr Nanoseconds polling_ns = 2'000'000;
// How long a queue pair that was destroyed answers letters.
constexpr Nanoseconds departed_for_ns = 10'000'000'000;

DevicePair *pair_of(const ibv_cq *queue) {
    return reinterpret_cast<const CompletionQueue *>(queue)->pair;
}

// What stands behind the pointers of the program's context.
int poll(ibv_cq *queue, int count, ibv_wc *into) {
    return pair_of(queue)->poll_cq(queue, count, into);
}

int request_notice(ibv_cq *queue, int solicited_only) {
    return pair_of(queue)->req_notify_cq(queue, solicited_only);
}

int post_shared_receive(ibv_srq *queue, ibv_recv_wr *work, ibv_recv_wr **bad) {
    return reinterpret_cast<SharedReceives *>(queue)->pair->post_srq_receive(queue, work, bad);
}

// Of all contexts that programs have opened. A queue pair that is not carried has nothing else from
// which to find its pair of devices.
std::mutex pairs_lock;
std::map<const ibv_context *, DevicePair *>& pairs() {
    static auto *all = new std::map<const ibv_context *, DevicePair *>;
    return *all;
}

// So that a child finds it free.
void hold_lock_over_fork() {
    static std::once_flag once;
    std::call_once(once, [] {
        pthread_atfork([] { pairs_lock.lock(); }, [] { pairs_lock.unlock(); },
                       [] { pairs_lock.unlock(); });
    });
}

DevicePair *pair_behind(const ibv_qp *queue_pair) {
    const std::lock_guard guard(pairs_lock);
    return pairs().at(queue_pair->context);
}

int query_device_ex(ibv_context *context, const ibv_query_device_ex_input *input,
                    ibv_device_attr_ex *attributes, std::size_t bytes) {
    const DevicePair *pair = nullptr;
    {
        const std::lock_guard guard(pairs_lock);
        const auto found = pairs().find(context);
        if (found != pairs().end()) pair = found->second;
    }
    return pair ? pair->query_device_ex(input, *attributes, bytes) : EINVAL;
}

int post_send(ibv_qp *queue_pair, ibv_send_wr *work, ibv_send_wr **bad) {
    if (queue_pair->qp_type == IBV_QPT_RC) {
        return QueuePair::of(queue_pair).pair().post_send(queue_pair, work, bad);
    }
    return pair_behind(queue_pair)->operations(0).post_send(queue_pair, work, bad);
}

int post_receive(ibv_qp *queue_pair, ibv_recv_wr *work, ibv_recv_wr **bad) {
    if (queue_pair->qp_type == IBV_QPT_RC) {
        return QueuePair::of(queue_pair).pair().post_receive(queue_pair, work, bad);
    }
    return pair_behind(queue_pair)->operations(0).post_recv(queue_pair, work, bad);
}

bool is_alike(const Gid& a, const Gid& b) {
    return is_ipv4(a) == is_ipv4(b) && is_link_local(a) == is_link_local(b);
}

void make_nonblocking(int descriptor) {
    fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK);
}

}  // namespace

Result<std::unique_ptr<DevicePair>> DevicePair::open(ibv_context *first, ibv_context *second,
                                                     const Verbs& verbs, PairOptions options) {
    std::unique_ptr<DevicePair> made(new DevicePair(verbs, std::move(options)));
    made->sides_[1].context = second;
    const Result<int> wake = open_wake();
    if (!wake) return wake.failure();
    made->wake_ = *wake;
    for (unsigned device = 0; device < device_count; ++device) {
        const Outcome filled = made->fill(device, device == 0 ? first : second);
        if (!filled) return filled.failure();
    }
    made->random_ = static_cast<std::uint32_t>(made->now()) | 1U;
    made->flags_ = fcntl(first->async_fd, F_GETFL);
    for (Side& side : made->sides_) make_nonblocking(side.events);
    made->read_ports();
    for (Side& side : made->sides_) side.up_since = 0;
    made->replace_operations();
    if (made->options_.shown_events >= 0) first->async_fd = made->options_.shown_events;
    if (made->options_.helper != Helper::thread) return made;
    const auto watch = [pair = made.get()] { pair->run(); };
    const Outcome started = start_thread(made->thread_, "lanewise-pair", watch);
    if (!started) return started.failure();
    return made;
}

Outcome DevicePair::fill(unsigned device, ibv_context *context) {
    Side& side = sides_[device];
    side.context = context;
    side.operations = context->ops;
    side.events = context->async_fd;
    side.control_domain = verbs_.alloc_pd(context);
    side.control_channel = verbs_.create_comp_channel(context);
    side.data_channel = verbs_.create_comp_channel(context);
    ibv_device_attr& attributes = side.limits;
    ibv_port_attr port{};
    errno = EIO;
    const bool begun = side.control_domain && side.control_channel && side.data_channel &&
                       verbs_.query_device(context, &attributes) == 0 && query_port(context, port);
    if (begun) {
        make_nonblocking(side.control_channel->fd);
        make_nonblocking(side.data_channel->fd);
        const int entries = std::min(options_.entries_first, attributes.max_cqe);
        side.control_queue =
            verbs_.create_cq(context, entries / 8, nullptr, side.control_channel, 0);
        side.data_queue = verbs_.create_cq(context, entries, nullptr, side.data_channel, 0);
    }
    if (!side.control_queue || !side.data_queue) {
        return Failure{LW_ERR_IO, fmt::format("{} cannot carry queue pairs: {}",
                                              context->device->name, std::strerror(errno))};
    }
    const int reads = std::min({attributes.max_qp_rd_atom, attributes.max_qp_init_rd_atom, 16});
    side.reads_max = static_cast<std::uint8_t>(std::max(reads, 1));
    side.message_bytes_max = port.max_msg_sz;
    return Done{};
}

// What the device offers beyond this has no counterpart on the second one.
void DevicePair::replace_operations() {
    ibv_context *context = sides_[0].context;
    replaced_ = true;
    hold_lock_over_fork();
    {
        const std::lock_guard guard(pairs_lock);
        pairs()[context] = this;
    }
    ibv_context_ops& operations = context->ops;
    operations.poll_cq = poll;
    operations.req_notify_cq = request_notice;
    operations.post_send = carried::post_send;
    operations.post_recv = carried::post_receive;
    operations.post_srq_recv = post_shared_receive;
    operations.alloc_mw = nullptr;
    if (verbs_context *extended = verbs_get_ctx(context)) {
        extended_before_ = *extended;
        if (extended->query_device_ex) extended->query_device_ex = carried::query_device_ex;
        extended->create_qp_ex = nullptr;
        extended->create_cq_ex = nullptr;
        extended->create_srq_ex = nullptr;
        extended->open_qp = nullptr;
        extended->open_xrcd = nullptr;
        extended->create_wq = nullptr;
        extended->alloc_parent_domain = nullptr;
        extended->alloc_dm = nullptr;
        extended->reg_dm_mr = nullptr;
        extended->modify_cq = nullptr;
        extended->get_srq_num = nullptr;
        extended->post_srq_ops = nullptr;
        extended->modify_qp_rate_limit = nullptr;
    }
}

void DevicePair::restore_operations() {
    ibv_context *context = sides_[0].context;
    {
        const std::lock_guard guard(pairs_lock);
        pairs().erase(context);
    }
    context->ops = sides_[0].operations;
    verbs_context *extended = verbs_get_ctx(context);
    if (!extended) return;
    extended->query_device_ex = extended_before_.query_device_ex;
    extended->create_qp_ex = extended_before_.create_qp_ex;
    extended->create_cq_ex = extended_before_.create_cq_ex;
    extended->create_srq_ex = extended_before_.create_srq_ex;
    extended->open_qp = extended_before_.open_qp;
    extended->open_xrcd = extended_before_.open_xrcd;
    extended->create_wq = extended_before_.create_wq;
    extended->alloc_parent_domain = extended_before_.alloc_parent_domain;
    extended->alloc_dm = extended_before_.alloc_dm;
    extended->reg_dm_mr = extended_before_.reg_dm_mr;
    extended->modify_cq = extended_before_.modify_cq;
    extended->get_srq_num = extended_before_.get_srq_num;
    extended->post_srq_ops = extended_before_.post_srq_ops;
    extended->modify_qp_rate_limit = extended_before_.modify_qp_rate_limit;
}

DevicePair::~DevicePair() {
    stop_ = true;
    wake();
    if (thread_.joinable()) thread_.join();
    if (replaced_) {
        restore_operations();
        sides_[0].context->async_fd = sides_[0].events;
        fcntl(sides_[0].events, F_SETFL, flags_);
    }
    queue_pairs_.clear();
    departed_.clear();
    for (Side& side : sides_) {
        if (side.data_queue) verbs_.destroy_cq(side.data_queue);
        if (side.control_queue) verbs_.destroy_cq(side.control_queue);
        if (side.data_channel) verbs_.destroy_comp_channel(side.data_channel);
        if (side.control_channel) verbs_.destroy_comp_channel(side.control_channel);
        if (side.control_domain) verbs_.dealloc_pd(side.control_domain);
    }
    if (sides_[1].context) verbs_.close_device(sides_[1].context);
    if (wake_ >= 0) close(wake_);
}

void DevicePair::abandon() {
    abandoned_ = true;
    thread_.detach();
}

void DevicePair::wake() {
    eventfd_write(wake_, 1);
}

std::uint32_t DevicePair::draw() {
    random_ ^= random_ << 13;
    random_ ^= random_ >> 17;
    random_ ^= random_ << 5;
    return random_;
}

GidType DevicePair::type_at(unsigned device, unsigned index) const {
    return gid_type(sides_[device].context, 1, index, verbs_.query_gid_ex);
}

GidKind DevicePair::kind_of(const ibv_ah_attr& path) const {
    GidKind made;
    if (!path.is_global) return made;
    std::copy(std::begin(path.grh.dgid.raw), std::end(path.grh.dgid.raw), made.like.begin());
    made.type = type_at(0, path.grh.sgid_index);
    return made;
}

Gid DevicePair::own_gid(unsigned device, const GidKind& kind, std::uint8_t& index) const {
    for (int at = 0; at < gids_max; ++at) {
        ibv_gid found{};
        Gid gid{};
        if (verbs_.query_gid(sides_[device].context, 1, at, &found) != 0) break;
        std::copy(std::begin(found.raw), std::end(found.raw), gid.begin());
        if (gid == Gid{} || !is_alike(gid, kind.like)) continue;
        if (!may_meet(type_at(device, static_cast<unsigned>(at)), kind.type)) continue;
        index = static_cast<std::uint8_t>(at);
        return gid;
    }
    return {};
}

bool DevicePair::is_own(const ibv_ah_attr& path) const {
    if (!path.is_global) return path.dlid == own_lid(0);
    for (int at = 0; at < gids_max; ++at) {
        ibv_gid found{};
        if (verbs_.query_gid(sides_[0].context, 1, at, &found) != 0) return false;
        if (std::equal(std::begin(found.raw), std::end(found.raw), std::begin(path.grh.dgid.raw)))
            return true;
    }
    return false;
}

bool DevicePair::reaches_like(const ibv_ah_attr& path) const {
    if (!path.is_global) return own_lid(1) != 0;
    std::uint8_t unused = 0;
    return own_gid(1, kind_of(path), unused) != Gid{};
}

void DevicePair::warn_once(const std::string& sentence) {
    if (warned_.insert(sentence).second) options_.warn(sentence);
}

void DevicePair::add_numbers(QueuePair *queue_pair) {
    for (unsigned device = 0; device < device_count; ++device) {
        const Carrier& carrier = queue_pair->carrier(device);
        sides_[device].by_carrier[carrier.data->qp_num] = queue_pair;
        sides_[device].by_control[carrier.control->qp_num] = queue_pair;
    }
}

void DevicePair::remove_numbers(const QueuePair& queue_pair) {
    for (unsigned device = 0; device < device_count; ++device) {
        const auto is_its = [&](const auto& entry) { return entry.second == &queue_pair; };
        std::erase_if(sides_[device].by_carrier, is_its);
        std::erase_if(sides_[device].by_control, is_its);
    }
}

void DevicePair::read_ports() {
    std::uint8_t usable = 0;
    for (unsigned device = 0; device < device_count; ++device) {
        ibv_port_attr attributes{};
        if (!query_port(sides_[device].context, attributes)) continue;
        if (attributes.state == IBV_PORT_ACTIVE) {
            usable = static_cast<std::uint8_t>(usable | 1U << device);
        }
        sides_[device].lid = attributes.lid;
        sides_[device].mtu = attributes.active_mtu;
    }
    for (unsigned device = 0; device < device_count; ++device) {
        const bool came_up = (usable >> device & 1U) > (usable_ >> device & 1U);
        if (came_up) sides_[device].up_since = now();
    }
    usable_ = usable;
}

std::uint8_t DevicePair::settled() const {
    const Nanoseconds present = now();
    unsigned settled = 0;
    for (unsigned device = 0; device < device_count; ++device) {
        if (present - sides_[device].up_since >= settle_ns) settled |= usable_ & 1U << device;
    }
    if (settled != 0) return static_cast<std::uint8_t>(settled);
    return usable_ != 0 ? usable_ : (1U << device_count) - 1;
}

// Completions are taken one after the other; what they cause must not take others in between.
void DevicePair::read_data(unsigned device) {
    if (reading_) return;
    reading_ = true;
    Side& side = sides_[device];
    std::array<ibv_wc, batch> done;
    int count = batch;
    while (count == batch) {
        count = side.operations.poll_cq(side.data_queue, batch, done.data());
        for (int i = 0; i < count; ++i) {
            const auto found = side.by_carrier.find(done[static_cast<std::size_t>(i)].qp_num);
            if (found == side.by_carrier.end()) continue;
            found->second->on_data(done[static_cast<std::size_t>(i)], device);
        }
    }
    reading_ = false;
}

bool DevicePair::read_control(unsigned device) {
    Side& side = sides_[device];
    std::array<ibv_wc, batch> done;
    int count = batch;
    for (int left = letters_max; count == batch; left -= batch) {
        if (left <= 0) return false;
        count = side.operations.poll_cq(side.control_queue, batch, done.data());
        for (int i = 0; i < count; ++i) {
            const auto found = side.by_control.find(done[static_cast<std::size_t>(i)].qp_num);
            if (found == side.by_control.end()) continue;
            found->second->on_letter(done[static_cast<std::size_t>(i)], device);
        }
    }
    return true;
}

void DevicePair::progress() {
    for (unsigned device = 0; device < device_count; ++device) {
        if (sides_[device].live > 0) read_data(device);
    }
}

void DevicePair::step_all() {
    for (const auto& queue_pair : queue_pairs_) queue_pair->step();
}

void DevicePair::drop_departed() {
    const Nanoseconds present = now();
    const auto is_over = [&](const auto& one) {
        return present - one->departed_at() > departed_for_ns;
    };
    for (const auto& one : departed_) {
        if (is_over(one)) remove_numbers(*one);
    }
    std::erase_if(departed_, is_over);
}

bool DevicePair::program_polls() const {
    return armed_queues_ == 0 && now() - polled_at_ < polling_ns;
}

void DevicePair::arm(ibv_cq *queue, unsigned device) {
    sides_[device].operations.req_notify_cq(queue, 0);
}

// Queues of the device's own queue pairs share the channel of the carriers.
void DevicePair::drain(ibv_comp_channel *channel) {
    ibv_cq *queue = nullptr;
    void *context = nullptr;
    while (verbs_.get_cq_event(channel, &queue, &context) == 0) {
        verbs_.ack_cq_events(queue, 1);
        if (context) static_cast<CompletionQueue *>(context)->notify();
    }
}

Nanoseconds DevicePair::next_deadline() const {
    Nanoseconds deadline = never;
    for (const auto& one : queue_pairs_) deadline = std::min(deadline, one->deadline());
    return deadline;
}

DevicePair::Rest DevicePair::serve() {
    for (unsigned device = 0; device < device_count; ++device) {
        while (take_event(device)) {
        }
    }
    const std::lock_guard guard(lock_);
    const bool polls = program_polls();
    for (unsigned device = 0; device < device_count; ++device) {
        Side& side = sides_[device];
        drain(side.control_channel);
        drain(side.data_channel);
        arm(side.control_queue, device);
        if (!polls) arm(side.data_queue, device);
        if (!read_control(device)) wake();
        if (!polls && side.live > 0) read_data(device);
    }
    step_all();
    drop_departed();
    const Nanoseconds deadline = next_deadline();
    return {polls ? std::min(deadline, now() + polling_ns) : deadline, !polls};
}

void DevicePair::run() {
    while (!stop_) {
        const Rest rest = serve();
        std::array<pollfd, 7> wanted{};
        nfds_t count = 0;
        wanted[count++] = {wake_, POLLIN, 0};
        for (const Side& side : sides_) {
            wanted[count++] = {side.events, POLLIN, 0};
            wanted[count++] = {side.control_channel->fd, POLLIN, 0};
            if (rest.watches_data) wanted[count++] = {side.data_channel->fd, POLLIN, 0};
        }
        const Nanoseconds left = std::max<Nanoseconds>(rest.until - now(), 0);
        constexpr Nanoseconds second = 1'000'000'000;
        const timespec timeout{static_cast<time_t>(left / second),
                               static_cast<long>(left % second)};
        ppoll(wanted.data(), count, rest.until == never ? nullptr : &timeout, nullptr);
        eventfd_t unused = 0;
        eventfd_read(wake_, &unused);
    }
}

// What the peer asked for, the hardware may not do: it ends the queue pair of the program as well.
void DevicePair::on_refused_request(unsigned device, const ibv_qp& queue_pair) {
    const auto found = sides_[device].by_carrier.find(queue_pair.qp_num);
    if (found != sides_[device].by_carrier.end()) found->second->on_refused_request();
}

// Which work has ended is not known any more.
void DevicePair::on_lost_completions(unsigned device, const ibv_cq *queue) {
    const Side& side = sides_[device];
    if (queue != side.data_queue && queue != side.control_queue) return;
    warn_once(fmt::format("{} has lost completions, so its queue pairs fail",
                          side.context->device->name));
    for (const auto& one : queue_pairs_) one->on_lost_completions();
}

bool DevicePair::take_event(unsigned device) {
    const std::lock_guard guard(lock_);
    const Side& side = sides_[device];
    ibv_async_event event{};
    if (!take_event_from(side.events, side.context, verbs_.get_async_event, event)) return false;
    const bool is_port =
        event.event_type == IBV_EVENT_PORT_ACTIVE || event.event_type == IBV_EVENT_PORT_ERR;
    const bool is_device =
        is_port || event.event_type == IBV_EVENT_DEVICE_FATAL ||
        event.event_type == IBV_EVENT_GID_CHANGE || event.event_type == IBV_EVENT_LID_CHANGE ||
        event.event_type == IBV_EVENT_PKEY_CHANGE || event.event_type == IBV_EVENT_SM_CHANGE ||
        event.event_type == IBV_EVENT_CLIENT_REREGISTER;
    if (event.event_type == IBV_EVENT_CQ_ERR) on_lost_completions(device, event.element.cq);
    const bool is_refused_request =
        event.event_type == IBV_EVENT_QP_ACCESS_ERR || event.event_type == IBV_EVENT_QP_REQ_ERR;
    if (is_refused_request) on_refused_request(device, *event.element.qp);
    if (is_device) {
        read_ports();
        for (const auto& one : queue_pairs_) one->on_ports();
    }
    if (is_port) {
        options_.note(
            event.event_type == IBV_EVENT_PORT_ERR ? Occasion::port_down : Occasion::port_up,
            static_cast<std::uint8_t>(device));
    }
    if (device != 0 || !is_device || !options_.forward(event)) verbs_.ack_async_event(&event);
    return true;
}

ibv_pd *DevicePair::domain_on(unsigned device, ibv_pd *domain) const {
    if (device == 0) return domain;
    const auto found = second_domains_.find(domain);
    return found == second_domains_.end() ? nullptr : found->second;
}

ibv_pd *DevicePair::alloc_pd() {
    ibv_pd *made = verbs_.alloc_pd(sides_[0].context);
    if (!made) return nullptr;
    ibv_pd *second = verbs_.alloc_pd(sides_[1].context);
    if (!second) {
        const int error = errno;
        verbs_.dealloc_pd(made);
        return errno = error, nullptr;
    }
    const std::lock_guard guard(lock_);
    second_domains_[made] = second;
    return made;
}

int DevicePair::dealloc_pd(ibv_pd *domain) {
    if (const int error = verbs_.dealloc_pd(domain)) return error;
    const std::lock_guard guard(lock_);
    const auto found = second_domains_.find(domain);
    if (found == second_domains_.end()) return 0;
    verbs_.dealloc_pd(found->second);
    second_domains_.erase(found);
    return 0;
}

ibv_mr *DevicePair::reg_mr(ibv_pd *domain, void *memory, std::size_t bytes, std::uint64_t address,
                           unsigned access) {
    ibv_pd *second = nullptr;
    {
        const std::lock_guard guard(lock_);
        second = domain_on(1, domain);
    }
    if (!second) return errno = EINVAL, nullptr;
    ibv_mr *made = verbs_.reg_mr_iova2(domain, memory, bytes, address, access);
    if (!made) return nullptr;
    ibv_mr *copy = verbs_.reg_mr_iova2(second, memory, bytes, address, access);
    if (!copy) {
        const int error = errno;
        verbs_.dereg_mr(made);
        return errno = error, nullptr;
    }
    const std::uint64_t begin = access & IBV_ACCESS_ZERO_BASED ? 0 : address;
    const std::lock_guard guard(lock_);
    regions_.add({made, copy, static_cast<std::byte *>(memory), begin, bytes, access});
    return made;
}

int DevicePair::dereg_mr(ibv_mr *region) {
    Region removed;
    {
        const std::lock_guard guard(lock_);
        removed = regions_.remove(region);
    }
    if (removed.second) verbs_.dereg_mr(removed.second);
    return verbs_.dereg_mr(region);
}

// What both devices can do.
void DevicePair::limit(ibv_device_attr& attributes) const {
    const ibv_device_attr& first = sides_[0].limits;
    const ibv_device_attr& second = sides_[1].limits;
    using Limit = int ibv_device_attr::*;
    for (const Limit limit :
         {&ibv_device_attr::max_sge, &ibv_device_attr::max_sge_rd, &ibv_device_attr::max_qp_wr,
          &ibv_device_attr::max_cqe, &ibv_device_attr::max_srq_wr, &ibv_device_attr::max_srq_sge,
          &ibv_device_attr::max_qp_rd_atom, &ibv_device_attr::max_qp_init_rd_atom}) {
        attributes.*limit = std::min(first.*limit, second.*limit);
    }
    attributes.max_mr_size = std::min(first.max_mr_size, second.max_mr_size);
    // What heads a message is a piece of its own.
    attributes.max_sge -= 1;
    attributes.max_sge_rd = std::min(attributes.max_sge_rd, attributes.max_sge);
}

ibv_device_attr DevicePair::limits() const {
    ibv_device_attr made = sides_[0].limits;
    limit(made);
    return made;
}

std::uint32_t DevicePair::message_bytes_max() const {
    return std::min(sides_[0].message_bytes_max, sides_[1].message_bytes_max);
}

int DevicePair::query_device(ibv_device_attr& attributes) const {
    const int error = verbs_.query_device(sides_[0].context, &attributes);
    if (!error) limit(attributes);
    return error;
}

int DevicePair::query_device_ex(const ibv_query_device_ex_input *input,
                                ibv_device_attr_ex& attributes, std::size_t bytes) const {
    const int error =
        extended_before_.query_device_ex(sides_[0].context, input, &attributes, bytes);
    if (!error) limit(attributes.orig_attr);
    return error;
}

ibv_comp_channel *DevicePair::create_channel() {
    auto made = std::make_unique<Channel>(sides_[0].context);
    if (made->shown.fd < 0) return nullptr;
    return &made.release()->shown;
}

int DevicePair::destroy_channel(ibv_comp_channel *channel) {
    if (channel->refcnt > 0) return EBUSY;
    delete reinterpret_cast<Channel *>(channel);
    return 0;
}

ibv_cq *DevicePair::create_cq(int entries, void *cq_context, ibv_comp_channel *channel,
                              int vector) {
    if (entries < 1 || entries > limits().max_cqe || vector < 0 ||
        vector >= sides_[0].context->num_comp_vectors) {
        return errno = EINVAL, nullptr;
    }
    auto *made = new CompletionQueue;
    made->pair = this;
    made->armed_queues = &armed_queues_;
    made->channel = reinterpret_cast<Channel *>(channel);
    made->shown.context = sides_[0].context;
    made->shown.channel = channel;
    made->shown.cq_context = cq_context;
    made->shown.cqe = entries;
    pthread_mutex_init(&made->shown.mutex, nullptr);
    pthread_cond_init(&made->shown.cond, nullptr);
    const std::lock_guard guard(lock_);
    if (channel) ++channel->refcnt;
    return &made->shown;
}

// Completions are in memory that grows.
int DevicePair::resize_cq(ibv_cq *queue, int entries) {
    if (entries < 1 || entries > limits().max_cqe) return EINVAL;
    const std::lock_guard guard(lock_);
    queue->cqe = entries;
    return 0;
}

int DevicePair::destroy_cq(ibv_cq *queue) {
    auto *gone = reinterpret_cast<CompletionQueue *>(queue);
    {
        const std::lock_guard guard(lock_);
        const auto uses = [&](const auto& one) { return one->belongs_to(gone); };
        if (std::any_of(queue_pairs_.begin(), queue_pairs_.end(), uses)) return EBUSY;
        if (gone->plain) {
            if (const int error = verbs_.destroy_cq(gone->plain)) return error;
        }
        if (gone->armed) --armed_queues_;
        if (gone->channel) {
            gone->channel->forget(gone);
            --gone->channel->shown.refcnt;
        }
    }
    pthread_mutex_lock(&queue->mutex);
    while (queue->comp_events_completed != gone->notices) {
        pthread_cond_wait(&queue->cond, &queue->mutex);
    }
    pthread_mutex_unlock(&queue->mutex);
    delete gone;
    return 0;
}

int DevicePair::poll_cq(ibv_cq *queue, int count, ibv_wc *into) {
    if (abandoned_) return -EPERM;
    auto& shown = *reinterpret_cast<CompletionQueue *>(queue);
    const std::lock_guard guard(lock_);
    polled_at_ = now();
    if (shown.done.empty()) progress();
    int taken = 0;
    for (; taken < count && !shown.done.empty(); ++taken) {
        into[taken] = shown.done.front();
        shown.done.pop_front();
    }
    if (taken == count || !shown.plain) return taken;
    const int more = sides_[0].operations.poll_cq(shown.plain, count - taken, into + taken);
    return more < 0 ? more : taken + more;
}

int DevicePair::req_notify_cq(ibv_cq *queue, int solicited_only) {
    if (abandoned_) return EPERM;
    auto& shown = *reinterpret_cast<CompletionQueue *>(queue);
    const std::lock_guard guard(lock_);
    shown.arm(solicited_only == 0 ? Waking::usual : Waking::solicited);
    if (shown.plain) sides_[0].operations.req_notify_cq(shown.plain, solicited_only);
    wake();
    return 0;
}

ibv_srq *DevicePair::create_srq(ibv_pd *domain, const ibv_srq_init_attr& wanted) {
    const ibv_device_attr most = limits();
    const bool fits = wanted.attr.max_wr > 0 &&
                      std::cmp_less_equal(wanted.attr.max_wr, most.max_srq_wr) &&
                      std::cmp_less_equal(wanted.attr.max_sge, most.max_srq_sge);
    if (!fits) return errno = EINVAL, nullptr;
    auto *made = new SharedReceives(*this, wanted.attr);
    made->shown.context = sides_[0].context;
    made->shown.srq_context = wanted.srq_context;
    made->shown.pd = domain;
    pthread_mutex_init(&made->shown.mutex, nullptr);
    pthread_cond_init(&made->shown.cond, nullptr);
    return &made->shown;
}

int DevicePair::destroy_srq(ibv_srq *queue) {
    {
        const std::lock_guard guard(lock_);
        const auto uses = [&](const auto& one) { return one->shown().srq == queue; };
        if (std::any_of(queue_pairs_.begin(), queue_pairs_.end(), uses)) return EBUSY;
    }
    delete reinterpret_cast<SharedReceives *>(queue);
    return 0;
}

int DevicePair::post_srq_receive(ibv_srq *queue, ibv_recv_wr *work, ibv_recv_wr **bad) {
    if (abandoned_) return *bad = work, EPERM;
    auto& shared = *reinterpret_cast<SharedReceives *>(queue);
    const std::lock_guard guard(lock_);
    int error = 0;
    for (; work && !error; work = work->next) {
        error = shared.receives.add(*work);
        if (error) break;
    }
    if (error) *bad = work;
    std::deque<QueuePair *> hungry;
    hungry.swap(shared.hungry);
    for (QueuePair *one : hungry) one->on_receives();
    return error;
}

ibv_cq *DevicePair::plain_of(ibv_cq *queue) {
    auto& shown = *reinterpret_cast<CompletionQueue *>(queue);
    if (!shown.plain) {
        shown.plain =
            verbs_.create_cq(sides_[0].context, queue->cqe, &shown, sides_[0].data_channel, 0);
        if (shown.plain && shown.armed) sides_[0].operations.req_notify_cq(shown.plain, 0);
    }
    return shown.plain;
}

// A queue pair of another type, which is the first device's own.
ibv_qp *DevicePair::create_plain(ibv_pd *domain, ibv_qp_init_attr *wanted) {
    if (wanted->srq) return errno = EOPNOTSUPP, nullptr;
    ibv_qp_init_attr init = *wanted;
    {
        const std::lock_guard guard(lock_);
        init.send_cq = plain_of(wanted->send_cq);
        init.recv_cq = plain_of(wanted->recv_cq);
    }
    if (!init.send_cq || !init.recv_cq) return nullptr;
    ibv_qp *made = verbs_.create_qp(domain, &init);
    if (made) wanted->cap = init.cap;
    return made;
}

bool DevicePair::fits(const ibv_qp_init_attr& wanted) const {
    const ibv_device_attr most = limits();
    const ibv_qp_cap& cap = wanted.cap;
    // A shared receive queue has limits of its own.
    const bool receives_fit = wanted.srq || (std::cmp_less_equal(cap.max_recv_wr, most.max_qp_wr) &&
                                             std::cmp_less_equal(cap.max_recv_sge, most.max_sge));
    return receives_fit && std::cmp_less_equal(cap.max_send_wr, most.max_qp_wr) &&
           std::cmp_less_equal(cap.max_send_sge, most.max_sge) &&
           cap.max_inline_data <= inline_bytes_max;
}

bool DevicePair::grow(ibv_cq *queue, std::size_t entries, int most) {
    if (std::cmp_less_equal(entries, queue->cqe)) return true;
    if (std::cmp_greater(entries, most)) return errno = ENOMEM, false;
    const std::size_t wanted = std::min(2 * entries, static_cast<std::size_t>(most));
    const int error = verbs_.resize_cq(queue, static_cast<int>(wanted));
    if (error) errno = error;
    return error == 0;
}

// The completion queues of the carriers hold all that these may have in them, also of one more. A
// queue pair that is destroyed still answers letters. False with errno.
bool DevicePair::has_room_for_another() {
    const std::size_t count = queue_pairs_.size() + 1;
    for (const Side& side : sides_) {
        const bool has_room =
            grow(side.data_queue, count * data_entries_each, side.limits.max_cqe) &&
            grow(side.control_queue, (count + departed_.size()) * control_entries_each,
                 side.limits.max_cqe);
        if (!has_room) return false;
    }
    return true;
}

ibv_qp *DevicePair::create_qp(ibv_pd *domain, ibv_qp_init_attr *wanted) {
    if (!wanted->send_cq || !wanted->recv_cq) return errno = EINVAL, nullptr;
    if (wanted->qp_type != IBV_QPT_RC) return create_plain(domain, wanted);
    if (!fits(*wanted)) return errno = EINVAL, nullptr;
    const std::lock_guard guard(lock_);
    if (!has_room_for_another()) return nullptr;
    std::unique_ptr<QueuePair> made = QueuePair::make(*this, domain, *wanted);
    if (!made) return nullptr;
    queue_pairs_.push_back(std::move(made));
    return &queue_pairs_.back()->shown();
}

int DevicePair::modify_qp(ibv_qp *queue_pair, const ibv_qp_attr& attributes, unsigned mask) {
    const std::lock_guard guard(lock_);
    return QueuePair::of(queue_pair).modify(attributes, mask);
}

int DevicePair::query_qp(ibv_qp *queue_pair, ibv_qp_attr *attributes, ibv_qp_init_attr *init) {
    if (!attributes) return EINVAL;
    const std::lock_guard guard(lock_);
    ibv_qp_init_attr unwanted{};
    QueuePair::of(queue_pair).query(*attributes, init ? *init : unwanted);
    return 0;
}

int DevicePair::destroy_qp(ibv_qp *queue_pair) {
    const std::lock_guard guard(lock_);
    QueuePair& gone = QueuePair::of(queue_pair);
    for (unsigned device = 0; device < device_count; ++device) read_data(device);
    gone.depart();
    gone.forget_completions();
    past_ = past_ + gone.counters();
    for (Side& side : sides_) {
        std::erase_if(side.by_carrier, [&](const auto& entry) { return entry.second == &gone; });
    }
    const auto found = std::find_if(queue_pairs_.begin(), queue_pairs_.end(),
                                    [&](const auto& one) { return one.get() == &gone; });
    departed_.push_back(std::move(*found));
    queue_pairs_.erase(found);
    return 0;
}

bool DevicePair::lacks_second_path(ibv_qp *queue_pair) {
    const std::lock_guard guard(lock_);
    return QueuePair::of(queue_pair).lacks_second_path();
}

int DevicePair::post_send(ibv_qp *queue_pair, ibv_send_wr *work, ibv_send_wr **bad) {
    if (abandoned_) return *bad = work, EPERM;
    const std::lock_guard guard(lock_);
    return QueuePair::of(queue_pair).post_send(work, bad);
}

int DevicePair::post_receive(ibv_qp *queue_pair, ibv_recv_wr *work, ibv_recv_wr **bad) {
    if (abandoned_) return *bad = work, EPERM;
    const std::lock_guard guard(lock_);
    return QueuePair::of(queue_pair).post_receive(work, bad);
}

PairCounters DevicePair::sum() const {
    PairCounters made = past_;
    for (const auto& one : queue_pairs_) made = made + one->counters();
    return made;
}

PairCounters DevicePair::counters() {
    const std::lock_guard guard(lock_);
    return sum();
}

PairCounters DevicePair::depart() {
    const std::unique_lock guard = lock_at_end(lock_);
    if (!guard) return {};
    const PairCounters made = sum();
    for (unsigned device = 0; device < device_count; ++device) read_data(device);
    for (const auto& one : queue_pairs_) one->depart();
    return made;
}

}  // namespace lanewise::paths::carried
