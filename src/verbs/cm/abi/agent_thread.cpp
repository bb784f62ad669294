// SPDX-License-Identifier: BSD-3-Clause

#include "verbs/cm/abi/agent_thread.hpp"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <utility>

#include "base/background_thread.hpp"
#include "base/clock.hpp"
#include "base/host.hpp"
#include "base/json.hpp"
#include "verbs/faults/injector.hpp"
#include "verbs/port/interface.hpp"
#include "verbs/port/random.hpp"

namespace lanewise::verbs::cm {
namespace {

constexpr int batches_per_round = 64;
constexpr Nanoseconds refusal_delay_ns = 200'000'000;
constexpr std::size_t held_max = 64;
constexpr Nanoseconds exit_wait_ns = 200'000'000;
constexpr auto exit_pause = std::chrono::microseconds(50);

Lock the_manager_lock;
// Never destroyed: its thread runs until the process ends.
Manager *the_manager = nullptr;
bool was_refused = false;

// The program may be ending in the middle of a call that holds the lock, which then never ends;
// other threads give it back soon.
std::unique_lock<Lock> locked_at_exit(Lock& lock) {
    std::unique_lock guard(lock, std::defer_lock);
    const Nanoseconds until = monotonic_ns() + exit_wait_ns;
    while (!lock.is_mine() && !guard.try_lock() && monotonic_ns() < until) {
        std::this_thread::sleep_for(exit_pause);
    }
    return guard;
}

// The name by which a fault means a message.
std::string_view name_of(Kind kind) {
    constexpr std::array<std::string_view, 9> names{
        "request",    "receipt",      "rejection",        "reply",         "ready",
        "disconnect", "disconnected", "datagram_request", "datagram_reply"};
    return names[static_cast<std::size_t>(kind) - static_cast<std::size_t>(Kind::request)];
}

std::vector<port::Home> homes_at(std::span<const abi::Port> ports) {
    std::vector<port::Home> homes;
    for (const abi::Port& one : ports) {
        for (const Address& address : one.interface.addresses) {
            homes.push_back({address, one.interface.index});
        }
    }
    return homes;
}

std::vector<abi::Port> ports_now(const std::vector<abi::Config>& devices,
                                 std::vector<abi::Port> ports) {
    std::vector<std::string> interfaces;
    for (const abi::Config& device : devices) {
        interfaces.insert(interfaces.end(), device.interfaces.begin(), device.interfaces.end());
    }
    std::vector<port::Interface> found = port::read_interfaces(interfaces);
    ports.resize(found.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
        ports[i] = updated(ports[i], std::move(found[i]));
    }
    return ports;
}

}  // namespace

void warn(const std::string& sentence) {
    std::fprintf(stderr, "lanewise rdma run: %s\n", sentence.c_str());
}

Result<std::unique_ptr<Manager>> Manager::open(void (*deliver)(const ConnectionEvent&)) {
    Result<std::vector<abi::Config>> devices = abi::read_devices();
    if (!devices) return devices.failure();
    Result<port::Wire> wire = port::Wire::open(homes_at(ports_now(*devices, {})));
    if (!wire) return wire.failure();
    Result<Descriptor> watch = port::watch_interfaces();
    if (!watch) return watch.failure();
    Descriptor wake(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!wake) {
        return Failure{LW_ERR_IO, std::string("cannot wake a thread: ") + std::strerror(errno)};
    }
    return std::unique_ptr<Manager>(new Manager(std::move(*devices), std::move(*wire),
                                                std::move(*watch), std::move(wake), deliver));
}

Manager::Manager(std::vector<abi::Config> devices, port::Wire wire, Descriptor watch,
                 Descriptor wake, void (*deliver)(const ConnectionEvent&))
    : devices_(std::move(devices)),
      wire_(std::move(wire)),
      watch_(std::move(watch)),
      wake_(std::move(wake)),
      ports_(ports_now(devices_, {})),
      agent_({}, port::first_connection(wire_.slot()), 1U << port::connection_bits,
             port::random_number()),
      deliver_(deliver),
      psn_(port::random_number()) {
    wire_.serve_connections();
    wire_.answer_with([this] { return status(); });
}

Manager::Place Manager::place_of(std::uint8_t number) const {
    Place place{0, number};
    while (place.port > devices_[place.device].interfaces.size()) {
        place.port =
            static_cast<std::uint8_t>(place.port - devices_[place.device].interfaces.size());
        ++place.device;
    }
    return place;
}

// What `lanewise rdma status` shows beside the device of this process.
std::string Manager::status() const {
    const AgentCounters& counters = agent_.counters();
    return Json{{"process", getpid()},
                {"pid_namespace", pid_namespace()},
                {"connection_manager",
                 {{"connections", agent_.connections()},
                  {"messages_sent", counters.messages_sent},
                  {"messages_received", counters.messages_received},
                  {"messages_resent", counters.messages_resent},
                  {"unexpected", counters.unexpected},
                  {"refused", counters.refused},
                  {"malformed", malformed_}}}}
        .dump();
}

// 0, or an errno where the system has no thread left.
int Manager::start() {
    std::thread thread;
    const int error = start_background_thread(thread, "lanewise-cm", [this] { run(); });
    if (error == 0) thread.detach();
    return error;
}

Manager *Manager::get(void (*deliver)(const ConnectionEvent&)) {
    const std::lock_guard guard(the_manager_lock);
    if (the_manager || was_refused) return the_manager;
    Result<std::unique_ptr<Manager>> opened = open(deliver);
    if (!opened) {
        warn(opened.failure().sentence);
        was_refused = true;
        return nullptr;
    }
    static const bool registered = [] {
        pthread_atfork([] { the_manager_lock.lock(); }, [] { the_manager_lock.unlock(); },
                       leave_to_parent);
        std::atexit(end_connections);
        return true;
    }();
    static_cast<void>(registered);
    if (const int error = (*opened)->start()) {
        warn(std::string("cannot start the thread of the connection manager: ") +
             std::strerror(error) + "; raise the limit of processes (ulimit -u)");
        was_refused = true;
        return nullptr;
    }
    the_manager = opened->release();
    return the_manager;
}

// A child has no such thread, and begins anew when it asks for a connection.
void Manager::leave_to_parent() {
    if (the_manager) {
        the_manager->wire_.close_in_child();
        close(the_manager->watch_.number());
        close(the_manager->wake_.number());
        the_manager = nullptr;
    }
    the_manager_lock.unlock();
}

// A kernel would tell the peers that the process has ended; here it has to do so itself.
void Manager::end_connections() {
    const std::unique_lock found = locked_at_exit(the_manager_lock);
    if (!found || !the_manager) return;
    const std::unique_lock guard = locked_at_exit(the_manager->lock_);
    if (!guard) return;
    the_manager->agent_.forget_all(monotonic_ns());
    while (const std::optional<OutgoingMessage> outgoing = the_manager->agent_.poll_message()) {
        the_manager->post(*outgoing);
    }
}

// The address is gone, or the device has failed, through which nothing arrives or leaves any more.
bool Manager::is_cut_off(const Address& address) const {
    const std::optional<std::uint8_t> number = port_of(ports_, address);
    return !number || has_failed(place_of(*number).device);
}

void Manager::post(const OutgoingMessage& outgoing) {
    if (is_cut_off(outgoing.ends.source)) return;  // and the message is lost
    const std::optional<std::uint8_t> number = port_of(ports_, outgoing.ends.source);
    const Bytes datagram = datagram_of(outgoing.message, outgoing.ends, psn_++ & 0xffffff);
    const iovec piece{const_cast<std::byte *>(datagram.data()), datagram.size()};
    const port::Route route{outgoing.ends.source, outgoing.ends.destination,
                            ports_[*number - 1U].interface.index};
    // What finds no room is lost like any datagram, and sent again in its time.
    wire_.send(
        {.route = route, .origin = {.source_udp_port = roce_udp_port}, .pieces = {&piece, 1}});
}

void Manager::settle() {
    while (const std::optional<ConnectionEvent> event = agent_.poll_event()) {
        deliver_(*event);
    }
    // Afterwards, as what is delivered may be rejected.
    while (const std::optional<OutgoingMessage> outgoing = agent_.poll_message()) post(*outgoing);
    if (agent_.next_deadline() < wakes_at_) eventfd_write(wake_.number(), 1);
}

// A program that ends one listener and makes the next for the same port, as perftest does, would
// lose a caller who is quick. So a request for a service that nobody has is looked at again before
// it is rejected.
void Manager::hold(const port::Datagram& datagram) {
    held_.push_back({monotonic_ns() + refusal_delay_ns, datagram,
                     Bytes(datagram.packet.begin(), datagram.packet.end())});
    held_.back().datagram.packet = held_.back().packet;
}

void Manager::take_held() {
    while (!held_.empty() && held_.front().until <= monotonic_ns()) {
        Held one = std::move(held_.front());
        held_.pop_front();
        one.datagram.packet = one.packet;
        wire_.hand_in(one.datagram, [this](const port::Datagram& again) { take(again, false); });
    }
}

Nanoseconds Manager::next_deadline() const {
    return held_.empty() ? agent_.next_deadline()
                         : std::min(agent_.next_deadline(), held_.front().until);
}

void Manager::take(const port::Datagram& datagram, bool may_wait) {
    if (is_cut_off(datagram.destination)) return;
    Arrival arrival;
    arrival.source = datagram.source;
    arrival.destination = datagram.destination;
    arrival.source_udp_port = datagram.source_port;
    arrival.likely_ip_id = static_cast<std::uint16_t>(datagram.number);
    const std::optional<Message> message = message_of(datagram.packet, arrival);
    if (!message) {
        ++malformed_;
        return;
    }
    const Endpoints ends{datagram.source, datagram.destination};
    if (faults::Injector *injector = faults::Injector::get(); injector && may_wait) {
        const auto fault =
            injector->decide({.place = faults::Place::connection, .name = name_of(message->kind)});
        if (fault && fault->what == "reject") agent_.turn_away(*message, ends);
        if (fault) return;
    }
    const bool asks = message->kind == Kind::request || message->kind == Kind::datagram_request;
    if (may_wait && asks && held_.size() < held_max &&
        !agent_.knows(message->service, datagram.destination)) {
        return hold(datagram);
    }
    agent_.on_message(*message, ends, monotonic_ns());
}

void Manager::read_ports() {
    if (!port::drain_watch(watch_)) return;
    ports_ = ports_now(devices_, std::move(ports_));
    const Outcome listens = wire_.listen(homes_at(ports_));
    if (!listens) warn(listens.failure().sentence);
}

void Manager::read_messages() {
    const auto taker = [this](const port::Datagram& datagram) { take(datagram, true); };
    for (int i = 0; i < batches_per_round && wire_.receive(std::ref(taker)); ++i) {
    }
    for (int i = 0; i < batches_per_round && wire_.receive_forwarded(std::ref(taker)); ++i) {
    }
}

void Manager::run() {
    std::unique_lock guard(lock_);
    for (;;) {
        read_ports();
        read_messages();
        take_held();
        agent_.on_deadline(monotonic_ns());
        settle();
        wakes_at_ = next_deadline();
        std::array<pollfd, 5> wanted{
            pollfd{wire_.socket(), POLLIN, 0}, pollfd{wire_.mailbox(), POLLIN, 0},
            pollfd{wire_.services(), POLLIN, 0}, pollfd{watch_.number(), POLLIN, 0},
            pollfd{wake_.number(), POLLIN, 0}};
        const Nanoseconds now = monotonic_ns();
        constexpr Nanoseconds millisecond = 1'000'000;
        constexpr Nanoseconds second = 1'000 * millisecond;
        const Nanoseconds until = wakes_at_ == never ? second * 3600 : wakes_at_ - now;
        const Nanoseconds wait = until > 0 ? until : 0;
        const timespec span{static_cast<time_t>(wait / second), static_cast<long>(wait % second)};
        guard.unlock();
        ppoll(wanted.data(), wanted.size(), &span, nullptr);
        guard.lock();
        eventfd_t unused = 0;
        eventfd_read(wake_.number(), &unused);
    }
}

}  // namespace lanewise::verbs::cm
