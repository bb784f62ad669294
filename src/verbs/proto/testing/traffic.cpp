// SPDX-License-Identifier: BSD-3-Clause

#include "verbs/proto/testing/traffic.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace lanewise::verbs::testing {
namespace {

// The areas: a library that only the other side reads, sources and results of own requests, what
// the other side writes, where its messages land, and the word of its atomics.
constexpr std::size_t library_bytes = 64 << 10;
constexpr std::size_t own_at = library_bytes;
constexpr std::size_t written_at = traffic_memory_bytes * 3 / 8;
constexpr std::size_t landing_at = traffic_memory_bytes * 5 / 8;
constexpr std::size_t word_at = traffic_memory_bytes - 8;

// What each transport can do with memory; what is often done stands more than once.
constexpr std::array reliable_work{
    Operation::write,       Operation::write_immediate, Operation::send,
    Operation::send,        Operation::send_immediate,  Operation::read,
    Operation::fetch_add,   Operation::fetch_add,       Operation::local_invalidate,
    Operation::bind_window, Operation::send_invalidate};
constexpr std::array unreliable_work{Operation::write,       Operation::write_immediate,
                                     Operation::send,        Operation::send_immediate,
                                     Operation::bind_window, Operation::local_invalidate};

bool takes_receive(Operation operation) {
    return operation == Operation::send_invalidate ||
           (operation != Operation::write && operation <= Operation::send_immediate);
}

bool moves_own_data(Operation operation) {
    return operation <= Operation::send_immediate || operation == Operation::send_invalidate;
}

Accessor accessor_of(const Peer& peer) {
    return {1, peer.queue_pair->number()};
}

WindowBinding whole(const Peer& peer, std::uint32_t key) {
    return {key, peer.key, peer.address(0), traffic_memory_bytes, remote_write | remote_read};
}

bool is_open(const Peer& peer, std::uint32_t key) {
    return peer.device->memory().may_invalidate(key, accessor_of(peer));
}

}  // namespace

Traffic::Traffic(Pair& pair, std::uint64_t seed, const Load& load)
    : pair_(pair), load_(load), random_(seed) {
    sides_[0].self = sides_[1].other = &pair.a;
    sides_[1].self = sides_[0].other = &pair.b;
    for (Side& side : sides_) {
        for (std::size_t i = 0; i < written_at; i += 8) {
            const std::uint64_t word = random_();
            std::memcpy(side.self->memory.data() + i, &word, 8);
        }
        std::memset(side.self->memory.data() + word_at, 0, 8);
    }
    for (Side& side : sides_) {
        plan(side, load);
    }
    for (std::size_t i = 0; i < 2; ++i) {
        for (std::size_t job = 0; job < sides_[1 - i].jobs.size(); ++job) {
            if (takes_receive(sides_[1 - i].jobs[job].operation)) {
                sides_[i].incoming.push_back(job);
            }
        }
        post_receives(sides_[i], load.receives_first ? load.requests : 0);
    }
}

Operation Traffic::choose(const Side& side, const Load& load) {
    if (!load.with_memory) {
        return random_() % 2 == 0 ? Operation::send : Operation::send_immediate;
    }
    return side.self->options.transport == Transport::rc
               ? reliable_work[random_() % reliable_work.size()]
               : unreliable_work[random_() % unreliable_work.size()];
}

// A window of its own for each request that changes one, open where it is to be closed.
void Traffic::plan_window(const Side& side, Job& job) {
    if (!is_local(job.operation) && job.operation != Operation::send_invalidate) {
        return;
    }
    const Peer& owner = is_local(job.operation) ? *side.self : *side.other;
    MemoryTable& memory = owner.device->memory();
    job.window = memory.add_window(1, WindowType::type_2);
    if (job.operation != Operation::bind_window) {
        memory.bind(whole(owner, job.window), accessor_of(owner));
    }
}

void Traffic::plan(Side& side, const Load& load) {
    std::size_t local = own_at;
    std::size_t remote = written_at;
    std::uint64_t word = 0;
    for (std::size_t i = 0; i < load.requests; ++i) {
        Job job{.operation = choose(side, load)};
        const bool tiny = random_() % 4 == 0;
        job.bytes = random_() % (tiny ? 200 : load.bytes_max + 1);
        job.flags = (random_() % 3 == 0 || i + 1 == load.requests ? signaled : 0u) |
                    (random_() % 5 == 0 ? fence : 0u) | (random_() % 4 == 0 ? solicited : 0u);
        if (job.operation == Operation::fetch_add) {
            local = (local + 7) / 8 * 8;
            job.bytes = 8;
            job.add = random_();
            job.expected = word;
            word += job.add;
            job.remote = word_at;
        } else if (is_local(job.operation)) {
            job.bytes = 0;
        } else if (job.operation == Operation::read) {
            job.remote = random_() % (library_bytes - job.bytes);
        } else {
            job.remote = remote;
        }
        if (moves_own_data(job.operation) && job.bytes <= 200 && random_() % 2 == 0) {
            job.flags |= inline_data;
        }
        plan_window(side, job);
        job.local = local;
        local += job.bytes + 5;
        remote += moves_own_data(job.operation) ? job.bytes + 3 : 0;
        side.jobs.push_back(job);
    }
}

// Buffers of messages stand one behind the other, with room to see what is written too far.
std::size_t Traffic::landing(const Side& side, std::size_t receive) const {
    const Side& other = &side == &sides_[0] ? sides_[1] : sides_[0];
    std::size_t at = landing_at;
    for (std::size_t i = 0; i < receive; ++i) {
        at += other.jobs[side.incoming[i]].bytes + 4;
    }
    return at;
}

void Traffic::post_one(Side& side) {
    const Job& job = side.jobs[side.posted];
    const std::size_t cut = job.bytes > 1 ? random_() % job.bytes : 0;
    const Slice slices[2] = {side.self->slice(job.local, cut),
                             side.self->slice(job.local + cut, job.bytes - cut)};
    const bool in_one = job.operation == Operation::fetch_add || random_() % 2 == 0;
    const WindowBinding binding = whole(*side.self, job.window);
    const Slice one = side.self->slice(job.local, job.bytes);
    const int refused = side.self->queue_pair->post_send(
        {.id = side.posted,
         .operation = job.operation,
         .flags = job.flags,
         .immediate = static_cast<std::uint32_t>(side.posted * 3),
         .slices = in_one ? std::span(&one, 1) : std::span<const Slice>(slices),
         .remote_address = side.other->address(job.remote),
         .rkey = side.other->key,
         .compare_add = job.add,
         .invalidated_key = job.window,
         .binding = &binding});
    side.posted += refused == 0 ? 1 : 0;
}

void Traffic::post(Side& side) {
    for (std::uint64_t i = random_() % 8; i > 0 && side.posted < side.jobs.size(); --i) {
        post_one(side);
    }
    post_receives(side, random_() % 8);
}

void Traffic::post_receives(Side& side, std::uint64_t most) {
    const Side& other = &side == &sides_[0] ? sides_[1] : sides_[0];
    for (std::uint64_t i = most; i > 0; --i) {
        const std::size_t receive = side.receives_posted;
        if (receive == side.incoming.size()) {
            return;
        }
        const std::size_t bytes = other.jobs[side.incoming[receive]].bytes;
        const int refused = side.self->post_receive(receive, landing(side, receive), bytes);
        side.receives_posted += refused == 0 ? 1 : 0;
    }
}

void Traffic::collect(Side& side) {
    for (const Completion& completion : side.self->sends()) {
        side.sent.push_back(completion);
        if (completion.status != Status::success) {
            failures_.push_back(completion);
        }
    }
    const auto received = side.self->receives();
    side.received.insert(side.received.end(), received.begin(), received.end());
}

bool Traffic::done(const Side& side) const {
    return !side.sent.empty() && side.sent.back().id + 1 == side.jobs.size() &&
           side.received.size() == side.incoming.size();
}

bool Traffic::round() {
    for (Side& side : sides_) {
        post(side);
    }
    pair_.wire.run_for(
        static_cast<Nanoseconds>(random_() % static_cast<std::uint64_t>(load_.pause_ns)));
    for (Side& side : sides_) {
        collect(side);
    }
    return done(sides_[0]) && done(sides_[1]);
}

bool Traffic::finish(Nanoseconds limit_ns) {
    const Nanoseconds until = pair_.wire.now() + limit_ns;
    while (!round()) {
        if (pair_.wire.now() > until || !failures_.empty()) {
            return false;
        }
    }
    // An unreliable request completes when it is sent, which is before it arrives.
    pair_.wire.run_for(1'000'000);
    return true;
}

void Traffic::check_sends(const Side& side, std::vector<std::string>& wrong) const {
    std::size_t next = 0;
    for (std::size_t i = 0; i < side.jobs.size(); ++i) {
        const Job& job = side.jobs[i];
        const std::byte *local = side.self->memory.data() + job.local;
        const std::byte *remote = side.other->memory.data() + job.remote;
        if (job.operation == Operation::fetch_add) {
            if (std::memcmp(local, &job.expected, 8) != 0) {
                wrong.push_back(fmt::format("atomic {} returned another value", i));
            }
        } else if (!takes_receive(job.operation) || job.operation == Operation::write_immediate) {
            if (std::memcmp(local, remote, job.bytes) != 0) {
                wrong.push_back(fmt::format("data of request {} differ", i));
            }
        }
        if ((job.flags & signaled) == 0) {
            continue;
        }
        if (next == side.sent.size() || side.sent[next].id != i) {
            wrong.push_back(fmt::format("no completion of request {} in its place", i));
            return;
        }
        ++next;
    }
    if (next != side.sent.size()) {
        wrong.push_back("more completions than requests");
    }
}

void Traffic::check_windows(const Side& side, std::vector<std::string>& wrong) const {
    for (std::size_t i = 0; i < side.jobs.size(); ++i) {
        const Job& job = side.jobs[i];
        const Peer& owner = is_local(job.operation) ? *side.self : *side.other;
        const bool binds = job.operation == Operation::bind_window;
        if (job.window != 0 && is_open(owner, job.window) != binds) {
            wrong.push_back(fmt::format("request {} did not change its window", i));
        }
    }
}

void Traffic::check_receives(const Side& side, const Side& other,
                             std::vector<std::string>& wrong) const {
    for (std::size_t i = 0; i < side.received.size() && i < side.incoming.size(); ++i) {
        const Job& job = other.jobs[side.incoming[i]];
        const Completion& got = side.received[i];
        const bool immediate = job.operation == Operation::send_immediate ||
                               job.operation == Operation::write_immediate;
        const bool is_write = job.operation == Operation::write_immediate;
        if (got.id != i || got.length_bytes != job.bytes || got.has_immediate != immediate ||
            got.invalidated_key != job.window ||
            (immediate && got.immediate != side.incoming[i] * 3) ||
            (got.work == CompletedWork::receive_rdma_with_immediate) != is_write ||
            got.solicited != ((job.flags & solicited) != 0)) {
            wrong.push_back(fmt::format("receive {} completed as another", i));
        }
        const std::byte *source = other.self->memory.data() + job.local;
        const std::byte *landed = side.self->memory.data() + landing(side, i);
        if (!is_write && std::memcmp(source, landed, job.bytes) != 0) {
            wrong.push_back(fmt::format("data of message {} differ", i));
        }
    }
    if (side.received.size() != side.incoming.size()) {
        wrong.push_back(
            fmt::format("{} messages of {} received", side.received.size(), side.incoming.size()));
    }
}

std::vector<std::string> Traffic::mistakes() {
    std::vector<std::string> wrong;
    check_sends(sides_[0], wrong);
    check_sends(sides_[1], wrong);
    check_windows(sides_[0], wrong);
    check_windows(sides_[1], wrong);
    check_receives(sides_[0], sides_[1], wrong);
    check_receives(sides_[1], sides_[0], wrong);
    for (const Side& side : sides_) {
        if (side.jobs.empty() || side.posted != side.jobs.size()) {
            wrong.push_back("not all requests were posted");
        }
    }
    return wrong;
}

}  // namespace lanewise::verbs::testing
