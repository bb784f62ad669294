// SPDX-License-Identifier: BSD-3-Clause
//
// The disk queue on a few threads that call pread and pwrite: for kernels and
// containers without io_uring.

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "base/background_thread.hpp"
#include "wavefront/store/disk_queue.hpp"

namespace lanewise::wavefront {
namespace {

constexpr unsigned worker_count = 4;

// All of a transfer, piece by piece; an errno, or 0.
int transfer_whole(const FileCalls& calls, const Transfer& transfer) {
    std::uint64_t done = 0;
    while (done < transfer.bytes) {
        const auto bytes = end_of_piece(done, transfer.bytes) - done;
        auto *memory = transfer.memory + done;
        const auto offset = transfer.offset + done;
        const auto moved = transfer.direction == Transfer::Direction::read
                               ? calls.read(transfer.file, memory, bytes, offset)
                               : calls.write(transfer.file, memory, bytes, offset);
        if (moved < 0 && (errno == EINTR || errno == EAGAIN)) continue;
        if (moved < 0) return errno;
        const auto settled = settled_bytes(static_cast<std::uint64_t>(moved), bytes);
        if (settled == 0) return ENODATA;
        done += settled;
    }
    return 0;
}

class ThreadQueue final : public DiskQueue {
  public:
    explicit ThreadQueue(FileCalls calls) : calls_(std::move(calls)) {}
    ~ThreadQueue() override {
        {
            const std::lock_guard lock(mutex_);
            closing_ = true;
        }
        changed_.notify_all();
        for (auto& worker : workers_) worker.join();
    }
    ThreadQueue(const ThreadQueue&) = delete;
    ThreadQueue& operator=(const ThreadQueue&) = delete;

    // Fewer threads do as well; fails where there is none.
    Outcome start() {
        for (unsigned i = 0; i < worker_count; ++i) {
            std::thread worker;
            const int error = start_background_thread(worker, "lanewise-disk", [this] { work(); });
            if (error && workers_.empty()) return Failure{LW_ERR_LIMIT, no_thread_sentence(error)};
            if (error) return Done{};
            workers_.push_back(std::move(worker));
        }
        return Done{};
    }

    void submit(const Transfer& transfer) override {
        {
            const std::lock_guard lock(mutex_);
            waiting_.push_back(transfer);
        }
        changed_.notify_all();
    }

    std::optional<Completion> wait() override {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return woken_ || !complete_.empty(); });
        if (!complete_.empty()) {
            const auto completion = complete_.front();
            complete_.pop_front();
            return completion;
        }
        woken_ = false;
        return std::nullopt;
    }

    void wake() override {
        {
            const std::lock_guard lock(mutex_);
            woken_ = true;
        }
        changed_.notify_all();
    }

    const char *name() const override { return "threads"; }

  private:
    void work() {
        std::unique_lock lock(mutex_);
        for (;;) {
            changed_.wait(lock, [this] { return closing_ || !waiting_.empty(); });
            if (waiting_.empty()) return;
            const Transfer transfer = waiting_.front();
            waiting_.pop_front();
            lock.unlock();
            const int error = transfer_whole(calls_, transfer);
            lock.lock();
            complete_.push_back({transfer.tag, error});
            changed_.notify_all();
        }
    }

    FileCalls calls_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Transfer> waiting_;
    std::deque<Completion> complete_;
    bool woken_ = false;
    bool closing_ = false;
    std::vector<std::thread> workers_;
};

}  // namespace

FileCalls system_calls() {
    return {.read =
                [](int file, std::byte *to, std::size_t bytes, std::uint64_t offset) {
                    return ::pread(file, to, bytes, static_cast<off_t>(offset));
                },
            .write =
                [](int file, const std::byte *from, std::size_t bytes, std::uint64_t offset) {
                    return ::pwrite(file, from, bytes, static_cast<off_t>(offset));
                }};
}

Result<std::unique_ptr<DiskQueue>> make_thread_queue(FileCalls calls) {
    auto queue = std::make_unique<ThreadQueue>(std::move(calls));
    const auto started = queue->start();
    if (!started) return started.failure();
    return std::unique_ptr<DiskQueue>(std::move(queue));
}

}  // namespace lanewise::wavefront
