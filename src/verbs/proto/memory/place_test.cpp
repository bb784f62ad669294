// SPDX-License-Identifier: BSD-3-Clause
//
// Each store is let through one at a time, and the memory is set back after it, as a program does
// that answers at once: a byte that is stored twice is seen twice. This takes a processor that can
// be stopped after each instruction; elsewhere only the bytes are compared.

#include "verbs/proto/memory/place.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <string>
#include <vector>

namespace lanewise::verbs {
namespace {

constexpr std::size_t area_bytes = 4096;
constexpr std::size_t whole_bytes = 8;

// One page that the program answers in.
struct Answered {
    std::byte *memory = static_cast<std::byte *>(
        mmap(nullptr, area_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    std::array<int, area_bytes> seen{};  // how often each byte has been written
    int torn = 0;                        // words of which a part was there before the rest
    int disordered = 0;                  // stores that began below the end of one before
    std::size_t next = 0;                // behind the highest byte that has been written
    std::size_t begin = 0;               // what is copied to
    std::size_t end = 0;

    ~Answered() { munmap(memory, area_bytes); }
    void close() { mprotect(memory, area_bytes, PROT_NONE); }
    void open() { mprotect(memory, area_bytes, PROT_READ | PROT_WRITE); }
    void answer() {
        std::size_t lowest = area_bytes;
        std::size_t highest = 0;
        for (std::size_t word = 0; word < area_bytes; word += whole_bytes) {
            std::size_t written = 0;
            for (std::size_t at = word; at < word + whole_bytes; ++at) {
                if (memory[at] == std::byte{0}) continue;
                if (lowest == area_bytes) lowest = at;
                highest = at;
                ++seen[at];
                ++written;
                memory[at] = std::byte{0};
            }
            const bool is_whole = word >= begin && word + whole_bytes <= end;
            if (is_whole && written > 0 && written < whole_bytes) ++torn;
        }
        if (lowest == area_bytes) return;
        if (lowest < next) ++disordered;
        next = std::max(next, highest + 1);
    }
};

Answered *answered = nullptr;

#if defined(__x86_64__)
constexpr greg_t single_step = 0x100;  // the trap flag

void on_store(int, siginfo_t *, void *context) {
    answered->open();
    static_cast<ucontext_t *>(context)->uc_mcontext.gregs[REG_EFL] |= single_step;
}

void on_stored(int, siginfo_t *, void *context) {
    answered->answer();
    answered->close();
    static_cast<ucontext_t *>(context)->uc_mcontext.gregs[REG_EFL] &= ~single_step;
}

class Handled {
  public:
    Handled() {
        struct sigaction ours {};
        ours.sa_flags = SA_SIGINFO;
        ours.sa_sigaction = on_store;
        sigaction(SIGSEGV, &ours, &store_before_);
        ours.sa_sigaction = on_stored;
        sigaction(SIGTRAP, &ours, &trap_before_);
    }
    ~Handled() {
        sigaction(SIGSEGV, &store_before_, nullptr);
        sigaction(SIGTRAP, &trap_before_, nullptr);
    }
    Handled(const Handled&) = delete;
    Handled& operator=(const Handled&) = delete;

  private:
    struct sigaction store_before_ {};
    struct sigaction trap_before_ {};
};

void expect_once(const Placing& placing, std::size_t begin, std::size_t bytes) {
    static const std::vector<std::byte> from(area_bytes, std::byte{0xff});
    Answered page;
    page.begin = begin;
    page.end = begin + bytes;
    answered = &page;
    placing.place(page.memory + begin, from.data() + bytes % 3, bytes);
    answered = nullptr;
    for (std::size_t at = 0; at < area_bytes; ++at) {
        const int times = at >= page.begin && at < page.end ? 1 : 0;
        ASSERT_EQ(page.seen[at], times) << begin << " and " << bytes;
    }
    ASSERT_EQ(page.torn, 0) << begin << " and " << bytes;
    ASSERT_EQ(page.disordered, 0) << begin << " and " << bytes;
}
#endif

class PlaceTest : public testing::TestWithParam<Placing> {
  protected:
    void SetUp() override {
        if (!GetParam().is_here) GTEST_SKIP() << "this processor has no such instructions";
    }
};

INSTANTIATE_TEST_SUITE_P(By, PlaceTest, testing::ValuesIn(placings().begin(), placings().end()),
                         [](const auto& by) { return std::string(by.param.name); });

#if defined(__x86_64__)
TEST_P(PlaceTest, AProgramThatAnswersAtOnceSeesEachByteOnceInOrderAndEachWordWhole) {
    const Handled handled;
    for (std::size_t begin = 0; begin < 17; ++begin) {
        for (std::size_t bytes = 1; bytes < 160; ++bytes) {
            ASSERT_NO_FATAL_FAILURE(expect_once(GetParam(), begin, bytes));
        }
    }
    for (const std::size_t begin : {0U, 31U, 32U, 63U, 65U}) {
        for (std::size_t bytes = 160; bytes < 1300; bytes += 61) {
            ASSERT_NO_FATAL_FAILURE(expect_once(GetParam(), begin, bytes));
        }
    }
}
#endif

TEST_P(PlaceTest, CopiesWhatItIsToldAndNoMore) {
    std::vector<std::byte> from(5000);
    for (std::size_t at = 0; at < from.size(); ++at) from[at] = static_cast<std::byte>(at * 7 + 1);
    for (std::size_t begin = 0; begin < 17; ++begin) {
        for (const std::size_t bytes : {0U, 1U, 7U, 8U, 63U, 64U, 65U, 1024U, 4096U, 4097U}) {
            std::vector<std::byte> to(5000);
            GetParam().place(to.data() + begin, from.data() + 3, bytes);
            ASSERT_EQ(std::memcmp(to.data() + begin, from.data() + 3, bytes), 0);
            to.erase(to.begin() + static_cast<std::ptrdiff_t>(begin),
                     to.begin() + static_cast<std::ptrdiff_t>(begin + bytes));
            ASSERT_EQ(to, std::vector<std::byte>(5000 - bytes)) << begin << " and " << bytes;
        }
    }
}

}  // namespace
}  // namespace lanewise::verbs
