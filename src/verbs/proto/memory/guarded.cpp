// SPDX-License-Identifier: BSD-3-Clause

#include "verbs/proto/memory/guarded.hpp"

#include <atomic>
#include <csetjmp>
#include <csignal>
#include <cstring>
#include <mutex>

#include "verbs/proto/memory/place.hpp"
#include "verbs/proto/wire/crc32.hpp"

namespace lanewise::verbs {
namespace {

// Where to go on when a copy of this thread faults. Handlers may not allocate, as other models of
// thread-local storage do.
[[gnu::tls_model("initial-exec")]] thread_local sigjmp_buf *volatile way_out = nullptr;

struct sigaction of_program_segv;
struct sigaction of_program_bus;

struct sigaction& of_program(int signal) {
    return signal == SIGBUS ? of_program_bus : of_program_segv;
}

void on_fault(int signal, siginfo_t *information, void *context) {
    if (way_out != nullptr) {
        // Where another handler calls this one, as that of ThreadSanitizer does, it may have
        // blocked signals, and the next fault would end the program.
        pthread_sigmask(SIG_SETMASK, &static_cast<const ucontext_t *>(context)->uc_sigmask,
                        nullptr);
        siglongjmp(*way_out, 1);
    }
    const struct sigaction& before = of_program(signal);
    if ((before.sa_flags & SA_SIGINFO) != 0) {
        before.sa_sigaction(signal, information, context);
        return;
    }
    if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
        before.sa_handler(signal);
        return;
    }
    // The instruction is run again and ends the program; a signal that was sent is sent again.
    sigaction(signal, &before, nullptr);
    if (information->si_code <= 0) {
        raise(signal);
    }
}

template <typename Copy>
bool guarded(const Copy& copy) {
    sigjmp_buf before;
    if (sigsetjmp(before, 0) != 0) {
        way_out = nullptr;
        return false;
    }
    way_out = &before;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    copy();
    std::atomic_signal_fence(std::memory_order_seq_cst);
    way_out = nullptr;
    return true;
}

}  // namespace

void guard_memory() {
    static std::once_flag once;
    std::call_once(once, [] {
        for (const int signal : {SIGSEGV, SIGBUS}) {
            struct sigaction ours {};
            ours.sa_sigaction = on_fault;
            ours.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
            sigaction(signal, nullptr, &of_program(signal));
            sigaction(signal, &ours, nullptr);
        }
    });
}

bool read_guarded(std::byte *to, const std::byte *from, std::size_t bytes,
                  std::uint32_t *checksum) {
    if (bytes == 0) return true;
    if (!checksum) return guarded([=] { std::memcpy(to, from, bytes); });
    return guarded([=] { *checksum = crc32::feed_copying(*checksum, to, {from, bytes}); });
}

bool place_guarded(std::byte *to, const std::byte *from, std::size_t bytes) {
    return bytes == 0 || guarded([=] { place(to, from, bytes); });
}

// Under ThreadSanitizer an atomic is a call that takes a lock, which a fault would leave locked.
bool add_guarded(std::uint64_t *word, std::uint64_t value, std::uint64_t& old) {
    return guarded([&]() __attribute__((no_sanitize("thread"))) {
        old = __atomic_fetch_add(word, value, __ATOMIC_SEQ_CST);
    });
}

bool swap_guarded(std::uint64_t *word, std::uint64_t value, std::uint64_t& old) {
    return guarded([&]() __attribute__((no_sanitize("thread"))) {
        __atomic_compare_exchange_n(word, &old, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    });
}

}  // namespace lanewise::verbs
