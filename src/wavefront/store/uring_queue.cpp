// SPDX-License-Identifier: BSD-3-Clause
//
// The disk queue on io_uring. Waking is a read of an eventfd that is always
// under way in the ring itself, so one wait covers disk and threads alike.
//
// The kernel may take nothing for a while, such as where it has no memory: what it
// did not take is offered again. Where a call on the ring fails for good, every
// transfer that the kernel has not taken fails with it, and those that it has taken
// are waited for by looking at the ring, since their memory is freed next.

#include <liburing.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <deque>
#include <functional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "wavefront/store/disk_queue.hpp"

namespace lanewise::wavefront {
namespace {

constexpr unsigned ring_entries = 128;
constexpr unsigned pieces_under_way_max = 64;
// The kernel takes no registered buffer longer than this. A buffer that lies in huge pages
// throughout reaches the disk in few segments; any other goes page by page, and a request holds a
// few hundred. So the small pages at the end of the memory are a buffer of their own.
constexpr std::uint64_t registered_buffer_bytes = std::uint64_t{1} << 30;
// How often the ring is looked at where it cannot say that something is complete.
constexpr int look_again_ms = 1;
// How often in a row the kernel may take nothing although it has nothing.
constexpr unsigned refusals_max = 3000;
constexpr const char *submitting = "io_uring_submit";

struct Whole {
    Transfer transfer;
    std::uint64_t pieces_left = 0;
    int error = 0;
    const char *call = nullptr;
};

struct Piece {
    Whole *whole = nullptr;
    std::uint64_t begin = 0; /* within the transfer */
    std::uint64_t end = 0;
};

struct Broken {
    int error = 0;
    const char *call = nullptr;
};

// A call that fails so may be made again.
bool passes(int error) {
    return error == EINTR || error == EAGAIN || error == EBUSY || error == ENOMEM;
}

// The kernel may give a ring the addresses of one that another thread has closed. Only the kernel
// orders what the two write there, and ThreadSanitizer does not see the kernel.
void order_after_closed_rings() {
    static std::atomic<std::uint64_t> rings{0};
    rings.fetch_add(1, std::memory_order_acq_rel);
}

class UringQueue final : public DiskQueue {
  public:
    UringQueue(const io_uring& ring, int event, RingCalls calls, std::uint64_t disks)
        : ring_(ring),
          event_(event),
          calls_(std::move(calls)),
          bytes_under_way_max_(disks * bytes_that_fill_disk) {
        feed();
    }

    ~UringQueue() override {
        // Pieces under way point into memory that the caller frees next.
        fail(ECANCELED, "closing the ring");
        while (under_way_ > 0) {
            if (auto *const cqe = next()) take(cqe);
        }
        // The kernel takes a ring apart in its own time: the memory is let go of now.
        if (!registered_.empty()) io_uring_unregister_buffers(&ring_);
        order_after_closed_rings();
        io_uring_queue_exit(&ring_);
        ::close(event_);
    }
    UringQueue(const UringQueue&) = delete;
    UringQueue& operator=(const UringQueue&) = delete;

    /* Why nothing more can be transferred; error 0: it can. */
    const Broken& broken() const { return broken_; }

    void register_memory(const Memory& memory) override {
        const auto in_huge_pages = memory.bytes() / huge_page_bytes * huge_page_bytes;
        std::vector<iovec> parts;
        for (std::uint64_t at = 0; at < memory.bytes(); at += parts.back().iov_len) {
            const auto end = at < in_huge_pages ? in_huge_pages : memory.bytes();
            parts.push_back({memory.begin() + at, std::min(registered_buffer_bytes, end - at)});
        }
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
            feed();
            if (!complete_.empty()) {
                const auto completion = complete_.front();
                complete_.pop_front();
                return completion;
            }
            if (woken_) {
                woken_ = false;
                return std::nullopt;
            }
            if (auto *const cqe = next()) take(cqe);
        }
    }

    void wake() override {
        const std::uint64_t one = 1;
        // The counter can only be full when the waiter has been woken already.
        [[maybe_unused]] const auto written = ::write(event_, &one, sizeof one);
    }

    const char *name() const override { return "io_uring"; }

  private:
    // Offers the kernel what waits, and what it did not take before.
    void feed() {
        if (broken_.error != 0) return fail_waiting();
        while (!waiting_.empty() && has_room()) {
            auto *const sqe = calls_.entry(&ring_);
            if (sqe == nullptr) break;
            auto piece = std::make_unique<Piece>(waiting_.front());
            waiting_.pop_front();
            prepare(sqe, *piece);
            offered_.push_back(piece.get());
            ++under_way_;
            bytes_under_way_ += piece->end - piece->begin;
            io_uring_sqe_set_data(sqe, piece.release());
        }
        listen();
        if (!offered_.empty()) offer();
        refusals_ = has_nothing_to_wait_for() ? refusals_ + 1 : 0;
        if (refusals_ == refusals_max) fail(EAGAIN, submitting);
    }

    void offer() {
        const int taken = calls_.submit(&ring_);
        if (taken < 0 && !passes(-taken)) return fail(-taken, submitting);
        for (int i = 0; i < taken && !offered_.empty(); ++i) offered_.pop_front();
    }

    // More than keeps the disks busy is slower; see bytes_that_fill_disk.
    bool has_room() const {
        return under_way_ < pieces_under_way_max && bytes_under_way_ < bytes_under_way_max_;
    }

    void came_back(const Piece& piece) {
        --under_way_;
        bytes_under_way_ -= piece.end - piece.begin;
    }

    // Something is to be done, but the kernel has none of it.
    bool has_nothing_to_wait_for() const {
        const auto offered = offered_.size() - static_cast<std::size_t>(std::count(
                                                   offered_.begin(), offered_.end(), nullptr));
        return offered + waiting_.size() > 0 && under_way_ == offered;
    }

    // Whatever comes next, the kernel has what leads to it.
    bool has_all_it_can() const {
        return offered_.empty() && listening_ && (waiting_.empty() || !has_room());
    }

    void listen() {
        if (listening_) return;
        auto *const sqe = calls_.entry(&ring_);
        if (sqe == nullptr) return;
        io_uring_prep_read(sqe, event_, &event_count_, sizeof event_count_, 0);
        io_uring_sqe_set_data(sqe, nullptr);
        offered_.push_back(nullptr);
        listening_ = true;
    }

    // What is complete next; null: nothing yet. Sleeps where the ring can say when.
    io_uring_cqe *next() {
        io_uring_cqe *cqe = nullptr;
        if (broken_.error == 0 && has_all_it_can()) {
            const int status = calls_.wait(&ring_, &cqe);
            if (status == 0) return cqe;
            if (!passes(-status)) fail(-status, "io_uring_wait_cqe");
            return nullptr;
        }
        if (io_uring_peek_cqe(&ring_, &cqe) == 0) return cqe;
        pollfd event{event_, POLLIN, 0};
        if (::poll(&event, 1, look_again_ms) <= 0) return nullptr;
        woken_ = true;
        // The kernel may yet read it and wake once more, which does no harm; two may not.
        if (!listening_ && ::read(event_, &event_count_, sizeof event_count_) < 0)
            fail(errno, "reading the eventfd of the ring");
        return nullptr;
    }

    void take(io_uring_cqe *cqe) {
        auto piece = std::unique_ptr<Piece>(static_cast<Piece *>(io_uring_cqe_get_data(cqe)));
        const int result = cqe->res;
        io_uring_cqe_seen(&ring_, cqe);
        if (piece) return finish(std::move(piece), result);
        listening_ = false;
        woken_ = result >= 0;
        if (result < 0 && !passes(-result)) fail(-result, "reading the eventfd of the ring");
    }

    void fail(int error, const char *call) {
        if (broken_.error == 0) broken_ = {error, call};
        for (auto *const offered : std::exchange(offered_, {})) {
            if (offered == nullptr) {
                listening_ = false;
                continue;
            }
            const std::unique_ptr<Piece> piece(offered);
            came_back(*piece);
            leave_out(piece->whole);
        }
        fail_waiting();
    }

    void fail_waiting() {
        for (const auto& piece : std::exchange(waiting_, {})) leave_out(piece.whole);
    }

    // A piece of it that never got to the kernel.
    void leave_out(Whole *whole) {
        if (whole->error == 0) {
            whole->error = broken_.error;
            whole->call = broken_.call;
        }
        end_piece(whole);
    }

    void end_piece(Whole *whole) {
        if (--whole->pieces_left > 0) return;
        complete_.push_back({whole->transfer.tag, whole->error, whole->call});
        wholes_.erase(whole);
    }

    // The registered buffer that holds all of the bytes; none: they are not registered, or cross a
    // boundary.
    std::optional<int> registered_buffer(const std::byte *memory, unsigned bytes) const {
        const auto holds_all = [&](const iovec& part) {
            const auto *begin = static_cast<const std::byte *>(part.iov_base);
            return !std::less<>()(memory, begin) &&
                   !std::less<>()(begin + part.iov_len, memory + bytes);
        };
        const auto found = std::find_if(registered_.begin(), registered_.end(), holds_all);
        if (found == registered_.end()) return std::nullopt;
        return static_cast<int>(found - registered_.begin());
    }

    void prepare(io_uring_sqe *sqe, const Piece& piece) const {
        const auto& transfer = piece.whole->transfer;
        const auto bytes = static_cast<unsigned>(piece.end - piece.begin);
        auto *const memory = transfer.memory + piece.begin;
        const auto offset = transfer.offset + piece.begin;
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

    void finish(std::unique_ptr<Piece> piece, int result) {
        came_back(*piece);
        Whole *whole = piece->whole;
        if (result == -EINTR || result == -EAGAIN) {
            waiting_.push_front(*piece);
            return;
        }
        const auto moved = result > 0 ? static_cast<std::uint64_t>(result) : 0;
        const auto wanted = piece->end - piece->begin;
        const auto settled = settled_bytes(moved, wanted);
        if (settled > 0 && settled < wanted) {
            waiting_.push_front({whole, piece->begin + settled, piece->end});
            return;
        }
        if (whole->error == 0 && settled < wanted) whole->error = result < 0 ? -result : ENODATA;
        end_piece(whole);
    }

    io_uring ring_;
    int event_;
    RingCalls calls_;
    std::uint64_t event_count_ = 0;
    bool listening_ = false; /* for the eventfd, in the ring */
    bool woken_ = false;
    Broken broken_;
    std::vector<iovec> registered_;
    unsigned refusals_ = 0;
    unsigned under_way_ = 0; /* pieces in the ring, those that are offered too */
    std::uint64_t bytes_under_way_ = 0;
    std::uint64_t bytes_under_way_max_;
    std::deque<Piece *> offered_; /* in the ring, but not taken by the kernel; null: the eventfd */
    std::deque<Piece> waiting_;
    std::deque<Completion> complete_;
    std::unordered_map<Whole *, std::unique_ptr<Whole>> wholes_;
};

}  // namespace

RingCalls ring_calls() {
    return {
        .entry = io_uring_get_sqe,
        .submit = io_uring_submit,
        .wait = [](io_uring *ring, io_uring_cqe **cqe) { return io_uring_wait_cqe(ring, cqe); }};
}

Result<std::unique_ptr<DiskQueue>> make_uring_queue(RingCalls calls, std::uint64_t disks) {
    const auto unavailable = [](int error) {
        return Failure{LW_ERR_UNSUPPORTED, std::string("io_uring is not available: ") +
                                               std::strerror(error) + "; use --io threads"};
    };
    io_uring ring;
    const int status = io_uring_queue_init(ring_entries, &ring, 0);
    if (status < 0) return unavailable(-status);
    order_after_closed_rings();
    const int event = ::eventfd(0, EFD_CLOEXEC);
    if (event < 0) {
        io_uring_queue_exit(&ring);
        return Failure{LW_ERR_UNSUPPORTED,
                       std::string("no eventfd: ") + std::strerror(errno) + "; use --io threads"};
    }
    auto queue = std::make_unique<UringQueue>(ring, event, std::move(calls), disks);
    if (queue->broken().error != 0) return unavailable(queue->broken().error);
    return std::unique_ptr<DiskQueue>(std::move(queue));
}

Result<std::unique_ptr<DiskQueue>> make_disk_queue(QueueKind kind, std::uint64_t disks) {
    if (kind == QueueKind::threads) return make_thread_queue();
    auto queue = make_uring_queue(ring_calls(), disks);
    if (queue || kind == QueueKind::io_uring) return queue;
    return make_thread_queue();
}

}  // namespace lanewise::wavefront
