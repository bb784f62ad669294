// SPDX-License-Identifier: BSD-3-Clause

#include "base/json_lines.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "base/file.hpp"

namespace lanewise {
namespace {

class JsonLinesTest : public ::testing::Test {
  protected:
    void SetUp() override {
        char name[] = "/tmp/lanewise-json-XXXXXX";
        folder_ = ::mkdtemp(name);
        path_ = folder_ + "/samples.jsonl";
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }

    void put(const std::string& text) { std::ofstream(path_, std::ios::binary) << text; }

    std::string folder_;
    std::string path_;
};

TEST_F(JsonLinesTest, WhatWasWrittenIsRead) {
    auto writer = JsonLinesWriter::create(path_);
    ASSERT_TRUE(writer);
    ASSERT_TRUE(writer->write({{"record", "context"}}));
    ASSERT_TRUE(writer->write({{"median_s", 1.25e-6}}));

    const auto lines = read_json_lines(path_);

    ASSERT_TRUE(lines);
    ASSERT_EQ(lines->records.size(), 2u);
    EXPECT_EQ(lines->records[1]["median_s"], 1.25e-6);
    EXPECT_FALSE(lines->truncated);
}

TEST_F(JsonLinesTest, AFileCutAtAnyByteGivesItsWholeLines) {
    const std::string text = "{\"a\":1}\n{\"b\":2}\n";
    for (std::size_t length = 0; length <= text.size(); ++length) {
        put(text.substr(0, length));

        const auto lines = read_json_lines(path_);

        ASSERT_TRUE(lines) << length;
        EXPECT_EQ(lines->records.size(), length / 8) << length;
        EXPECT_EQ(lines->truncated, length % 8 != 0) << length;
        EXPECT_EQ(lines->whole_bytes(), length / 8 * 8) << length;
    }
}

TEST_F(JsonLinesTest, ResumingCutsTheTruncatedLineOffAndGoesOn) {
    put("{\"a\":1}\n{\"b\":");

    auto writer = JsonLinesWriter::resume(path_, read_json_lines(path_)->whole_bytes());
    ASSERT_TRUE(writer);
    ASSERT_TRUE(writer->write({{"c", 3}}));

    const auto lines = read_json_lines(path_);
    ASSERT_EQ(lines->records.size(), 2u);
    EXPECT_EQ(lines->records[1]["c"], 3);
}

TEST_F(JsonLinesTest, AFileThatExistsIsNotOverwritten) {
    put("precious\n");

    const auto writer = JsonLinesWriter::create(path_);

    ASSERT_FALSE(writer);
    EXPECT_NE(writer.failure().sentence.find("--resume"), std::string::npos);
}

TEST_F(JsonLinesTest, ALineThatIsNotAnObjectIsNamedByItsNumber) {
    put("{\"a\":1}\n[1,2]\n");

    const auto lines = read_json_lines(path_);

    ASSERT_FALSE(lines);
    EXPECT_EQ(lines.failure().sentence,
              path_ + ":2: is not a JSON object; name a file that lanewise measure or tune wrote");
    EXPECT_EQ(lines.failure().status, LW_ERR_ARGUMENT);
}

TEST_F(JsonLinesTest, ALineWithAKeyTwiceIsRefusedWithTheKey) {
    put("{\"a\":1,\"a\":2}\n");

    const auto lines = read_json_lines(path_);

    ASSERT_FALSE(lines);
    EXPECT_NE(lines.failure().sentence.find(":1: the key 'a' is there twice; "), std::string::npos);
}

TEST_F(JsonLinesTest, WhatIsNoRegularFileIsWrittenToAsItIs) {
    EXPECT_FALSE(has_lines_to_resume("/dev/null"));
    auto nowhere = JsonLinesWriter::create("/dev/null");
    ASSERT_TRUE(nowhere);
    EXPECT_TRUE(nowhere->write({{"a", 1}}));

    put("before\n");
    EXPECT_TRUE(has_lines_to_resume(path_));
    const int open_file = ::open(path_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
    auto added = JsonLinesWriter::create("/dev/fd/" + std::to_string(open_file));
    ::close(open_file);
    ASSERT_TRUE(added);
    EXPECT_TRUE(added->write({{"a", 1}}));
    EXPECT_EQ(*read_file(path_), "before\n{\"a\":1}\n");
}

TEST_F(JsonLinesTest, WhatIsNoRegularFileStaysWhereAPointDoesNotFit) {
    std::filesystem::create_symlink("/dev/full", path_);
    auto writer = JsonLinesWriter::create(path_);
    ASSERT_TRUE(writer);

    const auto written = writer->write({{"a", 1}});

    ASSERT_FALSE(written);
    EXPECT_EQ(written.failure().sentence,
              path_ + " could not take a point: No space left on device; free space there");
    EXPECT_TRUE(std::filesystem::exists(path_));
}

/* A limit on the length of files stands for a full disk; both fail the write. */
class FullDisk {
  public:
    explicit FullDisk(rlim_t file_bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
        getrlimit(RLIMIT_FSIZE, &before_);
        const rlimit tight{file_bytes, before_.rlim_max};
        setrlimit(RLIMIT_FSIZE, &tight);
    }
    ~FullDisk() {
        setrlimit(RLIMIT_FSIZE, &before_);
        std::signal(SIGXFSZ, handler_);
    }

  private:
    rlimit before_{};
    void (*handler_)(int);
};

TEST_F(JsonLinesTest, APointThatDoesNotFitOnTheDiskLeavesTheWholePointsBeforeIt) {
    auto writer = JsonLinesWriter::create(path_);
    ASSERT_TRUE(writer);
    ASSERT_TRUE(writer->write({{"text", "fits"}}));

    const auto written = [&] {
        const FullDisk full(40);
        return writer->write({{"text", std::string(100, 'x')}});
    }();

    ASSERT_FALSE(written);
    EXPECT_NE(written.failure().sentence.find("could not take a point"), std::string::npos);
    const auto kept = read_json_lines(path_);
    ASSERT_TRUE(kept);
    EXPECT_EQ(kept->records.size(), 1U);
    EXPECT_FALSE(kept->truncated);
}

TEST_F(JsonLinesTest, WhereNotEvenTheFirstPointFitsNoFileIsLeft) {
    auto writer = JsonLinesWriter::create(path_);
    ASSERT_TRUE(writer);

    const auto written = [&] {
        const FullDisk full(16);
        return writer->write({{"text", std::string(100, 'x')}});
    }();

    EXPECT_FALSE(written);
    EXPECT_FALSE(std::filesystem::exists(path_));
}

}  // namespace
}  // namespace lanewise
