// SPDX-License-Identifier: BSD-3-Clause
//
// See loop.hpp.  One thread: deliver what is due, sleep until a packet comes or the next is due,
// read what came.  The kernel wakes a sleeper up to its timer slack late, so that is 1 us here, and
// where it may be, the process goes before those that compute.

#include "testbed/loop.hpp"

#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <vector>

#include "base/clock.hpp"
#include "testbed/device.hpp"

namespace lanewise::testbed {
namespace {

constexpr std::size_t largest_packet_bytes = 10 + 14 + 65536;
constexpr std::size_t largest_request_bytes = 65536;
constexpr int packets_at_once = 32;
constexpr unsigned long slack_ns = 1000;

struct Station {
    Link link;
    std::array<Descriptor, 2> devices;
    std::array<Line, 2> lines; /* [i] carries what devices[i] sent to the other */
    std::uint64_t refused = 0; /* packets that the kernel did not take */
};

struct World {
    std::vector<Station> stations;
    Descriptor control;
    std::vector<std::byte> buffer = std::vector<std::byte>(largest_packet_bytes);
};

Result<Station> station_of(const Link& link) {
    std::array<Descriptor, 2> devices;
    for (std::size_t i = 0; i < devices.size(); ++i) {
        auto device = open_device(link.ends[i], link.layer);
        if (!device) return device.failure();
        devices[i] = std::move(*device);
    }
    return Station{link,
                   std::move(devices),
                   {Line(link.settings, link.layer, 2 * link.seed),
                    Line(link.settings, link.layer, 2 * link.seed + 1)}};
}

void refuse(Station& station, std::size_t line, const Packet& packet) {
    ++station.refused;
    station.lines[line].not_delivered(packet);
}

void deliver(Station& station) {
    for (std::size_t i = 0; i < station.lines.size(); ++i) {
        const auto to = station.devices[1 - i].number();
        for (auto packet = station.lines[i].take(monotonic_ns()); packet;
             packet = station.lines[i].take(monotonic_ns()))
            if (write(to, packet->data(), packet->size()) < 0) refuse(station, i, *packet);
    }
}

void receive(Station& station, std::size_t end, std::vector<std::byte>& buffer) {
    for (int i = 0; i < packets_at_once; ++i) {
        const auto bytes = read(station.devices[end].number(), buffer.data(), buffer.size());
        if (bytes <= 0) return;
        const PacketView packet(buffer.data(), static_cast<std::size_t>(bytes));
        station.lines[end].offer(monotonic_ns(), packet);
    }
}

Json status_of(const std::vector<Station>& stations) {
    Json links = Json::array();
    for (const auto& station : stations) {
        Json directions = Json::array();
        for (const auto& line : station.lines) directions.push_back(as_json(line.counters()));
        links.push_back({{"name", station.link.name},
                         {"settings", as_json(station.lines[0].settings())},
                         {"refused", station.refused},
                         {"directions", directions}});
    }
    return {{"links", links}};
}

Json refusal(const std::string& sentence) {
    return {{"error", sentence}};
}

Carrier carrier_of(const Station& station) {
    const bool out = std::ranges::all_of(
        station.lines, [](const Line& line) { return line.settings().carrier == Carrier::cut; });
    return out ? Carrier::cut : Carrier::up;
}

/* A host sees at its interface that the cable is out; a router does not see it of a link. */
Outcome show_carrier(const Station& station, Carrier before) {
    const auto carrier = carrier_of(station);
    if (station.link.layer != Layer::ethernet || carrier == before) return Done{};
    for (const auto& device : station.devices) {
        auto shown = set_carrier(device, carrier);
        if (!shown) return shown;
    }
    return Done{};
}

Json answer_to(const std::string& text, std::vector<Station>& stations) {
    const auto request = read_request(text);
    if (!request) return refusal(request.failure().sentence);
    if (request->link.empty()) return status_of(stations);
    for (auto& station : stations) {
        if (station.link.name != request->link) continue;
        const auto before = carrier_of(station);
        LinkSettings last;
        for (std::size_t i = 0; i < station.lines.size(); ++i) {
            if (request->direction && *request->direction != i) continue;
            const auto settings = changed(station.lines[i].settings(), request->settings);
            if (!settings) return refusal(settings.failure().sentence);
            station.lines[i].change(monotonic_ns(), last = *settings);
        }
        if (const auto shown = show_carrier(station, before); !shown)
            return refusal(shown.failure().sentence);
        return {{"settings", as_json(last)}};
    }
    return refusal("there is no link " + request->link);
}

/* A client sends its request at once; one that dawdles is not waited for longer than this. */
void answer(int listening, std::vector<Station>& stations) {
    constexpr int timeout_ms = 100;
    const Descriptor client(accept(listening, nullptr, nullptr));
    pollfd waiting{client.number(), POLLIN, 0};
    if (client.number() < 0 || poll(&waiting, 1, timeout_ms) <= 0) return;
    std::string text(largest_request_bytes, '\0');
    const auto bytes = recv(client.number(), text.data(), text.size(), 0);
    if (bytes <= 0) return;
    text.resize(static_cast<std::size_t>(bytes));
    const auto reply = answer_to(text, stations).dump();
    // A client that has gone away has no use for its answer.
    (void)send(client.number(), reply.data(), reply.size(), MSG_NOSIGNAL);
}

std::vector<pollfd> watched(const World& world) {
    std::vector<pollfd> found;
    for (const auto& station : world.stations)
        for (const auto& device : station.devices) found.push_back({device.number(), POLLIN, 0});
    found.push_back({world.control.number(), POLLIN, 0});
    return found;
}

timespec until_next(const std::vector<Station>& stations) {
    constexpr std::int64_t longest_ns = 1'000'000'000;
    const auto now = monotonic_ns();
    std::int64_t wait_ns = longest_ns;
    for (const auto& station : stations)
        for (const auto& line : station.lines)
            if (const auto next = line.next_ns()) wait_ns = std::min(wait_ns, *next - now);
    wait_ns = std::max<std::int64_t>(wait_ns, 0);
    return {wait_ns / 1'000'000'000, wait_ns % 1'000'000'000};
}

void step(World& world, std::vector<pollfd>& polled) {
    for (auto& station : world.stations) deliver(station);
    const auto timeout = until_next(world.stations);
    if (ppoll(polled.data(), polled.size(), &timeout, nullptr) <= 0) return;
    for (std::size_t i = 0; i + 1 < polled.size(); ++i)
        if (polled[i].revents & POLLIN) receive(world.stations[i / 2], i % 2, world.buffer);
    if (polled.back().revents & POLLIN) answer(world.control.number(), world.stations);
}

void hurry() {
    prctl(PR_SET_TIMERSLACK, slack_ns);
    const sched_param first{.sched_priority = 1};
    // Without the right it works as well, as long as nobody else wants the processor.
    (void)sched_setscheduler(0, SCHED_FIFO, &first);
}

}  // namespace

Failure serve(const Configuration& configuration) {
    World world;
    if (!configuration.control.empty()) {
        auto control = listen_at(configuration.control);
        if (!control) return control.failure();
        world.control = std::move(*control);
    }
    for (const auto& link : configuration.links) {
        auto station = station_of(link);
        if (!station) return station.failure();
        world.stations.push_back(std::move(*station));
    }
    hurry();
    std::puts("ready");
    std::fflush(stdout);
    auto polled = watched(world);
    for (;;) step(world, polled);
}

}  // namespace lanewise::testbed
