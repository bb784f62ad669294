// SPDX-License-Identifier: BSD-3-Clause
//
// Completion queues and channels as the program has them. The hardware's completions are for the
// carriers; what they mean for the program's requests is put here.

#pragma once

#include <infiniband/verbs.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <deque>
#include <mutex>

namespace lanewise::paths::carried {

class DevicePair;
struct CompletionQueue;

// An eventfd counts the notices that wait, so a program can poll for it as for the kernel's. It is
// -1, with errno, where no descriptor is left.
class Channel {
  public:
    explicit Channel(ibv_context *context) {
        shown.context = context;
        shown.fd = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE);
    }
    ~Channel() {
        if (shown.fd >= 0) ::close(shown.fd);
    }
    Channel(const Channel&) = delete;
    Channel& operator=(const Channel&) = delete;

    void add(CompletionQueue *queue);
    // Waits for a notice, unless the descriptor does not block; null with errno.
    CompletionQueue *take();
    void forget(const CompletionQueue *queue);

    ibv_comp_channel shown{};  // first: a pointer to it is one to the channel

  private:
    std::mutex lock_;
    std::deque<CompletionQueue *> waiting_;
};

// Whether the sender asked for a completion to wake those who wait for such ones only.
enum class Waking : unsigned char { usual, solicited };

struct CompletionQueue {
    ibv_cq shown{};  // first
    DevicePair *pair = nullptr;
    Channel *channel = nullptr;
    std::deque<ibv_wc> done;
    ibv_cq *plain = nullptr;      // of the device, for queue pairs that are not carried
    int *armed_queues = nullptr;  // of the pair: how many wait for a completion
    bool armed = false;
    bool solicited_only = false;
    unsigned notices = 0;  // that the program has taken

    void add(const ibv_wc& completion, Waking waking) {
        done.push_back(completion);
        const bool wakes =
            !solicited_only || waking == Waking::solicited || completion.status != IBV_WC_SUCCESS;
        if (wakes) notify();
    }
    // What a queue pair that is destroyed has left, as drivers do.
    void forget(std::uint32_t queue_pair) {
        std::erase_if(done, [=](const ibv_wc& one) { return one.qp_num == queue_pair; });
    }
    // A request for any completion outlasts one for those that wake only.
    void arm(Waking least) {
        solicited_only = (!armed || solicited_only) && least == Waking::solicited;
        if (!armed) ++*armed_queues;
        armed = true;
    }
    void notify() {
        if (!armed) return;
        armed = false;
        --*armed_queues;
        if (channel) channel->add(this);
    }
};

inline void Channel::add(CompletionQueue *queue) {
    {
        const std::lock_guard guard(lock_);
        waiting_.push_back(queue);
    }
    eventfd_write(shown.fd, 1);
}

inline CompletionQueue *Channel::take() {
    for (;;) {
        eventfd_t unused = 0;
        if (eventfd_read(shown.fd, &unused) != 0) return nullptr;
        const std::lock_guard guard(lock_);
        if (waiting_.empty()) continue;  // of a queue that is no more
        CompletionQueue *queue = waiting_.front();
        waiting_.pop_front();
        ++queue->notices;
        return queue;
    }
}

inline void Channel::forget(const CompletionQueue *queue) {
    const std::lock_guard guard(lock_);
    std::erase(waiting_, queue);
}

}  // namespace lanewise::paths::carried
