// SPDX-License-Identifier: BSD-3-Clause
//
// The connection manager as a pure machine (IBA 1, 12.9): what the program wants, messages and time
// go in; messages, events and the next deadline come out. It knows no socket, clock or thread.
//
// A connection is made by a request, a reply and a ready, each sent again until the next is there;
// a receipt says that the next takes a while. It ends with a disconnect, which is answered at once,
// and is then remembered for a while, so that late messages find somebody who knows them.

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "verbs/cm/message/datagram.hpp"
#include "verbs/cm/message/message.hpp"
#include "verbs/proto/wire/time.hpp"

namespace lanewise::verbs::cm {

struct Timing {
    std::uint8_t response_timeout = 18;  // 1.07 s, as a code
    std::uint8_t retries = 15;
    // A kernel asks 16 times, too, but each time for 4.1 s, since nobody sends receipts here.
    std::uint8_t datagram_retries = 60;
    std::uint8_t service_timeout = 24;  // 69 s, which a receipt asks for
    Nanoseconds time_wait_ns = 1'000'000'000;
};

enum class ConnectionEventKind : std::uint8_t {
    request,         // somebody wants a connection; `id` is new
    response,        // the peer has accepted, and waits to hear that this end is ready
    established,     // both ends are ready
    rejected,        // `message` has the reason and private data
    unreachable,     // nobody answered
    disconnected,    // the peer has ended it, or has confirmed that this end did
    abandoned,       // disconnected, though the peer did not answer
    time_wait_over,  // nothing of this connection can come any more
    datagram_request,
    datagram_reply,
};

struct ConnectionEvent {
    ConnectionEventKind kind = ConnectionEventKind::request;
    std::uint32_t id = 0;
    std::uint64_t listener = 0;  // of a request, by the cookie of listen()
    Endpoints ends;              // from here to the peer
    Message message;
};

struct OutgoingMessage {
    Endpoints ends;
    Message message;
};

struct AgentCounters {
    std::uint64_t messages_received = 0;
    std::uint64_t messages_sent = 0;
    std::uint64_t messages_resent = 0;
    std::uint64_t unexpected = 0;  // of no connection here, of another peer, or out of turn
    std::uint64_t refused = 0;     // requests for nobody, or more than the listener lets wait
};

class Agent {
  public:
    // Connections are numbered from `first` on, through `count` numbers that nobody else has on
    // this host; `seed` says where to begin.
    Agent(const Timing& timing, std::uint32_t first, std::uint32_t count, std::uint32_t seed);

    // Requests for a service at an address, or at any where that is no_address. False where it is
    // taken.
    bool listen(std::uint64_t service, const Address& address, std::uint64_t cookie,
                std::size_t backlog);
    void stop_listening(std::uint64_t cookie);
    // Somebody has the service, and may be about to listen: requests are not rejected, and come
    // again.
    void reserve(std::uint64_t service, const Address& address);
    void release(std::uint64_t service, const Address& address);
    // Whether somebody listens for what a request asks for, or has reserved it.
    bool knows(std::uint64_t service, const Address& address) const;

    // Asks for a connection, or for a queue pair that takes datagrams; the number of what comes of
    // it. The message has what the program decides.
    std::uint32_t connect(Message request, const Endpoints& ends, Nanoseconds now);
    std::uint32_t resolve(Message request, const Endpoints& ends, Nanoseconds now);

    // The program has taken the request from the listener's backlog, where it made room by that.
    void take_request(std::uint32_t id);

    // 0, or EINVAL where the connection is not in a state for it.
    int accept(std::uint32_t id, Message reply, Nanoseconds now);
    int establish(std::uint32_t id, Nanoseconds now);
    // A packet of the connection has come, so the peer is ready (rdma_notify(3)).
    int note_packet(std::uint32_t id);
    int reject(std::uint32_t id, Reason reason, Bytes private_data, Nanoseconds now);
    int disconnect(std::uint32_t id, Nanoseconds now);
    int answer(std::uint32_t id, Message reply, Nanoseconds now);
    // The program no longer knows the connection: it is ended in good order, and nothing more is
    // heard of it.
    void forget(std::uint32_t id, Nanoseconds now);
    // As if all were forgotten, for a process that ends.
    void forget_all(Nanoseconds now);

    void on_message(const Message& message, const Endpoints& from, Nanoseconds now);
    // Answers a request as if nobody listened.
    void turn_away(const Message& message, const Endpoints& from) { refuse(message, from); }
    Nanoseconds next_deadline() const;
    void on_deadline(Nanoseconds now);

    std::optional<OutgoingMessage> poll_message();
    std::optional<ConnectionEvent> poll_event();
    const AgentCounters& counters() const { return counters_; }
    std::size_t connections() const { return connections_.size(); }

  private:
    enum class State : std::uint8_t {
        request_sent,
        request_received,
        reply_sent,
        reply_received,
        established,
        disconnect_sent,
        time_wait,
        datagram_request_sent,
        datagram_request_received,
        datagram_answered,
    };
    struct Connection {
        State state = State::request_sent;
        bool known = true;    // to the program
        bool queued = false;  // in the backlog of its listener
        Endpoints ends;
        std::uint32_t remote_id = 0;
        std::uint32_t qpn = 0;  // of this end
        std::uint32_t remote_qpn = 0;
        std::uint64_t transaction = 0;
        std::uint64_t service = 0;
        std::uint64_t listener = 0;
        Message last;  // to be sent again
        unsigned tries = 0;
        Nanoseconds deadline = never;
    };
    struct Listener {
        std::uint64_t cookie = 0;  // 0: the service is reserved
        std::size_t backlog = 0;
        std::size_t waiting = 0;
    };
    using Entry = std::pair<const std::uint32_t, Connection>;
    using RemoteKey = std::pair<Address, std::uint64_t>;

    std::uint32_t take_id();
    std::uint64_t take_transaction() { return ++transactions_; }
    Entry *find(std::uint32_t id);
    // Whether a message is from the peer of that connection.
    Entry *find_peer(const Message& message, const Endpoints& from);
    Listener *listener_at(std::uint64_t service, const Address& address);
    Listener *listener_of(const Connection& connection);
    RemoteKey remote_key(const Connection& connection) const;

    void send(const Endpoints& ends, Message message);
    void send_until_answered(Entry& entry, Message message, Nanoseconds now);
    void send_again(Entry& entry);
    void wait_until(Entry& entry, Nanoseconds deadline);
    void report(ConnectionEventKind kind, const Entry& entry, const Message& message = {});
    void end(Entry& entry);
    void end_waiting(Connection& connection);
    void enter_time_wait(Entry& entry, Nanoseconds now);
    void send_rejection(const Connection& connection, std::uint32_t id, Reason reason,
                        Bytes private_data);
    void send_receipt(const Entry& entry, Answered answered);
    void give_up(Entry& entry, Nanoseconds now);
    unsigned retries_of(const Connection& connection) const;
    Nanoseconds response_ns() const { return ack_timeout_ns(timing_.response_timeout); }

    void on_request(const Message& message, const Endpoints& from);
    void on_repeated_request(Entry& entry);
    void on_reply(const Message& message, const Endpoints& from);
    void on_ready(const Message& message, const Endpoints& from);
    void on_rejection(const Message& message, const Endpoints& from);
    void on_receipt(const Message& message, const Endpoints& from, Nanoseconds now);
    void on_disconnect(const Message& message, const Endpoints& from, Nanoseconds now);
    void on_disconnected(const Message& message, const Endpoints& from, Nanoseconds now);
    void on_datagram_reply(const Message& message, const Endpoints& from);
    void refuse(const Message& message, const Endpoints& from);
    void refuse_reply(const Message& message, const Endpoints& from);

    Timing timing_;
    std::uint32_t first_ = 0;
    std::uint32_t count_ = 0;
    std::uint32_t next_ = 0;
    std::uint64_t transactions_ = 0;
    std::unordered_map<std::uint32_t, Connection> connections_;
    std::map<RemoteKey, std::uint32_t> by_remote_;  // those that a peer has asked for
    std::map<std::pair<std::uint64_t, Address>, Listener> listeners_;
    std::set<std::pair<Nanoseconds, std::uint32_t>> deadlines_;
    std::deque<OutgoingMessage> messages_;
    std::deque<ConnectionEvent> events_;
    AgentCounters counters_;
};

}  // namespace lanewise::verbs::cm
