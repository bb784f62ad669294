// SPDX-License-Identifier: BSD-3-Clause
//
// Shared-memory ring: a message goes once around the ranks of each host, through
// memory that they share and without the MPI. Each rank writes its message into
// the memory of the next one, and then a flag for which the next one waits. The
// time depends on the processor, on the cores that the ranks have and on what else
// runs there, but not on how an MPI sends: the gate learns from it what a launch
// of the ranks got from the machine. (Benchmarks of core-to-core latency pass one
// cache line like this.)

#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <thread>

#include "measure/benchmarks/benchmark.hpp"

namespace lanewise::measure {
namespace {

#ifndef LANEWISE_SIMULATED
constexpr const char *lacks = nullptr;
constexpr std::size_t page_bytes = 4096;
constexpr int polls_before_yield = 1000;
/* A clock that ticks every 10 ns is too coarse for a single one. */
constexpr int rounds = 8;

/* What a rank receives in: the turn whose message is there, and the message after it. */
struct alignas(64) Inbox {
    std::atomic<std::uint32_t> turn{0};

    std::byte *message() { return reinterpret_cast<std::byte *>(this) + sizeof(Inbox); }
};

/* MPIs put data of their own before a window, so it may begin anywhere in a page. It begins at the
   same place of a page in each process. */
void *next_aligned(void *window) {
    std::size_t room_bytes = 2 * alignof(Inbox);
    return std::align(alignof(Inbox), sizeof(Inbox), window, room_bytes);
}

class Ring {
  public:
    Ring() = default;
    Ring(const Ring&) = delete;
    Ring& operator=(const Ring&) = delete;
    ~Ring() {
        if (window_ != MPI_WIN_NULL) MPI_Win_free(&window_);
        if (host_ != MPI_COMM_NULL) MPI_Comm_free(&host_);
    }

    int create(const Exchange& e) {
        int code = MPI_Comm_split_type(e.comm, MPI_COMM_TYPE_SHARED, e.rank, MPI_INFO_NULL, &host_);
        if (code != MPI_SUCCESS) return code;
        MPI_Comm_rank(host_, &place_);
        MPI_Comm_size(host_, &size_);
        const auto wanted_bytes = alignof(Inbox) + sizeof(Inbox) + e.message_bytes;
        const auto pages = (wanted_bytes + page_bytes - 1) / page_bytes;
        void *mine = nullptr;
        code = MPI_Win_allocate_shared(static_cast<MPI_Aint>(pages * page_bytes), 1, MPI_INFO_NULL,
                                       host_, &mine, &window_);
        if (code != MPI_SUCCESS) return code;
        mine_ = new (next_aligned(mine)) Inbox;
        arrived_.resize(e.message_bytes);
        MPI_Aint bytes = 0;
        int unit = 0;
        void *next = nullptr;
        code = MPI_Win_shared_query(window_, (place_ + 1) % size_, &bytes, &unit, &next);
        if (code == MPI_SUCCESS) next_ = static_cast<Inbox *>(next_aligned(next));
        return first_failure({code, MPI_Barrier(host_)});
    }

    /* The first rank of the host begins and ends, so that no message is overwritten unread. */
    void go_around(const Exchange& e) {
        ++turn_;
        if (size_ == 1) return;
        if (place_ != 0) take();
        give(e);
        if (place_ == 0) take();
    }
    /* Only this rank writes there, so there is nothing to wait for. */
    void read_back(Exchange& e) const {
        const auto *message = size_ == 1 ? e.send : next_->message();
        std::memcpy(e.receive, message, e.message_bytes);
    }

  private:
    void give(const Exchange& e) const {
        std::memcpy(next_->message(), e.send, e.message_bytes);
        next_->turn.store(turn_, std::memory_order_release);
    }
    void take() {
        for (int polls = 0; mine_->turn.load(std::memory_order_acquire) != turn_; ++polls) {
            if (polls % polls_before_yield == polls_before_yield - 1) std::this_thread::yield();
        }
        std::memcpy(arrived_.data(), mine_->message(), arrived_.size());
    }

    MPI_Comm host_ = MPI_COMM_NULL;
    MPI_Win window_ = MPI_WIN_NULL;
    int place_ = 0;
    int size_ = 1;
    Inbox *mine_ = nullptr;
    Inbox *next_ = nullptr;
    std::uint32_t turn_ = 0;
    std::vector<std::byte> arrived_;
};

int make(Exchange& e) {
    auto ring = std::make_shared<Ring>();
    const int code = ring->create(e);
    e.state = std::move(ring);
    return code;
}

int go_around(Exchange& e) {
    auto& ring = state_of<Ring>(e);
    for (int round = 0; round < rounds; ++round) ring.go_around(e);
    ring.read_back(e);
    return MPI_SUCCESS;
}
#else
constexpr const char *lacks = "memory that processes share";
constexpr int rounds = 1;
constexpr int (*make)(Exchange&) = nullptr;
constexpr int (*go_around)(Exchange&) = nullptr;
#endif

/* From whom a message arrives depends on the hosts, so a rank reads back its own in the end. */
Origins from_itself(const Standpoint& s) {
    return {{{s.me}}};
}

}  // namespace

Entries shared_memory_ring_benchmarks() {
    return {{.name = "shared_memory_ring",
             .shape = all_ranks(Blocks::one, Blocks::one),
             .call = go_around,
             .ranks_min = 2,
             .scale = 1.0 / rounds,
             .prepare = make,
             .lacks = lacks,
             .delivers = from_itself}};
}

}  // namespace lanewise::measure
