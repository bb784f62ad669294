// SPDX-License-Identifier: BSD-3-Clause

#include "verbs/proto/memory/guarded.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <csignal>

namespace lanewise::verbs {
namespace {

constexpr std::size_t page_bytes = 4096;

void *mapped(int protection) {
    return mmap(nullptr, page_bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

using Bytes = std::array<std::byte, 64>;

std::byte *unmapped() {
    void *const gone = mapped(PROT_READ | PROT_WRITE);
    munmap(gone, page_bytes);
    return static_cast<std::byte *>(gone);
}

TEST(Guarded, CopiesWhatIsThere) {
    Bytes from{};
    from.fill(std::byte{7});
    Bytes read{};
    Bytes placed{};
    EXPECT_TRUE(read_guarded(read.data(), from.data(), from.size()));
    EXPECT_TRUE(place_guarded(placed.data(), from.data(), from.size()));
    EXPECT_EQ(read, from);
    EXPECT_EQ(placed, from);
}

TEST(Guarded, ACopyFromOrToMemoryThatIsGoneFailsEachTime) {
    guard_memory();
    Bytes own{};
    const Bytes there{};
    std::byte *const gone = unmapped();
    for (int round = 0; round < 3; ++round) {
        EXPECT_FALSE(read_guarded(own.data(), gone, own.size()));
        EXPECT_FALSE(place_guarded(gone, own.data(), own.size()));
    }
    EXPECT_TRUE(read_guarded(own.data(), there.data(), there.size()));
}

TEST(Guarded, MemoryThatMayOnlyBeReadIsNotWritten) {
    guard_memory();
    Bytes own{};
    auto *const read_only = static_cast<std::byte *>(mapped(PROT_READ));
    EXPECT_FALSE(place_guarded(read_only, own.data(), own.size()));
    EXPECT_TRUE(read_guarded(own.data(), read_only, own.size()));
    munmap(read_only, page_bytes);
}

struct sigaction guarding;

/* Faults go to a handler of the program first, which blocks all signals and calls the one before.
 */
void let_a_blocking_handler_call_the_one_before() {
    struct sigaction blocking {};
    blocking.sa_flags = SA_SIGINFO;
    sigfillset(&blocking.sa_mask);
    blocking.sa_sigaction = [](int signal, siginfo_t *information, void *context) {
        guarding.sa_sigaction(signal, information, context);
    };
    sigaction(SIGSEGV, &blocking, &guarding);
}

TEST(Guarded, ACopyFailsEachTimeUnderAHandlerThatBlocksSignalsToo) {
    EXPECT_EXIT(
        {
            guard_memory();
            let_a_blocking_handler_call_the_one_before();
            Bytes own{};
            std::byte *const gone = unmapped();
            for (int round = 0; round < 3; ++round) {
                if (read_guarded(own.data(), gone, own.size())) _exit(1);
            }
            _exit(7);
        },
        ::testing::ExitedWithCode(7), "");
}

TEST(Guarded, AWordIsChangedWhereItMayBeAndElsewhereStays) {
    guard_memory();
    std::uint64_t word = 7;
    std::uint64_t old = 0;
    EXPECT_TRUE(add_guarded(&word, 5, old));
    EXPECT_EQ(old, 7U);
    EXPECT_EQ(word, 12U);
    old = 11;
    EXPECT_TRUE(swap_guarded(&word, 1, old));
    EXPECT_EQ(old, 12U);
    EXPECT_EQ(word, 12U);
    EXPECT_TRUE(swap_guarded(&word, 1, old));
    EXPECT_EQ(word, 1U);

    auto *const read_only = static_cast<std::uint64_t *>(mapped(PROT_READ));
    old = 0;
    EXPECT_FALSE(add_guarded(read_only, 5, old));
    EXPECT_FALSE(swap_guarded(read_only, 5, old));
    EXPECT_EQ(*read_only, 0U);
}

TEST(Guarded, AnyOtherFaultIsTheProgramsOwn) {
    EXPECT_EXIT(
        {
            signal(SIGSEGV, [](int) { _exit(7); });
            guard_memory();
            *static_cast<volatile char *>(mapped(PROT_READ)) = 1;
        },
        ::testing::ExitedWithCode(7), "");
    EXPECT_EXIT(
        {
            signal(SIGSEGV, SIG_DFL);
            guard_memory();
            *static_cast<volatile char *>(mapped(PROT_READ)) = 1;
        },
        ::testing::KilledBySignal(SIGSEGV), "");
}

}  // namespace
}  // namespace lanewise::verbs
