// SPDX-License-Identifier: BSD-3-Clause
//
// What the engine itself costs: two devices in one thread, datagrams handed over by pointer; and
// what it costs to store each byte once, against memcpy(3), which does not promise that:
//
//   engine_bench --benchmark_filter=memcpy\|lines --benchmark_enable_random_interleaving
//                --benchmark_repetitions=30 --benchmark_report_aggregates_only

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "verbs/proto/memory/place.hpp"
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
                from.ip_id = static_cast<std::uint16_t>(run->origin.ip_id + i);
                pair.wire.device(1 - sender).on_packet({buffer.data() + at, bytes}, from, now);
            }
        }
        return moved;
    }

    bool all_done(std::size_t count) {
        const std::vector<Completion> done = pair.a.sends();
        const auto is_well = [](const Completion& one) { return one.status == Status::success; };
        return done.size() == count && std::ranges::all_of(done, is_well);
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
        if (!pipe.all_done(16)) return state.SkipWithError("not all requests were completed");
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

// From behind the headers of a packet to the beginning of a page, as most data are copied.
void copy(benchmark::State& state, Place copy_bytes) {
    constexpr std::size_t headers_bytes = 28;
    constexpr std::size_t page_bytes = 4096;
    const auto bytes = static_cast<std::size_t>(state.range(0));
    const std::vector<std::byte> packet(headers_bytes + bytes, std::byte{7});
    std::vector<std::byte> memory(bytes + page_bytes);
    void *begin = memory.data();
    std::size_t room = memory.size();
    auto *page = static_cast<std::byte *>(std::align(page_bytes, bytes, begin, room));
    for (auto _ : state) {
        copy_bytes(page, packet.data() + headers_bytes, bytes);
        benchmark::ClobberMemory();
    }
    state.SetBytesProcessed(state.iterations() * state.range(0));
}

void copy_by_memcpy(std::byte *to, const std::byte *from, std::size_t bytes) {
    std::memcpy(to, from, bytes);
}

// What a write takes in the whole engine where its data are copied so.
void write_by(benchmark::State& state, Place copy_bytes) {
    const Place before = best_place.exchange(copy_bytes);
    write(state);
    best_place = before;
}

void measure(const char *name, Place copy_bytes) {
    constexpr std::int64_t largest_bytes = 1 << 20;
    benchmark::RegisterBenchmark(("copy/" + std::string(name)).c_str(), copy, copy_bytes)
        ->RangeMultiplier(2)
        ->Range(8, largest_bytes);
    benchmark::RegisterBenchmark(("write/" + std::string(name)).c_str(), write_by, copy_bytes)
        ->RangeMultiplier(8)
        ->Range(8, largest_bytes / 16);
}

const bool is_measured_each_way = [] {
    measure("memcpy", copy_by_memcpy);
    for (const Placing& placing : placings()) {
        if (placing.is_here) measure(placing.name, placing.place);
    }
    return true;
}();

}  // namespace
}  // namespace lanewise::verbs::testing
