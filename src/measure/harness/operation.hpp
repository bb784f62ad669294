// SPDX-License-Identifier: BSD-3-Clause
//
// Operation: what is executed between two clock readings.
//
// An entry of the registry says how much a call sends and receives and how to
// make it. A lw_operation is an entry with the user's function, weights or
// callbacks. A Running is one operation ready to run on a communicator at one
// size, with buffers that are allocated and written.
//
// Adding an operation: one function and one line in a file of operations/.

#pragma once

#include <lanewise/operation.h>
#include <mpi.h>

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "measure/harness/buffers.hpp"
#include "measure/harness/origins.hpp"

namespace lanewise::measure {

struct Exchange;

using Function = void (*)();
using Start = int (*)(Exchange&, MPI_Request *);

/* What one call of an operation works on. `count` elements of `type` make a message. */
struct Exchange {
    MPI_Comm comm = MPI_COMM_NULL;
    int rank = 0;
    int size = 1;
    int root = 0;
    std::byte *send = nullptr;
    std::byte *receive = nullptr;
    int count = 0;
    MPI_Datatype type = MPI_BYTE;
    std::vector<int> counts; /* v-operations: elements of each rank */
    std::vector<int> displacements;
    std::vector<int> own_counts; /* alltoallv: what this rank gives each, its own block's size */
    std::vector<int> own_displacements;
    std::vector<int> displacements_bytes; /* alltoallw: the displacements in bytes, and the types */
    std::vector<int> own_displacements_bytes;
    std::vector<MPI_Datatype> types;
    Function function = nullptr; /* the user's, or the MPI's own */
    Start start = nullptr;       /* the nonblocking form */
    std::uint64_t message_bytes = 0;
    int window = 1;              /* benchmarks that stream: messages in flight */
    bool one_place = false;      /* all of them arrive in the same place */
    bool allocates = false;      /* one-sided: the MPI allocates the memory of windows */
    int lock = MPI_LOCK_SHARED;  /* one-sided: how a window is locked for one call */
    std::shared_ptr<void> state; /* what `prepare` of the entry made */
};

/* How many messages a buffer holds. */
enum class Blocks { none, one, two, four, six, each_rank, window, window_or_ranks };

/* Their number on `size` ranks, with `window` messages in flight. */
std::uint64_t block_count(Blocks blocks, int size, int window);

struct BufferShape {
    Blocks send_root = Blocks::none;
    Blocks send_others = Blocks::none;
    Blocks receive_root = Blocks::none;
    Blocks receive_others = Blocks::none;
};

enum class Element { byte, real };

struct Entry {
    const char *name = "";
    BufferShape shape;
    Element element = Element::byte;
    int (*call)(Exchange&) = nullptr;
    Function own = nullptr; /* the MPI's function, where a user's may replace it */
    Start start = nullptr;  /* nonblocking operations: starts one, so that work can be done */
    bool varying = false;   /* takes counts and displacements */
    bool bytewise = false;  /* its displacements are ints that count bytes */
    bool tasks = false;     /* made of one task for each rank: bcast, scatter(v), gather(v) */
    bool to_root = false;   /* completes at the root: gather(v), reduce */
    int ranks_min = 1;
    double scale = 1.0; /* reported time over measured time */
    /* Makes `state` once for each batch; collective. Where it is null there is none. */
    int (*prepare)(Exchange&) = nullptr;
    /* The messages that one call moves, of which one is timed; null: the call is timed. */
    int (*messages)(const Exchange&) = nullptr;
    /* The time that a call spends on something else, which is taken off; null: none. */
    double (*beside_s)(const Exchange&) = nullptr;
    const char *lacks = nullptr; /* what this MPI would need to run it */
    bool threads = false;        /* needs MPI_THREAD_MULTIPLE */
    Delivers delivers = nullptr; /* null: nothing is received */
    bool adds = false;           /* one-sided: changes what the window holds already */
};

std::span<const Entry> rooted_operations();
std::span<const Entry> symmetric_operations();
/* Both, those with a root first. */
std::vector<Entry> blocking_operations();
/* Another form of `from`, called `prefix` and its name. */
Entry derived(const std::string& prefix, const Entry& from);
/* The nonblocking form of each of `blocking` that has one. */
std::vector<Entry> nonblocking_operations(std::span<const Entry> blocking);

/* Every entry, in the order in which the names are listed. */
const std::vector<Entry>& registry();
const Entry *find_entry(const std::string& name);

/* The registered name closest to `name`, for "did you mean"; empty if none is close. */
std::string suggest_operation(const std::string& name);

}  // namespace lanewise::measure

struct lw_operation {
    std::string name;
    const lanewise::measure::Entry *entry = nullptr; /* null for callbacks */
    lanewise::measure::Function function = nullptr;
    std::vector<double> weights;
    int window = 160; /* as in InfiniPath and XD1 2006, section 3 */
    lw_operation_callbacks callbacks{};
    void (*between)(void *state) = nullptr; /* with callbacks: before each execution, untimed */
    std::shared_ptr<void> library;          /* keeps a loaded shared object open */
};

namespace lanewise::measure {

/* A committed type of `bytes` contiguous bytes, for counts above INT_MAX. An MPI error code
   where the MPI cannot describe so many. */
int contiguous_type(std::uint64_t bytes, MPI_Datatype *type);

/* Small pages, aligned, the same each time. */
constexpr lw_buffers plain_buffers = {1, 0, LW_PAGES_SMALL, LW_CACHES_WARM};

/* Bytes this rank's buffers take. */
double buffer_bytes(const lw_operation& operation, int rank, int size, int root,
                    std::uint64_t message_bytes, const lw_buffers& layout = plain_buffers);

/* Where another tool calls an operation differently. */
struct Manner {
    bool one_place = false;  /* all messages of a window arrive in one place */
    bool adds_chars = false; /* reductions add MPI_CHAR, not MPI_FLOAT */
    bool allocates = false;  /* windows are of memory that the MPI allocates */
    bool one_buffer = false; /* what arrives is what is sent next */
    bool excludes = false;   /* a lock of a window keeps all other ranks out */
    bool any_root = false;   /* the root changes, so every rank has the buffers of one */
};

/* Whether `operation` can run at this size; says the limit if not. Same answer on every rank. */
Outcome admit(const lw_operation& operation, int size, int root, std::uint64_t message_bytes,
              const Manner& manner = {});

class Running {
  public:
    /* Local: failures differ between ranks, so the caller agrees on them. */
    static Result<Running> create(const lw_operation& operation, MPI_Comm comm, int root,
                                  std::uint64_t message_bytes,
                                  const lw_buffers& layout = plain_buffers, Manner manner = {});
    /* What an entry needs besides buffers; collective. Zero for success. */
    int prepare();
    Running(Running&& other) noexcept;
    Running& operator=(Running&&) = delete;
    ~Running();

    /* Zero for success. The next execution has the next set of buffers. */
    int execute() {
        if (!entry_) return operation_->callbacks.execute(state_);
        auto& exchange = exchanges_[next_];
        if (++next_ == exchanges_.size()) next_ = 0;
        return entry_->call(exchange);
    }
    /* What happens between two executions, outside of their times. */
    void come_between() const {
        if (operation_->between) operation_->between(state_);
    }
    /* What the next execution sends from and receives into. */
    std::array<std::span<std::byte>, 2> next_buffers() const {
        if (!entry_) return {};
        return {buffers_[2 * next_].bytes(), buffers_[2 * next_ + 1].bytes()};
    }
    int root() const { return exchanges_.front().root; }
    bool completes_at_root() const { return entry_ && entry_->to_root; }
    double scale() const {
        if (!entry_) return 1.0;
        return entry_->messages ? entry_->scale / entry_->messages(exchanges_.front())
                                : entry_->scale;
    }
    double beside_s() const {
        return entry_ && entry_->beside_s ? entry_->beside_s(exchanges_.front()) : 0.0;
    }
    /* One for each set of buffers, in the order in which they are used. */
    std::span<Exchange> exchanges() { return exchanges_; }
    Exchange& exchange() { return exchanges_.front(); }

  private:
    explicit Running(const lw_operation& operation)
        : operation_(&operation), entry_(operation.entry) {}
    Outcome describe(std::uint64_t message_bytes, bool adds_chars);
    void place_blocks(std::uint64_t message_bytes);
    Outcome allocate(std::uint64_t message_bytes, const lw_buffers& layout, const Manner& manner);

    const lw_operation *operation_;
    const Entry *entry_;
    std::vector<Exchange> exchanges_{1};
    std::vector<Buffer> buffers_; /* of each exchange what it sends, then what it receives */
    std::size_t next_ = 0;
    bool owns_type_ = false;
    void *state_ = nullptr;
    bool set_up_ = false;
};

}  // namespace lanewise::measure
