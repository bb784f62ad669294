// SPDX-License-Identifier: BSD-3-Clause
//
// See operation.hpp. Messages above INT_MAX bytes are described by one element
// of a derived type, so that every count stays 1.

#include "measure/harness/operation.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <climits>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <exception>
#include <limits>
#include <memory>
#include <numeric>
#include <utility>

#include "base/quantities.hpp"
#include "base/sizes.hpp"

namespace lanewise::measure {
namespace {

constexpr std::uint64_t real_bytes = sizeof(float);

Failure limit(const lw_operation& operation, std::uint64_t bytes, const std::string& why) {
    return {LW_ERR_LIMIT, operation.name + " of " + format_size(bytes) + " bytes " + why};
}

// The largest block over message_bytes.
double widest(const lw_operation& operation) {
    const auto& weights = operation.weights;
    return weights.empty() ? 1.0 : *std::max_element(weights.begin(), weights.end());
}

// Elements that are added are counted in an int, those of all ranks where they are displaced.
Outcome admit_count(const lw_operation& operation, int size, std::uint64_t bytes,
                    const Manner& manner) {
    if (operation.entry->element != Element::real) return Done{};
    const auto count = manner.adds_chars ? bytes : bytes / real_bytes;
    const std::string elements = manner.adds_chars ? "chars" : "floats";
    if (count > INT_MAX && manner.adds_chars)
        return limit(operation, bytes,
                     "exceeds INT_MAX chars (2 GiB less 1 byte), which the loop of --as adds; "
                     "choose a smaller size");
    if (count > INT_MAX)
        return limit(operation, bytes, "exceeds INT_MAX floats (8 GiB less 4 bytes)");
    if (operation.entry->varying && count > INT_MAX / static_cast<std::uint64_t>(size))
        return limit(operation, bytes, "a rank exceeds INT_MAX " + elements + " over all ranks");
    return Done{};
}

Outcome admit_weights(const lw_operation& operation, int size, std::uint64_t bytes) {
    if (operation.weights.empty()) return Done{};
    if (operation.weights.size() != static_cast<std::size_t>(size)) {
        return Failure{LW_ERR_ARGUMENT,
                       operation.name + " has " + std::to_string(operation.weights.size()) +
                           " weights for " + std::to_string(size) + " ranks; give one a rank"};
    }
    const auto& weights = operation.weights;
    const bool to_each = operation.entry->shape.send_others == Blocks::each_rank;
    const double total =
        to_each ? size * widest(operation) : std::accumulate(weights.begin(), weights.end(), 0.0);
    if (total * static_cast<double>(bytes) > INT_MAX)
        return limit(operation, bytes, "with these weights exceeds INT_MAX displacements");
    return Done{};
}

}  // namespace

std::uint64_t block_count(Blocks blocks, int size, int window) {
    switch (blocks) {
        case Blocks::none: return 0;
        case Blocks::one: return 1;
        case Blocks::two: return 2;
        case Blocks::four: return 4;
        case Blocks::six: return 6;
        case Blocks::each_rank: return static_cast<std::uint64_t>(size);
        case Blocks::window: return static_cast<std::uint64_t>(window);
        case Blocks::window_or_ranks: return static_cast<std::uint64_t>(std::max(window, size));
    }
    return 0;
}

// Whole pieces and a remainder.
int contiguous_type(std::uint64_t bytes, MPI_Datatype *type) {
    constexpr std::uint64_t piece_bytes = std::uint64_t{1} << 30;
    MPI_Datatype piece = MPI_DATATYPE_NULL;
    int code = MPI_Type_contiguous(static_cast<int>(piece_bytes), MPI_BYTE, &piece);
    if (code != MPI_SUCCESS) return code;
    const auto whole = bytes / piece_bytes;
    int lengths[2] = {static_cast<int>(whole), static_cast<int>(bytes % piece_bytes)};
    MPI_Aint places[2] = {0, static_cast<MPI_Aint>(whole * piece_bytes)};
    MPI_Datatype types[2] = {piece, MPI_BYTE};
    code = MPI_Type_create_struct(2, lengths, places, types, type);
    MPI_Type_free(&piece);
    if (code != MPI_SUCCESS) return code;
    // SMPI counts the bytes of a type in an int and does not say when it overflows.
    MPI_Count described = 0;
    code = MPI_Type_size_x(*type, &described);
    if (code == MPI_SUCCESS && static_cast<std::uint64_t>(described) != bytes) code = MPI_ERR_TYPE;
    if (code == MPI_SUCCESS) code = MPI_Type_commit(type);
    if (code != MPI_SUCCESS) MPI_Type_free(type);
    return code;
}

Outcome admit(const lw_operation& operation, int size, int root, std::uint64_t bytes,
              const Manner& manner) {
    if (root < 0 || root >= size) {
        return Failure{LW_ERR_ARGUMENT, "root " + std::to_string(root) +
                                            " is outside the communicator of " +
                                            counted(static_cast<std::uint64_t>(size), "rank") +
                                            "; ranks count from 0"};
    }
    if (!operation.entry) return Done{};
    const auto& entry = *operation.entry;
    if (size < entry.ranks_min) {
        return Failure{LW_ERR_ARGUMENT, operation.name + " needs at least " +
                                            std::to_string(entry.ranks_min) + " ranks, not " +
                                            std::to_string(size)};
    }
    if (entry.element == Element::real && bytes % real_bytes != 0)
        return Failure{LW_ERR_ARGUMENT, operation.name + " adds floats; " + format_size(bytes) +
                                            " bytes are not a multiple of 4"};
    const auto counted = admit_count(operation, size, bytes, manner);
    if (!counted) return counted;
    if (entry.bytewise && bytes > INT_MAX / static_cast<std::uint64_t>(size))
        return limit(operation, bytes, "from each rank exceeds INT_MAX bytes over all ranks");
    if (bytes > static_cast<std::uint64_t>(PTRDIFF_MAX) / static_cast<std::uint64_t>(size))
        return limit(operation, bytes, "from each rank exceeds the address space");
    return admit_weights(operation, size, bytes);
}

double buffer_bytes(const lw_operation& operation, int rank, int size, int root,
                    std::uint64_t bytes, const lw_buffers& layout) {
    if (!operation.entry) return 0.0;
    const auto& shape = operation.entry->shape;
    const auto send = rank == root ? shape.send_root : shape.send_others;
    const auto receive = rank == root ? shape.receive_root : shape.receive_others;
    const double block_bytes = static_cast<double>(bytes) * widest(operation);
    const auto mapped = [&](Blocks held) {
        const auto blocks = static_cast<double>(block_count(held, size, operation.window));
        return mapped_bytes(blocks * block_bytes, layout);
    };
    return layout.rotating_sets * (mapped(send) + mapped(receive));
}

Outcome Running::allocate(std::uint64_t bytes, const lw_buffers& layout, const Manner& manner) {
    const auto& one = exchanges_.front();
    const auto& shape = entry_->shape;
    const bool as_root = manner.any_root || one.rank == one.root;
    const auto room = static_cast<std::uint64_t>(static_cast<double>(bytes) * widest(*operation_));
    const auto bytes_of = [&](Blocks held) {
        return std::max(block_count(held, one.size, one.window) * room, real_bytes);
    };
    const auto send_bytes = bytes_of(as_root ? shape.send_root : shape.send_others);
    const auto receive_bytes = bytes_of(as_root ? shape.receive_root : shape.receive_others);
    exchanges_.resize(layout.rotating_sets, one);
    for (auto& exchange : exchanges_) {
        for (auto [held, place] :
             {std::pair{send_bytes, &exchange.send}, std::pair{receive_bytes, &exchange.receive}}) {
            auto buffer = Buffer::create(held, layout);
            if (!buffer)
                return Failure{buffer.failure().status, operation_->name + " of " +
                                                            format_size(bytes) +
                                                            " bytes: " + buffer.failure().sentence};
            *place = buffer->data();
            buffers_.push_back(std::move(*buffer));
        }
    }
    return Done{};
}

// Above INT_MAX bytes, or where equal blocks lie further apart than that, a
// message is one element of a type of its own, so that counts stay small.
Outcome Running::describe(std::uint64_t bytes, bool adds_chars) {
    auto& exchange = exchanges_.front();
    const auto ranks = static_cast<std::uint64_t>(exchange.size);
    const bool weighted = !operation_->weights.empty();
    const bool far_apart = entry_->varying && bytes > INT_MAX / ranks;
    if (entry_->element == Element::real && adds_chars) {
        exchange.type = MPI_CHAR;
        exchange.count = static_cast<int>(bytes);
    } else if (entry_->element == Element::real) {
        exchange.type = MPI_FLOAT;
        exchange.count = static_cast<int>(bytes / real_bytes);
    } else if (weighted || (bytes <= INT_MAX && !far_apart)) {
        exchange.count = static_cast<int>(std::min<std::uint64_t>(bytes, INT_MAX));
    } else {
        if (contiguous_type(bytes, &exchange.type) != MPI_SUCCESS)
            return limit(*operation_, bytes,
                         "is more than this MPI can describe; its limit is "
                         "INT_MAX bytes");
        exchange.count = 1;
        owns_type_ = true;
    }
    if (entry_->varying) place_blocks(bytes);
    return Done{};
}

void Running::place_blocks(std::uint64_t bytes) {
    auto& exchange = exchanges_.front();
    const auto ranks = static_cast<std::size_t>(exchange.size);
    const auto& weights = operation_->weights;
    const auto elements = entry_->element == Element::real ? bytes / real_bytes : bytes;
    exchange.counts.assign(ranks, exchange.count);
    exchange.displacements.assign(ranks, 0);
    for (std::size_t r = 0; r < weights.size(); ++r) {
        exchange.counts[r] = static_cast<int>(weights[r] * static_cast<double>(elements));
    }
    for (std::size_t r = 1; r < ranks; ++r) {
        exchange.displacements[r] = exchange.displacements[r - 1] + exchange.counts[r - 1];
    }
    const int own = exchange.counts[static_cast<std::size_t>(exchange.rank)];
    exchange.own_counts.assign(ranks, own);
    for (std::size_t r = 0; r < ranks; ++r) {
        exchange.own_displacements.push_back(static_cast<int>(r) * own);
    }
    if (!entry_->bytewise) return;
    exchange.types.assign(ranks, exchange.type);
    exchange.displacements_bytes = exchange.displacements;
    exchange.own_displacements_bytes = exchange.own_displacements;
}

Result<Running> Running::create(const lw_operation& operation, MPI_Comm comm, int root,
                                std::uint64_t bytes, const lw_buffers& layout, Manner manner) {
    Running running(operation);
    auto& exchange = running.exchanges_.front();
    exchange.comm = comm;
    exchange.root = root;
    exchange.message_bytes = bytes;
    exchange.window = operation.window;
    exchange.one_place = manner.one_place;
    exchange.allocates = manner.allocates;
    exchange.lock = manner.excludes ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED;
    MPI_Comm_rank(comm, &exchange.rank);
    MPI_Comm_size(comm, &exchange.size);
    if (!operation.entry) {
        const auto& callbacks = operation.callbacks;
        if (callbacks.setup &&
            callbacks.setup(callbacks.context, comm, root, bytes, &running.state_) != 0)
            return Failure{LW_ERR_OPERATION, "setup of " + operation.name + " failed"};
        running.set_up_ = true;
        return running;
    }
    exchange.function = operation.function ? operation.function : operation.entry->own;
    exchange.start = operation.entry->start;
    const auto described = running.describe(bytes, manner.adds_chars);
    if (!described) return described.failure();
    const auto allocated = running.allocate(bytes, layout, manner);
    if (!allocated) return allocated.failure();
    for (auto& one : running.exchanges_) {
        if (manner.one_buffer) one.send = one.receive;
    }
    return running;
}

// What one set of buffers has found out, as how long work takes, serves the next.
int Running::prepare() {
    if (!entry_ || !entry_->prepare) return 0;
    for (auto& exchange : exchanges_) {
        exchange.state = exchanges_.front().state;
        const int code = entry_->prepare(exchange);
        if (code != 0) return code;
    }
    return 0;
}

Running::Running(Running&& other) noexcept
    : operation_(other.operation_),
      entry_(other.entry_),
      exchanges_(std::move(other.exchanges_)),
      buffers_(std::move(other.buffers_)),
      next_(other.next_),
      owns_type_(std::exchange(other.owns_type_, false)),
      state_(std::exchange(other.state_, nullptr)),
      set_up_(std::exchange(other.set_up_, false)) {}

// What an entry made works on the buffers, so it goes before them.
Running::~Running() {
    for (auto& exchange : exchanges_) exchange.state.reset();
    if (owns_type_) MPI_Type_free(&exchanges_.front().type);
    if (set_up_ && operation_->callbacks.teardown) operation_->callbacks.teardown(state_);
}

namespace {

// No exception passes the C API; only that of memory can come up.
template <typename Act>
lw_status guarded(const Act& act) {
    try {
        return act();
    } catch (const std::exception&) {
        return LW_ERR_MEMORY;
    }
}

lw_operation *make(const char *name, Function function) {
    auto operation = std::make_unique<lw_operation>();
    operation->name = name;
    operation->entry = find_entry(name);
    operation->function = function;
    return operation.release();
}

template <typename F>
lw_operation *make_from(const char *name, F function) {
    lw_operation *made = nullptr;
    guarded([&] {
        made = make(name, reinterpret_cast<Function>(function));
        return LW_OK;
    });
    return made;
}

bool usable(const lw_operation_callbacks *callbacks) {
    return callbacks && callbacks->struct_size == sizeof(lw_operation_callbacks) &&
           callbacks->name && callbacks->execute;
}

void say(char *text, size_t text_bytes, const std::string& reason) {
    if (text && text_bytes > 0) std::snprintf(text, text_bytes, "%s", reason.c_str());
}

lw_status load_operation(const std::string& both, char *text, size_t text_bytes,
                         lw_operation **operation) {
    const auto colon = both.rfind(':');
    if (colon == std::string::npos || colon == 0 || colon + 1 == both.size()) {
        say(text, text_bytes, "\"" + both + "\" is not LIBRARY.so:SYMBOL");
        return LW_ERR_NOT_FOUND;
    }
    std::string path = both.substr(0, colon);
    if (path.find('/') == std::string::npos) path = "./" + path;
    std::shared_ptr<void> library(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL), [](void *handle) {
        if (handle) dlclose(handle);
    });
    if (!library) {
        say(text, text_bytes, dlerror());
        return LW_ERR_NOT_FOUND;
    }
    const auto symbol = both.substr(colon + 1);
    const auto *callbacks =
        static_cast<const lw_operation_callbacks *>(dlsym(library.get(), symbol.c_str()));
    if (!callbacks) {
        say(text, text_bytes, path + " has no symbol \"" + symbol + "\"");
        return LW_ERR_NOT_FOUND;
    }
    const auto status = lw_operation_user(callbacks, operation);
    if (status == LW_OK) (*operation)->library = std::move(library);
    if (status == LW_ERR_ARGUMENT)
        say(text, text_bytes,
            symbol + " of " + path +
                " is not a lw_operation_callbacks of this "
                "version with a name and execute");
    return status;
}

}  // namespace
}  // namespace lanewise::measure

using namespace lanewise::measure;

lw_operation *lw_operation_scatter(lw_scatter_fn f) {
    return make_from("scatter", f);
}
lw_operation *lw_operation_scatterv(lw_scatterv_fn f) {
    return make_from("scatterv", f);
}
lw_operation *lw_operation_gather(lw_gather_fn f) {
    return make_from("gather", f);
}
lw_operation *lw_operation_gatherv(lw_gatherv_fn f) {
    return make_from("gatherv", f);
}
lw_operation *lw_operation_bcast(lw_bcast_fn f) {
    return make_from("bcast", f);
}
lw_operation *lw_operation_reduce(lw_reduce_fn f) {
    return make_from("reduce", f);
}
lw_operation *lw_operation_allreduce(lw_allreduce_fn f) {
    return make_from("allreduce", f);
}
lw_operation *lw_operation_allgather(lw_allgather_fn f) {
    return make_from("allgather", f);
}
lw_operation *lw_operation_alltoall(lw_alltoall_fn f) {
    return make_from("alltoall", f);
}
lw_operation *lw_operation_barrier(lw_barrier_fn f) {
    return make_from("barrier", f);
}

const char *lw_operation_name(size_t index) {
    return index < registry().size() ? registry()[index].name : nullptr;
}

lw_status lw_operation_named(const char *name, lw_operation **operation) {
    if (!name || !operation) return LW_ERR_ARGUMENT;
    return guarded([&] {
        const auto *entry = find_entry(name);
        if (!entry) return LW_ERR_NOT_FOUND;
        if (entry->lacks) return LW_ERR_UNSUPPORTED;
        *operation = make(name, nullptr);
        return LW_OK;
    });
}

lw_status lw_operation_user(const lw_operation_callbacks *callbacks, lw_operation **operation) {
    if (!usable(callbacks) || !operation) return LW_ERR_ARGUMENT;
    return guarded([&] {
        auto made = std::make_unique<lw_operation>();
        made->name = callbacks->name;
        made->callbacks = *callbacks;
        *operation = made.release();
        return LW_OK;
    });
}

lw_status lw_operation_load(const char *library_and_symbol, char *text, size_t text_bytes,
                            lw_operation **operation) {
    if (!library_and_symbol || !operation) return LW_ERR_ARGUMENT;
    return guarded([&] { return load_operation(library_and_symbol, text, text_bytes, operation); });
}

lw_status lw_operation_weights(lw_operation *operation, const double *weights, size_t count) {
    if (!operation || !weights || count == 0) return LW_ERR_ARGUMENT;
    if (!operation->entry || !operation->entry->varying) return LW_ERR_UNSUPPORTED;
    for (size_t i = 0; i < count; ++i) {
        if (!(weights[i] >= 0.0) || !std::isfinite(weights[i])) return LW_ERR_ARGUMENT;
    }
    return guarded([&] {
        operation->weights.assign(weights, weights + count);
        return LW_OK;
    });
}

lw_status lw_operation_window(lw_operation *operation, int messages) {
    if (!operation || messages < 1) return LW_ERR_ARGUMENT;
    if (!operation->entry || !operation->entry->messages) return LW_ERR_UNSUPPORTED;
    operation->window = messages;
    return LW_OK;
}

void lw_operation_free(lw_operation *operation) {
    delete operation;
}
