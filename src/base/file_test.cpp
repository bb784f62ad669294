// SPDX-License-Identifier: BSD-3-Clause

#include "base/file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lanewise {
namespace {

using ::testing::HasSubstr;

TEST(ReadFile, ReadsAFileWhoseSizeIsNotKnownBeforehand) {
    const auto read = read_file("/proc/self/cmdline");

    ASSERT_TRUE(read);
    EXPECT_THAT(*read, HasSubstr("file_test"));
}

TEST(ReadFile, NamesTheFileAndTheReason) {
    EXPECT_EQ(read_file("/nowhere/f").failure().sentence,
              "/nowhere/f cannot be read: No such file or directory");
    EXPECT_EQ(read_file("/").failure().sentence, "/ cannot be read: Is a directory");
}

}  // namespace
}  // namespace lanewise
