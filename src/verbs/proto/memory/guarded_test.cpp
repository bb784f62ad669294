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

TEST(Guarded, CopiesWhatIsThere) {
    std::array<char, 8> to{};
    EXPECT_TRUE(copy_guarded(to.data(), "memory", 7));
    EXPECT_STREQ(to.data(), "memory");
}

TEST(Guarded, ACopyFromOrToMemoryThatIsGoneFailsEachTime) {
    guard_memory();
    std::array<char, 64> own{};
    void *const gone = mapped(PROT_READ | PROT_WRITE);
    munmap(gone, page_bytes);
    for (int round = 0; round < 3; ++round) {
        EXPECT_FALSE(copy_guarded(own.data(), gone, own.size()));
        EXPECT_FALSE(copy_guarded(gone, own.data(), own.size()));
    }
    EXPECT_TRUE(copy_guarded(own.data(), "memory", 7));
}

TEST(Guarded, MemoryThatMayOnlyBeReadIsNotWritten) {
    guard_memory();
    std::array<char, 64> own{};
    void *const read_only = mapped(PROT_READ);
    EXPECT_FALSE(copy_guarded(read_only, own.data(), own.size()));
    EXPECT_TRUE(copy_guarded(own.data(), read_only, own.size()));
    munmap(read_only, page_bytes);
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
