// SPDX-License-Identifier: BSD-3-Clause

#include "verbs/cm/machine/agent.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

namespace lanewise::verbs::cm {
namespace {

constexpr std::uint8_t mtu_code_max = 5;
constexpr std::uint8_t unreliable_connection = 1;

// The numbers of requests for datagrams and for connections are apart (IBA 1, 12.11).
constexpr std::uint64_t of_datagrams = std::uint64_t{1} << 32;

Endpoints turned(const Endpoints& ends) {
    return {ends.destination, ends.source};
}

}  // namespace

Agent::Agent(const Timing& timing, std::uint32_t first, std::uint32_t count, std::uint32_t seed)
    : timing_(timing),
      first_(first),
      count_(count),
      next_(seed % count),
      transactions_(std::uint64_t{seed} << 32) {}

bool Agent::listen(std::uint64_t service, const Address& address, std::uint64_t cookie,
                   std::size_t backlog) {
    const auto [at, is_new] = listeners_.try_emplace({service, address});
    if (!is_new && at->second.cookie != 0) return false;
    at->second = {cookie, backlog, 0};
    return true;
}

void Agent::reserve(std::uint64_t service, const Address& address) {
    listeners_.try_emplace({service, address});
}

void Agent::release(std::uint64_t service, const Address& address) {
    const auto found = listeners_.find({service, address});
    if (found != listeners_.end() && found->second.cookie == 0) listeners_.erase(found);
}

// Those who wait are not forgotten by this: the program may have taken their requests.
void Agent::stop_listening(std::uint64_t cookie) {
    std::erase_if(listeners_, [&](const auto& one) { return one.second.cookie == cookie; });
}

bool Agent::knows(std::uint64_t service, const Address& address) const {
    return listeners_.contains({service, address}) || listeners_.contains({service, no_address});
}

std::uint32_t Agent::take_id() {
    while (connections_.contains(first_ + next_ % count_)) ++next_;
    return first_ + next_++ % count_;
}

Agent::Entry *Agent::find(std::uint32_t id) {
    const auto found = connections_.find(id);
    return found == connections_.end() ? nullptr : &*found;
}

Agent::Entry *Agent::find_peer(const Message& message, const Endpoints& from) {
    Entry *entry = find(message.remote_id);
    if (entry && entry->second.ends == turned(from)) return entry;
    ++counters_.unexpected;
    return nullptr;
}

Agent::Listener *Agent::listener_at(std::uint64_t service, const Address& address) {
    auto found = listeners_.find({service, address});
    if (found == listeners_.end()) found = listeners_.find({service, no_address});
    return found == listeners_.end() ? nullptr : &found->second;
}

Agent::Listener *Agent::listener_of(const Connection& connection) {
    Listener *listener = listener_at(connection.service, connection.ends.source);
    return listener && listener->cookie == connection.listener ? listener : nullptr;
}

Agent::RemoteKey Agent::remote_key(const Connection& connection) const {
    const bool datagram = connection.state == State::datagram_request_received ||
                          connection.state == State::datagram_answered;
    return {connection.ends.destination, connection.remote_id | (datagram ? of_datagrams : 0)};
}

void Agent::send(const Endpoints& ends, Message message) {
    ++counters_.messages_sent;
    messages_.push_back({ends, std::move(message)});
}

void Agent::send_until_answered(Entry& entry, Message message, Nanoseconds now) {
    entry.second.last = std::move(message);
    entry.second.tries = 0;
    send(entry.second.ends, entry.second.last);
    wait_until(entry, now + response_ns());
}

void Agent::send_again(Entry& entry) {
    ++counters_.messages_resent;
    send(entry.second.ends, entry.second.last);
}

void Agent::wait_until(Entry& entry, Nanoseconds deadline) {
    deadlines_.erase({entry.second.deadline, entry.first});
    entry.second.deadline = deadline;
    if (deadline != never) deadlines_.insert({deadline, entry.first});
}

void Agent::report(ConnectionEventKind kind, const Entry& entry, const Message& message) {
    if (!entry.second.known) return;
    events_.push_back({kind, entry.first, entry.second.listener, entry.second.ends, message});
}

void Agent::end_waiting(Connection& connection) {
    if (!std::exchange(connection.queued, false)) return;
    Listener *listener = listener_of(connection);
    if (listener && listener->waiting > 0) --listener->waiting;
}

void Agent::take_request(std::uint32_t id) {
    if (Entry *entry = find(id)) end_waiting(entry->second);
}

unsigned Agent::retries_of(const Connection& connection) const {
    const bool datagrams = connection.state == State::datagram_request_sent ||
                           connection.state == State::datagram_request_received ||
                           connection.state == State::datagram_answered;
    return datagrams ? timing_.datagram_retries : timing_.retries;
}

void Agent::end(Entry& entry) {
    const auto at = by_remote_.find(remote_key(entry.second));
    if (at != by_remote_.end() && at->second == entry.first) by_remote_.erase(at);
    deadlines_.erase({entry.second.deadline, entry.first});
    connections_.erase(entry.first);
}

void Agent::enter_time_wait(Entry& entry, Nanoseconds now) {
    entry.second.state = State::time_wait;
    wait_until(entry, now + timing_.time_wait_ns);
}

std::uint32_t Agent::connect(Message request, const Endpoints& ends, Nanoseconds now) {
    Entry& entry = *connections_.try_emplace(take_id()).first;
    Connection& connection = entry.second;
    connection.ends = ends;
    connection.qpn = request.qpn;
    connection.transaction = take_transaction();
    request.kind = Kind::request;
    request.local_id = entry.first;
    request.transaction = connection.transaction;
    request.local_gid = ends.source;
    request.remote_gid = ends.destination;
    request.local_response_timeout = timing_.response_timeout;
    request.remote_response_timeout = timing_.response_timeout;
    request.retries_max = timing_.retries;
    send_until_answered(entry, std::move(request), now);
    return entry.first;
}

std::uint32_t Agent::resolve(Message request, const Endpoints& ends, Nanoseconds now) {
    Entry& entry = *connections_.try_emplace(take_id()).first;
    entry.second.state = State::datagram_request_sent;
    entry.second.ends = ends;
    entry.second.transaction = take_transaction();
    request.kind = Kind::datagram_request;
    request.local_id = entry.first;
    request.transaction = entry.second.transaction;
    send_until_answered(entry, std::move(request), now);
    return entry.first;
}

int Agent::accept(std::uint32_t id, Message reply, Nanoseconds now) {
    Entry *entry = find(id);
    if (!entry || entry->second.state != State::request_received) return EINVAL;
    Connection& connection = entry->second;
    end_waiting(connection);
    connection.state = State::reply_sent;
    connection.qpn = reply.qpn;
    reply.kind = Kind::reply;
    reply.local_id = id;
    reply.remote_id = connection.remote_id;
    reply.transaction = connection.transaction;
    send_until_answered(*entry, std::move(reply), now);
    return 0;
}

int Agent::establish(std::uint32_t id, Nanoseconds) {
    Entry *entry = find(id);
    if (!entry || entry->second.state != State::reply_received) return EINVAL;
    Connection& connection = entry->second;
    connection.state = State::established;
    Message ready;
    ready.kind = Kind::ready;
    ready.local_id = id;
    ready.remote_id = connection.remote_id;
    ready.transaction = connection.transaction;
    connection.last = ready;
    send(connection.ends, ready);
    return 0;
}

int Agent::note_packet(std::uint32_t id) {
    Entry *entry = find(id);
    if (!entry) return EINVAL;
    if (entry->second.state != State::reply_sent) return 0;
    entry->second.state = State::established;
    wait_until(*entry, never);
    report(ConnectionEventKind::established, *entry);
    return 0;
}

void Agent::send_rejection(const Connection& connection, std::uint32_t id, Reason reason,
                           Bytes private_data) {
    Message rejection;
    rejection.kind = Kind::rejection;
    rejection.local_id = id;
    rejection.remote_id = connection.remote_id;
    rejection.transaction = connection.transaction;
    rejection.answered = connection.state == State::request_received ? Answered::request
                         : connection.state == State::reply_received ? Answered::reply
                                                                     : Answered::other;
    rejection.reason = static_cast<std::uint16_t>(reason);
    rejection.private_data = std::move(private_data);
    send(connection.ends, std::move(rejection));
}

int Agent::reject(std::uint32_t id, Reason reason, Bytes private_data, Nanoseconds now) {
    Entry *entry = find(id);
    if (!entry) return EINVAL;
    Connection& connection = entry->second;
    if (connection.state == State::datagram_request_received) {
        Message reply;
        reply.status = static_cast<std::uint8_t>(DatagramStatus::rejected);
        reply.private_data = std::move(private_data);
        return answer(id, std::move(reply), now);
    }
    if (connection.state != State::request_received && connection.state != State::reply_received) {
        return EINVAL;
    }
    if (connection.state == State::request_received) end_waiting(connection);
    send_rejection(connection, id, reason, std::move(private_data));
    end(*entry);
    return 0;
}

int Agent::disconnect(std::uint32_t id, Nanoseconds now) {
    Entry *entry = find(id);
    if (!entry) return EINVAL;
    Connection& connection = entry->second;
    if (connection.state == State::disconnect_sent || connection.state == State::time_wait) {
        return 0;
    }
    if (connection.state != State::established && connection.state != State::reply_sent) {
        return EINVAL;
    }
    connection.state = State::disconnect_sent;
    Message request;
    request.kind = Kind::disconnect;
    request.local_id = id;
    request.remote_id = connection.remote_id;
    request.transaction = take_transaction();
    request.qpn = connection.remote_qpn;
    send_until_answered(*entry, std::move(request), now);
    return 0;
}

// The answer may be lost, and is then asked for again; so it is remembered for a while.
int Agent::answer(std::uint32_t id, Message reply, Nanoseconds now) {
    Entry *entry = find(id);
    if (!entry || entry->second.state != State::datagram_request_received) return EINVAL;
    Connection& connection = entry->second;
    end_waiting(connection);
    connection.state = State::datagram_answered;
    connection.known = false;
    reply.kind = Kind::datagram_reply;
    reply.remote_id = connection.remote_id;
    reply.transaction = connection.transaction;
    reply.service = connection.service;
    connection.last = reply;
    send(connection.ends, std::move(reply));
    wait_until(*entry, now + response_ns() * (retries_of(connection) + 1));
    return 0;
}

void Agent::forget(std::uint32_t id, Nanoseconds now) {
    std::erase_if(events_, [&](const ConnectionEvent& one) { return one.id == id; });
    Entry *entry = find(id);
    if (!entry) return;
    Connection& connection = entry->second;
    connection.known = false;
    switch (connection.state) {
        case State::request_received: end_waiting(connection); [[fallthrough]];
        case State::reply_received:
            send_rejection(connection, id, Reason::consumer, {});
            end(*entry);
            return;
        case State::datagram_request_received: reject(id, Reason::consumer, {}, now); return;
        case State::reply_sent:
        case State::established: disconnect(id, now); return;
        case State::request_sent:
        case State::datagram_request_sent: end(*entry); return;
        default: return;  // ends by itself
    }
}

void Agent::forget_all(Nanoseconds now) {
    std::vector<std::uint32_t> ids;
    for (const auto& [id, connection] : connections_) ids.push_back(id);
    for (const std::uint32_t id : ids) forget(id, now);
}

void Agent::refuse(const Message& message, const Endpoints& from) {
    ++counters_.refused;
    Message answer;
    answer.transaction = message.transaction;
    answer.remote_id = message.local_id;
    if (message.kind == Kind::datagram_request) {
        answer.kind = Kind::datagram_reply;
        answer.service = message.service;
        answer.status = static_cast<std::uint8_t>(DatagramStatus::unsupported_service);
    } else {
        answer.kind = Kind::rejection;
        answer.reason = static_cast<std::uint16_t>(Reason::invalid_service);
    }
    send(turned(from), std::move(answer));
}

void Agent::on_request(const Message& message, const Endpoints& from) {
    const bool datagram = message.kind == Kind::datagram_request;
    const RemoteKey key{from.source, message.local_id | (datagram ? of_datagrams : 0)};
    const auto before = by_remote_.find(key);
    if (before != by_remote_.end()) return on_repeated_request(*find(before->second));
    Listener *listener = listener_at(message.service, from.destination);
    if (!listener) return refuse(message, from);
    const bool makes_sense =
        datagram || (message.transport_service <= unreliable_connection && message.path_mtu > 0 &&
                     message.path_mtu <= mtu_code_max && message.qpn > services_qpn);
    if (!makes_sense || listener->waiting >= listener->backlog) {
        ++counters_.refused;
        return;
    }
    ++listener->waiting;
    Entry& entry = *connections_.try_emplace(take_id()).first;
    Connection& connection = entry.second;
    connection.queued = true;
    connection.state = datagram ? State::datagram_request_received : State::request_received;
    connection.ends = turned(from);
    connection.remote_id = message.local_id;
    connection.remote_qpn = message.qpn;
    connection.transaction = message.transaction;
    connection.service = message.service;
    connection.listener = listener->cookie;
    by_remote_[key] = entry.first;
    report(datagram ? ConnectionEventKind::datagram_request : ConnectionEventKind::request, entry,
           message);
}

void Agent::on_repeated_request(Entry& entry) {
    switch (entry.second.state) {
        case State::request_received: send_receipt(entry, Answered::request); return;
        case State::reply_sent:
        case State::datagram_answered: send_again(entry); return;
        default: return;  // an old copy, or the program has not answered yet
    }
}

void Agent::send_receipt(const Entry& entry, Answered answered) {
    Message receipt;
    receipt.kind = Kind::receipt;
    receipt.local_id = entry.first;
    receipt.remote_id = entry.second.remote_id;
    receipt.transaction = entry.second.transaction;
    receipt.answered = answered;
    receipt.service_timeout = timing_.service_timeout;
    send(entry.second.ends, std::move(receipt));
}

// The caller no longer wants what the peer has accepted, which has nothing else to learn it from.
void Agent::refuse_reply(const Message& message, const Endpoints& from) {
    Message answer;
    answer.kind = Kind::rejection;
    answer.transaction = message.transaction;
    answer.local_id = message.remote_id;
    answer.remote_id = message.local_id;
    answer.answered = Answered::reply;
    answer.reason = static_cast<std::uint16_t>(Reason::invalid_connection);
    send(turned(from), std::move(answer));
}

void Agent::on_reply(const Message& message, const Endpoints& from) {
    Entry *entry = find_peer(message, from);
    if (!entry && !find(message.remote_id)) return refuse_reply(message, from);
    if (!entry) return;
    Connection& connection = entry->second;
    if (connection.state == State::request_sent && message.qpn > services_qpn) {
        connection.state = State::reply_received;
        connection.remote_id = message.local_id;
        connection.remote_qpn = message.qpn;
        wait_until(*entry, never);
        report(ConnectionEventKind::response, *entry, message);
        return;
    }
    const bool repeated = message.local_id == connection.remote_id;
    if (repeated && connection.state == State::reply_received) {
        send_receipt(*entry, Answered::reply);
    } else if (repeated && connection.state == State::established &&
               connection.last.kind == Kind::ready) {
        send_again(*entry);
    } else {
        ++counters_.unexpected;
    }
}

void Agent::on_ready(const Message& message, const Endpoints& from) {
    Entry *entry = find_peer(message, from);
    if (!entry) return;
    if (entry->second.remote_id != message.local_id || entry->second.state != State::reply_sent) {
        ++counters_.unexpected;
        return;
    }
    note_packet(entry->first);
}

void Agent::on_rejection(const Message& message, const Endpoints& from) {
    Entry *entry = find_peer(message, from);
    if (!entry) return;
    const Connection& connection = entry->second;
    // Who has no such service numbers no connection.
    const bool from_peer =
        connection.state == State::request_sent ||
        (message.local_id == connection.remote_id &&
         (connection.state == State::reply_sent || connection.state == State::reply_received ||
          connection.state == State::established));
    if (!from_peer) {
        ++counters_.unexpected;
        return;
    }
    report(ConnectionEventKind::rejected, *entry, message);
    end(*entry);
}

void Agent::on_receipt(const Message& message, const Endpoints& from, Nanoseconds now) {
    Entry *entry = find_peer(message, from);
    if (!entry) return;
    Connection& connection = entry->second;
    const bool awaited =
        (connection.state == State::request_sent && message.answered == Answered::request) ||
        (connection.state == State::reply_sent && message.answered == Answered::reply);
    if (!awaited) {
        ++counters_.unexpected;
        return;
    }
    const std::uint8_t longest = std::min(message.service_timeout, timing_.service_timeout);
    wait_until(*entry, now + ack_timeout_ns(std::max<std::uint8_t>(longest, 1)) + response_ns());
}

void Agent::on_disconnect(const Message& message, const Endpoints& from, Nanoseconds now) {
    Message answer;
    answer.kind = Kind::disconnected;
    answer.transaction = message.transaction;
    answer.local_id = message.remote_id;
    answer.remote_id = message.local_id;
    Entry *entry = find(message.remote_id);
    if (!entry) {
        // Over here already; the peer need not wait (IBA 1, 12.9.8.3.1).
        send(turned(from), std::move(answer));
        return;
    }
    Connection& connection = entry->second;
    const bool from_peer = connection.ends == turned(from) &&
                           connection.remote_id == message.local_id &&
                           connection.qpn == message.qpn;
    const bool connected = connection.state == State::established ||
                           connection.state == State::reply_sent ||
                           connection.state == State::disconnect_sent;
    if (!from_peer || (!connected && connection.state != State::time_wait)) {
        ++counters_.unexpected;
        return;
    }
    send(connection.ends, std::move(answer));
    if (!connected) return;
    // Who ends a connection has been ready for it, though its message was lost.
    if (connection.state == State::reply_sent) report(ConnectionEventKind::established, *entry);
    report(ConnectionEventKind::disconnected, *entry);
    enter_time_wait(*entry, now);
}

void Agent::on_disconnected(const Message& message, const Endpoints& from, Nanoseconds now) {
    Entry *entry = find_peer(message, from);
    if (!entry) return;
    if (entry->second.state != State::disconnect_sent ||
        entry->second.remote_id != message.local_id) {
        ++counters_.unexpected;
        return;
    }
    report(ConnectionEventKind::disconnected, *entry);
    enter_time_wait(*entry, now);
}

void Agent::on_datagram_reply(const Message& message, const Endpoints& from) {
    Entry *entry = find_peer(message, from);
    if (!entry) return;
    if (entry->second.state != State::datagram_request_sent) {
        ++counters_.unexpected;
        return;
    }
    report(ConnectionEventKind::datagram_reply, *entry, message);
    end(*entry);
}

void Agent::on_message(const Message& message, const Endpoints& from, Nanoseconds now) {
    ++counters_.messages_received;
    switch (message.kind) {
        case Kind::request:
        case Kind::datagram_request: return on_request(message, from);
        case Kind::reply: return on_reply(message, from);
        case Kind::ready: return on_ready(message, from);
        case Kind::rejection: return on_rejection(message, from);
        case Kind::receipt: return on_receipt(message, from, now);
        case Kind::disconnect: return on_disconnect(message, from, now);
        case Kind::disconnected: return on_disconnected(message, from, now);
        case Kind::datagram_reply: return on_datagram_reply(message, from);
    }
}

Nanoseconds Agent::next_deadline() const {
    return deadlines_.empty() ? never : deadlines_.begin()->first;
}

void Agent::on_deadline(Nanoseconds now) {
    while (next_deadline() <= now) {
        Entry& entry = *find(deadlines_.begin()->second);
        const bool waits_for_answer = entry.second.state != State::time_wait &&
                                      entry.second.state != State::datagram_answered;
        if (waits_for_answer && entry.second.tries < retries_of(entry.second)) {
            ++entry.second.tries;
            send_again(entry);
            wait_until(entry, now + response_ns());
        } else {
            give_up(entry, now);
        }
    }
}

void Agent::give_up(Entry& entry, Nanoseconds now) {
    switch (entry.second.state) {
        case State::disconnect_sent:
            report(ConnectionEventKind::abandoned, entry);
            enter_time_wait(entry, now);
            return;
        case State::time_wait: report(ConnectionEventKind::time_wait_over, entry); break;
        case State::datagram_answered: break;
        default: report(ConnectionEventKind::unreachable, entry); break;
    }
    end(entry);
}

std::optional<OutgoingMessage> Agent::poll_message() {
    if (messages_.empty()) return std::nullopt;
    OutgoingMessage outgoing = std::move(messages_.front());
    messages_.pop_front();
    return outgoing;
}

std::optional<ConnectionEvent> Agent::poll_event() {
    if (events_.empty()) return std::nullopt;
    ConnectionEvent event = std::move(events_.front());
    events_.pop_front();
    return event;
}

}  // namespace lanewise::verbs::cm
