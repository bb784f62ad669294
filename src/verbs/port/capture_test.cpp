// SPDX-License-Identifier: BSD-3-Clause

#include "verbs/port/capture.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

namespace lanewise::verbs::port {
namespace {

constexpr std::size_t file_header_bytes = 24;
constexpr std::size_t record_header_bytes = 16;

// A folder of its own for a test, gone with it.
class CaptureFile : public ::testing::Test {
  protected:
    CaptureFile() {
        std::string name = (std::filesystem::temp_directory_path() / "capture-XXXXXX").string();
        folder_ = mkdtemp(name.data());
    }
    ~CaptureFile() override { std::filesystem::remove_all(folder_); }

    std::string path(const std::string& name) const { return (folder_ / name).string(); }

  private:
    std::filesystem::path folder_;
};

Capture opened(const std::string& path) {
    Result<Capture> capture = Capture::open(path);
    EXPECT_TRUE(capture) << capture.failure().sentence;
    return std::move(*capture);
}

void add_packet(Capture& to, std::size_t bytes) {
    const std::vector<std::byte> packet(bytes);
    to.add({.packet = packet}, std::chrono::system_clock::time_point{});
    EXPECT_TRUE(to.flush());
}

std::uint32_t number_at(const std::vector<char>& file, std::size_t at) {
    std::uint32_t number = 0;
    std::copy_n(file.begin() + static_cast<std::ptrdiff_t>(at), sizeof number,
                reinterpret_cast<char *>(&number));
    return number;
}

// How many packets the file holds; -1 where it is no capture from its first byte to its last.
int packets_in(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    const std::vector<char> file{std::istreambuf_iterator<char>(in), {}};
    if (file.size() < file_header_bytes || number_at(file, 0) != 0xa1b2c3d4) return -1;
    int packets = 0;
    std::size_t at = file_header_bytes;
    for (; at + record_header_bytes <= file.size(); ++packets) {
        at += record_header_bytes + number_at(file, at + 8);
    }
    return at == file.size() ? packets : -1;
}

TEST_F(CaptureFile, OfADeviceThatIsOpenedAgainHoldsWhatWentBefore) {
    for (const char *name : {"one.pcap", "%p.pcap"}) {
        {
            Capture first = opened(path(name));
            add_packet(first, 100);
        }
        Capture again = opened(path(name));
        add_packet(again, 200);
    }
    EXPECT_EQ(packets_in(path("one.pcap")), 2);
    EXPECT_EQ(packets_in(path(std::to_string(getpid()) + ".pcap")), 2);
}

TEST_F(CaptureFile, OfSeveralProcessesHoldsThePacketsOfAll) {
    constexpr int processes = 4;
    constexpr int packets = 500;
    std::array<int, 2> all_open{};
    ASSERT_EQ(pipe(all_open.data()), 0);
    std::array<int, 2> is_open{};
    ASSERT_EQ(pipe(is_open.data()), 0);
    for (int i = 0; i < processes; ++i) {
        const pid_t child = fork();
        ASSERT_GE(child, 0);
        if (child > 0) continue;
        close(all_open[1]);
        Capture mine = opened(path("shared.pcap"));
        char letter = 0;
        bool is_well = write(is_open[1], &letter, 1) == 1;
        is_well &= read(all_open[0], &letter, 1) == 0;
        for (int k = 0; k < packets; ++k) add_packet(mine, 60 + 7 * static_cast<std::size_t>(i));
        _exit(is_well && !HasFailure() ? 0 : 1);
    }
    char letter = 0;
    for (int i = 0; i < processes; ++i) ASSERT_EQ(read(is_open[0], &letter, 1), 1);
    close(all_open[1]);
    for (int i = 0; i < processes; ++i) {
        int status = 0;
        wait(&status);
        EXPECT_EQ(status, 0);
    }
    EXPECT_EQ(packets_in(path("shared.pcap")), processes * packets);
}

TEST_F(CaptureFile, ThatAnotherProcessWritesToIsNotBegunAnew) {
    std::array<int, 2> is_open{};
    ASSERT_EQ(pipe(is_open.data()), 0);
    const pid_t later = fork();
    ASSERT_GE(later, 0);
    char letter = 0;
    if (later == 0) {
        const bool may_go = read(is_open[0], &letter, 1) == 1;
        Capture mine = opened(path("packets.pcap"));
        add_packet(mine, 100);
        _exit(may_go && !HasFailure() ? 0 : 1);
    }
    Capture first = opened(path("packets.pcap"));
    add_packet(first, 100);
    ASSERT_EQ(write(is_open[1], &letter, 1), 1);
    int status = 0;
    wait(&status);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(packets_in(path("packets.pcap")), 2);
}

TEST_F(CaptureFile, ThatNobodyWritesToBeginsAnew) {
    if (const pid_t earlier = fork(); earlier == 0) {
        Capture mine = opened(path("packets.pcap"));
        add_packet(mine, 100);
        _exit(HasFailure() ? 1 : 0);
    }
    int status = 0;
    wait(&status);
    ASSERT_EQ(status, 0);
    ASSERT_EQ(packets_in(path("packets.pcap")), 1);
    Capture capture = opened(path("packets.pcap"));
    add_packet(capture, 100);
    add_packet(capture, 100);
    EXPECT_EQ(packets_in(path("packets.pcap")), 2);
}

TEST_F(CaptureFile, OfAProcessThatHasEndedBeginsAnewAlthoughItsChildLives) {
    std::array<int, 2> child_is_there{};
    std::array<int, 2> child_may_end{};
    ASSERT_TRUE(pipe(child_is_there.data()) == 0 && pipe(child_may_end.data()) == 0);
    const pid_t earlier = fork();
    ASSERT_GE(earlier, 0);
    char letter = 0;
    if (earlier == 0) {
        std::optional<Capture> mine = opened(path("packets.pcap"));
        add_packet(*mine, 100);
        if (fork() == 0) {
            mine.reset();
            Capture::close_in_child();
            close(child_may_end[1]);
            _exit(write(child_is_there[1], &letter, 1) == 1 && read(child_may_end[0], &letter, 1));
        }
        _exit(HasFailure() ? 1 : 0);
    }
    int status = 0;
    wait(&status);
    ASSERT_EQ(status, 0);
    ASSERT_EQ(read(child_is_there[0], &letter, 1), 1);
    Capture capture = opened(path("packets.pcap"));
    EXPECT_EQ(packets_in(path("packets.pcap")), 0);
    close(child_may_end[1]);
}

TEST_F(CaptureFile, ThatWasMovedAwayIsMadeAgainForTheNextDevice) {
    Capture first = opened(path("packets.pcap"));
    add_packet(first, 100);
    std::filesystem::rename(path("packets.pcap"), path("moved.pcap"));
    Capture next = opened(path("packets.pcap"));
    add_packet(next, 100);
    add_packet(first, 100);
    EXPECT_EQ(packets_in(path("moved.pcap")), 2);
    EXPECT_EQ(packets_in(path("packets.pcap")), 1);
}

TEST_F(CaptureFile, ThatReachesTheLimitOfFileSizesEndsWithAWholePacket) {
    constexpr std::size_t packet_bytes = 100;
    constexpr std::size_t record_bytes = record_header_bytes + 20 + 8 + packet_bytes;
    const pid_t limited = fork();
    ASSERT_GE(limited, 0);
    if (limited == 0) {
        constexpr rlim_t bytes = file_header_bytes + 5 * record_bytes / 2;
        constexpr rlimit limit{bytes, bytes};
        setrlimit(RLIMIT_FSIZE, &limit);
        Capture mine = opened(path("packets.pcap"));
        add_packet(mine, packet_bytes);
        add_packet(mine, packet_bytes);
        mine.add({.packet = std::vector<std::byte>(packet_bytes)}, {});
        const Outcome flushed = mine.flush();
        const bool is_said = !flushed && flushed.failure().sentence.ends_with(
                                             "File too large; the capture ends here");
        _exit(is_said && !HasFailure() ? 0 : 1);
    }
    int status = 0;
    wait(&status);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(packets_in(path("packets.pcap")), 2);
}

TEST_F(CaptureFile, ReplacesNoFileOfAnotherKind) {
    const std::string file = path("notes-" + std::to_string(getpid()));
    std::ofstream(file) << "notes";
    const Result<Capture> capture = Capture::open(path("notes-%p"));
    ASSERT_FALSE(capture);
    EXPECT_NE(capture.failure().sentence.find("it is no capture"), std::string::npos);
    EXPECT_EQ(std::filesystem::file_size(file), 5);
}

TEST_F(CaptureFile, MayNotBeAPipe) {
    ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
    const Result<Capture> capture = Capture::open(path("pipe"));
    ASSERT_FALSE(capture);
    EXPECT_NE(capture.failure().sentence.find("it is a pipe"), std::string::npos);
}

}  // namespace
}  // namespace lanewise::verbs::port
