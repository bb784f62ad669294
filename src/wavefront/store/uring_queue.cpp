// SPDX-License-Identifier: BSD-3-Clause
//
// The disk queue on io_uring. Waking is a read of an eventfd that is always
// under way in the ring itself, so one wait covers disk and threads alike.

#include <liburing.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "wavefront/store/disk_queue.hpp"

namespace lanewise::wavefront {
namespace {

constexpr unsigned ring_entries = 128;
constexpr unsigned pieces_under_way_max = 64;
// The kernel takes no registered buffer longer than this.
constexpr std::uint64_t registered_buffer_bytes = std::uint64_t{1} << 30;

struct Whole {
    Transfer transfer;
    std::uint64_t pieces_left = 0;
    int error = 0;
};

struct Piece {
    Whole *whole = nullptr;
    std::uint64_t begin = 0; /* within the transfer */
    std::uint64_t end = 0;
};

class UringQueue final : public DiskQueue {
  public:
    UringQueue(const io_uring& ring, int event) : ring_(ring), event_(event) { listen(); }

    ~UringQueue() override {
        // Pieces under way point into memory that the caller frees next.
        while (under_way_ > 0) {
            io_uring_cqe *cqe = nullptr;
            if (io_uring_wait_cqe(&ring_, &cqe) != 0) continue;
            const auto piece =
                std::unique_ptr<Piece>(static_cast<Piece *>(io_uring_cqe_get_data(cqe)));
            if (piece) --under_way_;
            io_uring_cqe_seen(&ring_, cqe);
        }
        io_uring_queue_exit(&ring_);
        ::close(event_);
    }
    UringQueue(const UringQueue&) = delete;
    UringQueue& operator=(const UringQueue&) = delete;

    void register_memory(const Memory& memory) override {
        std::vector<iovec> parts;
        for (std::uint64_t at = 0; at < memory.bytes(); at += registered_buffer_bytes)
            parts.push_back(
                {memory.begin() + at, std::min(registered_buffer_bytes, memory.bytes() - at)});
        if (!registered_.empty()) io_uring_unregister_buffers(&ring_);
        const auto count = static_cast<unsigned>(parts.size());
        const bool taken = io_uring_register_buffers(&ring_, parts.data(), count) == 0;
        registered_ = taken ? std::move(parts) : std::vector<iovec>{};
    }

    void submit(const Transfer& transfer) override {
        auto whole = std::make_unique<Whole>(Whole{transfer, 0, 0});
        for (std::uint64_t begin = 0; begin < transfer.bytes;) {
            const auto end = end_of_piece(begin, transfer.bytes);
            waiting_.push_back({whole.get(), begin, end});
            ++whole->pieces_left;
            begin = end;
        }
        auto *key = whole.get();
        wholes_.emplace(key, std::move(whole));
        feed();
    }

    std::optional<Completion> wait() override {
        for (;;) {
            io_uring_cqe *cqe = nullptr;
            const int status = io_uring_wait_cqe(&ring_, &cqe);
            if (status == -EINTR) continue;
            auto *piece = static_cast<Piece *>(io_uring_cqe_get_data(cqe));
            const int result = cqe->res;
            io_uring_cqe_seen(&ring_, cqe);
            if (piece == nullptr) {
                listen();
                return std::nullopt;
            }
            const auto completion = finish(std::unique_ptr<Piece>(piece), result);
            feed();
            if (completion) return completion;
        }
    }

    void wake() override {
        const std::uint64_t one = 1;
        // The counter can only be full when the waiter has been woken already.
        [[maybe_unused]] const auto written = ::write(event_, &one, sizeof one);
    }

    const char *name() const override { return "io_uring"; }

  private:
    void listen() {
        io_uring_sqe *sqe = io_uring_get_sqe(&ring_);
        io_uring_prep_read(sqe, event_, &event_count_, sizeof event_count_, 0);
        io_uring_sqe_set_data(sqe, nullptr);
        io_uring_submit(&ring_);
    }

    void feed() {
        bool added = false;
        while (under_way_ < pieces_under_way_max && !waiting_.empty()) {
            io_uring_sqe *sqe = io_uring_get_sqe(&ring_);
            if (sqe == nullptr) break;
            auto piece = std::make_unique<Piece>(waiting_.front());
            waiting_.pop_front();
            const auto& transfer = piece->whole->transfer;
            const auto bytes = static_cast<unsigned>(piece->end - piece->begin);
            auto *memory = transfer.memory + piece->begin;
            const auto offset = transfer.offset + piece->begin;
            prepare(sqe, transfer, memory, bytes, offset);
            io_uring_sqe_set_data(sqe, piece.release());
            ++under_way_;
            added = true;
        }
        if (added) io_uring_submit(&ring_);
    }

    // The registered buffer that holds all of the bytes; none: they are not registered, or cross a
    // boundary.
    std::optional<int> registered_buffer(const std::byte *memory, unsigned bytes) const {
        if (registered_.empty()) return std::nullopt;
        const auto *begin = static_cast<const std::byte *>(registered_.front().iov_base);
        if (std::less<>()(memory, begin)) return std::nullopt;
        const auto at = static_cast<std::uint64_t>(memory - begin);
        const auto part = at / registered_buffer_bytes;
        if (part >= registered_.size() ||
            at % registered_buffer_bytes + bytes > registered_[part].iov_len)
            return std::nullopt;
        return static_cast<int>(part);
    }

    void prepare(io_uring_sqe *sqe, const Transfer& transfer, std::byte *memory, unsigned bytes,
                 std::uint64_t offset) const {
        const bool reads = transfer.direction == Transfer::Direction::read;
        const auto part = registered_buffer(memory, bytes);
        if (part && reads)
            io_uring_prep_read_fixed(sqe, transfer.file, memory, bytes, offset, *part);
        else if (part)
            io_uring_prep_write_fixed(sqe, transfer.file, memory, bytes, offset, *part);
        else if (reads)
            io_uring_prep_read(sqe, transfer.file, memory, bytes, offset);
        else
            io_uring_prep_write(sqe, transfer.file, memory, bytes, offset);
    }

    std::optional<Completion> finish(std::unique_ptr<Piece> piece, int result) {
        --under_way_;
        Whole *whole = piece->whole;
        if (result == -EINTR || result == -EAGAIN) {
            waiting_.push_front(*piece);
            return std::nullopt;
        }
        const auto moved = result > 0 ? static_cast<std::uint64_t>(result) : 0;
        const auto wanted = piece->end - piece->begin;
        const auto settled = settled_bytes(moved, wanted);
        if (settled > 0 && settled < wanted) {
            waiting_.push_front({whole, piece->begin + settled, piece->end});
            return std::nullopt;
        }
        if (result < 0)
            whole->error = -result;
        else if (settled < wanted)
            whole->error = ENODATA;
        if (--whole->pieces_left > 0) return std::nullopt;
        const Completion completion{whole->transfer.tag, whole->error};
        wholes_.erase(whole);
        return completion;
    }

    io_uring ring_;
    int event_;
    std::uint64_t event_count_ = 0;
    std::vector<iovec> registered_;
    unsigned under_way_ = 0;
    std::deque<Piece> waiting_;
    std::unordered_map<Whole *, std::unique_ptr<Whole>> wholes_;
};

}  // namespace

Result<std::unique_ptr<DiskQueue>> make_uring_queue() {
    io_uring ring;
    const int status = io_uring_queue_init(ring_entries, &ring, 0);
    if (status < 0)
        return Failure{LW_ERR_UNSUPPORTED, std::string("io_uring is not available: ") +
                                               std::strerror(-status) + "; use --io threads"};
    const int event = ::eventfd(0, EFD_CLOEXEC);
    if (event < 0) {
        io_uring_queue_exit(&ring);
        return Failure{LW_ERR_UNSUPPORTED,
                       std::string("no eventfd: ") + std::strerror(errno) + "; use --io threads"};
    }
    return std::unique_ptr<DiskQueue>(std::make_unique<UringQueue>(ring, event));
}

Result<std::unique_ptr<DiskQueue>> make_disk_queue(QueueKind kind) {
    if (kind == QueueKind::threads) return make_thread_queue();
    auto queue = make_uring_queue();
    if (queue || kind == QueueKind::io_uring) return queue;
    return make_thread_queue();
}

}  // namespace lanewise::wavefront
