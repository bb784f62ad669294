// SPDX-License-Identifier: BSD-3-Clause
//
// What the engine itself costs: two devices in one thread, datagrams handed over by pointer.

#include <benchmark/benchmark.h>

#include <algorithm>

#include "verbs/proto/testing/peer.hpp"
#include "verbs/proto/wire/icrc.hpp"

namespace lanewise::verbs::testing {
namespace {

struct Pipe {
    explicit Pipe(const Options& options) : pair(options), buffer(64 << 10) {}

    void carry() {
        bool moved = true;
        while (moved) {
            moved = carry_from(0);
            moved = carry_from(1) || moved;
        }
    }

    bool carry_from(std::size_t sender) {
        bool moved = false;
        while (const auto run = pair.wire.device(sender).poll_transmit(now, buffer, 64)) {
            moved = true;
            Arrival from{.port = run->port, .source_udp_port = run->origin.source_udp_port};
            from.source = run->source;
            from.destination = run->destination;
            for (std::size_t i = 0; i < run->segments; ++i) {
                const std::size_t at = i * run->segment_bytes;
                const std::size_t bytes = std::min(run->segment_bytes, run->bytes - at);
                from.ip_id = static_cast<std::uint32_t>(i);
                pair.wire.device(1 - sender).on_packet({buffer.data() + at, bytes}, from, now);
            }
        }
        return moved;
    }

    Pair pair;
    std::vector<std::byte> buffer;
    Nanoseconds now = 1;
};

void transfer(benchmark::State& state, Operation operation) {
    Pipe pipe({.mtu = Mtu::b4096, .requests_max = 64});
    const auto bytes = static_cast<std::size_t>(state.range(0));
    for (auto _ : state) {
        for (std::uint64_t i = 0; i < 16; ++i) {
            pipe.pair.a.post(operation, i, pipe.pair.a.slice(0, bytes), pipe.pair.b, 0);
        }
        pipe.carry();
        benchmark::DoNotOptimize(pipe.pair.a.sends());
    }
    state.SetBytesProcessed(state.iterations() * 16 * state.range(0));
    state.SetItemsProcessed(state.iterations() * 16);
}

void write(benchmark::State& state) {
    transfer(state, Operation::write);
}
void read(benchmark::State& state) {
    transfer(state, Operation::read);
}
BENCHMARK(write)->Arg(8)->Arg(4096)->Arg(65536);
BENCHMARK(read)->Arg(8)->Arg(65536);

void sealing(benchmark::State& state) {
    std::vector<std::byte> datagram(static_cast<std::size_t>(state.range(0)));
    const IcrcAddresses addresses{address_of(Family::ipv4, 0, 1), address_of(Family::ipv4, 1, 1),
                                  0xc000};
    for (auto _ : state) {
        seal(datagram, addresses, 0);
        benchmark::DoNotOptimize(datagram.data());
    }
    state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK(sealing)->Arg(16)->Arg(80)->Arg(1040)->Arg(4112);

}  // namespace
}  // namespace lanewise::verbs::testing
