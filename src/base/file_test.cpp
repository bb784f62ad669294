// SPDX-License-Identifier: BSD-3-Clause

#include "base/file.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <climits>
#include <csignal>
#include <filesystem>
#include <thread>

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

TEST(ReadFile, TellsWhatIsNoFileFromOneThatCannotBeRead) {
    EXPECT_EQ(read_file("/nowhere/f").failure().status, LW_ERR_NOT_FOUND);
    EXPECT_EQ(read_file("/").failure().status, LW_ERR_ARGUMENT);
    EXPECT_EQ(read_file("/proc/self/mem").failure().status, LW_ERR_IO);
}

class WriteFile : public ::testing::Test {
  protected:
    WriteFile() {
        char name[] = "/tmp/lanewise-file-test-XXXXXX";
        folder_ = mkdtemp(name);
    }
    ~WriteFile() override { std::filesystem::remove_all(folder_); }
    std::string folder_;
};

TEST_F(WriteFile, ReplacesAFileAndLeavesNothingBesideIt) {
    ASSERT_TRUE(write_file(folder_ + "/f", "old"));
    ASSERT_TRUE(write_file(folder_ + "/f", "new"));

    EXPECT_EQ(*read_file(folder_ + "/f"), "new");
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
}

TEST_F(WriteFile, LeavesTheWholeFileOfOneOfTwoThreads) {
    const auto path = folder_ + "/f";
    constexpr int times = 200;
    int written[2] = {};
    const auto write = [&](int thread) {
        const std::string content(1 << 16, static_cast<char>('a' + thread));
        for (int i = 0; i < times; ++i) written[thread] += write_file(path, content) ? 1 : 0;
    };
    std::thread other(write, 1);
    write(0);
    other.join();

    EXPECT_EQ(written[0], times);
    EXPECT_EQ(written[1], times);
    const std::string left = *read_file(path);
    EXPECT_EQ(left, std::string(1 << 16, left.empty() ? ' ' : left[0]));
}

TEST_F(WriteFile, FollowsALink) {
    std::filesystem::create_symlink("first", folder_ + "/latest");

    ASSERT_TRUE(write_file(folder_ + "/latest", "text"));

    EXPECT_TRUE(std::filesystem::is_symlink(folder_ + "/latest"));
    EXPECT_EQ(*read_file(folder_ + "/first"), "text");
}

TEST_F(WriteFile, FollowsAsManyLinksAsTheSystem) {
    constexpr int system_links_max = 40;
    for (int i = 0; i < system_links_max; ++i) {
        const auto target = i == 0 ? "first" : "link" + std::to_string(i - 1);
        std::filesystem::create_symlink(target, folder_ + "/link" + std::to_string(i));
    }

    ASSERT_TRUE(write_file(folder_ + "/link39", "text"));

    EXPECT_TRUE(std::filesystem::is_symlink(folder_ + "/link0"));
    EXPECT_EQ(*read_file(folder_ + "/first"), "text");
}

TEST_F(WriteFile, RefusesLinksThatLeadBackToThemselves) {
    std::filesystem::create_symlink("second", folder_ + "/first");
    std::filesystem::create_symlink("first", folder_ + "/second");

    const auto written = write_file(folder_ + "/first", "text");

    ASSERT_FALSE(written);
    EXPECT_EQ(written.failure().sentence,
              folder_ + "/first cannot be written: Too many levels of symbolic links");
    EXPECT_TRUE(std::filesystem::is_symlink(folder_ + "/first"));
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 2);
}

std::filesystem::perms mode_of(const std::string& path) {
    return std::filesystem::status(path).permissions();
}

TEST_F(WriteFile, KeepsTheModeOfAFileThatItReplaces) {
    using std::filesystem::perms;
    const auto path = folder_ + "/f";
    const mode_t mask = ::umask(022);
    ASSERT_TRUE(write_file(path, "old"));
    EXPECT_EQ(mode_of(path), static_cast<perms>(0644));

    for (const auto mode : {static_cast<perms>(0600), static_cast<perms>(0664)}) {
        std::filesystem::permissions(path, mode);
        ASSERT_TRUE(write_file(path, "new"));
        EXPECT_EQ(mode_of(path), mode);
    }
    ::umask(mask);
}

/* Root may write everywhere, so a test of what may not be written is somebody else. */
class SomebodyElse {
  public:
    SomebodyElse() : user_(::geteuid()) {
        if (user_ == 0) became_ = ::seteuid(nobody) == 0;
    }
    ~SomebodyElse() {
        if (became_) EXPECT_EQ(::seteuid(user_), 0);
    }
    bool is_root() const { return user_ == 0 && !became_; }

  private:
    static constexpr uid_t nobody = 65534;
    uid_t user_;
    bool became_ = false;
};

TEST_F(WriteFile, KeepsTheOwnerAndTheGroupOfAFileThatItReplaces) {
    constexpr uid_t owner = 1234;
    constexpr gid_t group = 2345;
    const auto path = folder_ + "/f";
    ASSERT_TRUE(write_file(path, "old"));
    if (::chown(path.c_str(), owner, group) != 0) GTEST_SKIP() << "only root gives files away";
    std::filesystem::permissions(path, static_cast<std::filesystem::perms>(0640));

    ASSERT_TRUE(write_file(path, "new"));

    struct stat now {};
    ASSERT_EQ(::stat(path.c_str(), &now), 0);
    EXPECT_EQ(now.st_uid, owner);
    EXPECT_EQ(now.st_gid, group);
    EXPECT_EQ(now.st_mode & 0777, 0640U);
}

TEST_F(WriteFile, GivesAnotherGroupNoMoreThanOthersHad) {
    constexpr gid_t group = 2345;
    const auto path = folder_ + "/f";
    ASSERT_TRUE(write_file(path, "old"));
    if (::chown(path.c_str(), 0, group) != 0) GTEST_SKIP() << "only root gives files away";
    std::filesystem::permissions(path, static_cast<std::filesystem::perms>(0676));
    std::filesystem::permissions(folder_, static_cast<std::filesystem::perms>(0777));

    const auto written = [&] {
        const SomebodyElse user;
        return write_file(path, "new");
    }();

    ASSERT_TRUE(written);
    struct stat now {};
    ASSERT_EQ(::stat(path.c_str(), &now), 0);
    EXPECT_NE(now.st_gid, group);
    EXPECT_EQ(now.st_mode & 0777, 0666U);
}

TEST_F(WriteFile, RefusesAFileThatMayNotBeWrittenAndLeavesIt) {
    const auto path = folder_ + "/kept";
    ASSERT_TRUE(write_file(path, "kept"));
    std::filesystem::permissions(path, static_cast<std::filesystem::perms>(0444));
    std::filesystem::permissions(folder_, static_cast<std::filesystem::perms>(0777));

    const auto written = [&] {
        const SomebodyElse user;
        return user.is_root() ? Outcome(Failure{LW_ERR_UNSUPPORTED, ""}) : write_file(path, "new");
    }();

    ASSERT_FALSE(written);
    if (written.failure().status == LW_ERR_UNSUPPORTED) GTEST_SKIP() << "root may write all files";
    EXPECT_EQ(written.failure().sentence,
              path + " cannot be written: Permission denied; name another");
    EXPECT_EQ(written.failure().status, LW_ERR_ARGUMENT);
    EXPECT_EQ(*read_file(path), "kept");
}

TEST_F(WriteFile, WritesToAPipeAndLeavesItAPipe) {
    const auto pipe = folder_ + "/pipe";
    ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
    std::string got;
    std::thread reader([&] { got = *read_file(pipe); });

    const auto written = write_file(pipe, "text");
    reader.join();

    EXPECT_TRUE(written);
    EXPECT_EQ(got, "text");
    EXPECT_TRUE(std::filesystem::is_fifo(pipe));
}

TEST_F(WriteFile, LeavesWhatHasTheNameOfItsUnfinishedFile) {
    const auto victim = folder_ + "/victim";
    ASSERT_TRUE(write_file(victim, "precious"));
    for (int i = 0; i < 1000; ++i) {
        const auto part = "f." + std::to_string(::getpid()) + "." + std::to_string(i) + ".part";
        std::filesystem::create_symlink(victim, folder_ + "/" + part);
    }

    EXPECT_TRUE(write_file(folder_ + "/f", "text"));

    EXPECT_EQ(*read_file(victim), "precious");
    EXPECT_FALSE(std::filesystem::is_symlink(folder_ + "/f"));
    EXPECT_EQ(*read_file(folder_ + "/f"), "text");
}

TEST_F(WriteFile, TakesANameAsLongAsTheSystemAllows) {
    const auto path = folder_ + "/" + std::string(NAME_MAX, 'x');

    EXPECT_TRUE(write_file(path, "text"));
    EXPECT_EQ(*read_file(path), "text");
}

TEST_F(WriteFile, AddsToTheFileThatADescriptorHasOpen) {
    const auto log = folder_ + "/log";
    const int open_file = ::open(log.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    ASSERT_GE(open_file, 0);
    ASSERT_EQ(::write(open_file, "before ", 7), 7);
    const auto descriptor = std::to_string(open_file);
    std::filesystem::create_symlink("/dev/fd/" + descriptor, folder_ + "/link");

    EXPECT_TRUE(write_file("/proc/self/fd/" + descriptor, "written "));
    EXPECT_TRUE(write_file(folder_ + "/link", "written "));
    EXPECT_EQ(::write(open_file, "after", 5), 5);
    ::close(open_file);

    EXPECT_EQ(*read_file(log), "before written written after");
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 2);
}

TEST_F(WriteFile, RefusesADescriptorThatIsOpenForReadingOnly) {
    ASSERT_TRUE(write_file(folder_ + "/f", "kept"));
    const int open_file = ::open((folder_ + "/f").c_str(), O_RDONLY | O_CLOEXEC);
    ASSERT_GE(open_file, 0);
    const auto path = "/dev/fd/" + std::to_string(open_file);
    const auto next_descriptor = [&] {
        const int next = ::dup(open_file);
        ::close(next);
        return next;
    };
    const int next = next_descriptor();

    const auto written = write_file(path, "text");

    ASSERT_FALSE(written);
    EXPECT_EQ(written.failure().status, LW_ERR_ARGUMENT);
    EXPECT_EQ(written.failure().sentence,
              path + " cannot be written: it is not open for writing; name another");
    EXPECT_EQ(next_descriptor(), next) << "a duplicate was left open";
    ::close(open_file);
    EXPECT_EQ(*read_file(folder_ + "/f"), "kept");
}

TEST_F(WriteFile, AddsToTheFileThatAnotherProcessHasOpen) {
    const auto log = folder_ + "/log";
    ASSERT_TRUE(write_file(log, "before "));
    const int open_file = ::open(log.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
    ASSERT_GE(open_file, 0);
    const pid_t other = ::fork();
    ASSERT_GE(other, 0);
    if (other == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;) ::pause();
    }

    EXPECT_TRUE(write_file("/proc/" + std::to_string(other) + "/fd/" + std::to_string(open_file),
                           "written"));
    ::kill(other, SIGKILL);
    ::waitpid(other, nullptr, 0);
    ::close(open_file);

    EXPECT_EQ(*read_file(log), "before written");
}

TEST_F(WriteFile, ReachesAFileWithoutAName) {
    const auto path = folder_ + "/f";
    const int open_file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    ASSERT_GE(open_file, 0);
    ASSERT_EQ(::unlink(path.c_str()), 0);

    EXPECT_TRUE(write_file("/dev/fd/" + std::to_string(open_file), "text"));

    char got[8] = {};
    EXPECT_EQ(::pread(open_file, got, sizeof got, 0), 4);
    EXPECT_STREQ(got, "text");
    ::close(open_file);
    EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

TEST_F(WriteFile, NamesTheReasonOfAFullDisk) {
    const auto written = write_file("/dev/full", "text");

    ASSERT_FALSE(written);
    EXPECT_EQ(written.failure().sentence,
              "/dev/full cannot be written: No space left on device; free space there");
    EXPECT_TRUE(std::filesystem::is_character_file("/dev/full"));
}

}  // namespace
}  // namespace lanewise
