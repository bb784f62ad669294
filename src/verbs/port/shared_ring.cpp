// SPDX-License-Identifier: BSD-3-Clause
#include "verbs/port/shared_ring.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "verbs/port/slot.hpp"
#include "verbs/port/socket.hpp"

namespace lanewise::verbs::port {
namespace {

constexpr std::size_t head_bytes = 4096;
constexpr std::size_t whole_bytes = head_bytes + SharedRing::data_bytes;
constexpr std::size_t line_bytes = 64;  // of a cache
constexpr int wanted_seals = F_SEAL_SHRINK | F_SEAL_GROW;

constexpr std::size_t rounded(std::size_t bytes) {
    return (bytes + line_bytes - 1) / line_bytes * line_bytes;
}

// The head, and then the data twice.
std::byte *map_twice(int memory) {
    constexpr std::size_t room = whole_bytes + SharedRing::data_bytes;
    void *base = mmap(nullptr, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED) return nullptr;
    auto *at = static_cast<std::byte *>(base);
    constexpr int both = PROT_READ | PROT_WRITE;
    constexpr int shared = MAP_SHARED | MAP_FIXED;
    const bool mapped =
        mmap(at, whole_bytes, both, shared, memory, 0) != MAP_FAILED &&
        mmap(at + whole_bytes, SharedRing::data_bytes, both, shared, memory, head_bytes) !=
            MAP_FAILED;
    if (mapped) {
        madvise(base, room, MADV_DONTFORK);
        return at;
    }
    munmap(base, room);
    return nullptr;
}

}  // namespace

struct SharedRing::Head {
    alignas(line_bytes) std::atomic<std::uint64_t> written{0};
    alignas(line_bytes) std::atomic<std::uint64_t> read{0};
    alignas(line_bytes) std::atomic<std::uint32_t> reader_sleeps{0};
};

std::optional<SharedRing::Ends> SharedRing::make() {
    Descriptor memory(memfd_create("lanewise-ring", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    std::array<int, 2> bells{-1, -1};
    if (!memory || ftruncate(memory.number(), whole_bytes) != 0 ||
        fcntl(memory.number(), F_ADD_SEALS, wanted_seals) != 0 ||
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, bells.data()) != 0) {
        return std::nullopt;
    }
    Descriptor own(bells[0]);
    Descriptor reader(bells[1]);
    set(own.number(), SOL_SOCKET, SO_PASSCRED, int{1});
    std::byte *base = map_twice(memory.number());
    if (!base) return std::nullopt;
    new (base) Head;
    return Ends{SharedRing(std::move(memory), std::move(own), base), std::move(reader)};
}

std::optional<SharedRing> SharedRing::map(Descriptor memory, Descriptor bell) {
    struct stat status {};
    const int seals = memory ? fcntl(memory.number(), F_GET_SEALS) : -1;
    // What cannot shrink cannot vanish under the reader.
    if (!bell || seals < 0 || (seals & wanted_seals) != wanted_seals ||
        fstat(memory.number(), &status) != 0 || status.st_size != off_t{whole_bytes}) {
        return std::nullopt;
    }
    std::byte *base = map_twice(memory.number());
    if (!base) return std::nullopt;
    return SharedRing({}, std::move(bell), base);
}

SharedRing::SharedRing(SharedRing&& other) noexcept
    : memory_(std::move(other.memory_)),
      bell_(std::move(other.bell_)),
      base_(std::exchange(other.base_, nullptr)),
      front_bytes_(other.front_bytes_),
      is_accepted_(other.is_accepted_),
      is_broken_(other.is_broken_) {}

SharedRing& SharedRing::operator=(SharedRing&& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(bell_, other.bell_);
    std::swap(base_, other.base_);
    std::swap(front_bytes_, other.front_bytes_);
    std::swap(is_accepted_, other.is_accepted_);
    std::swap(is_broken_, other.is_broken_);
    return *this;
}

SharedRing::~SharedRing() {
    if (base_) munmap(base_, whole_bytes + data_bytes);
}

void SharedRing::close_in_child() const {
    if (memory_) ::close(memory_.number());
    ::close(bell_.number());
}

SharedRing::Head& SharedRing::head() const {
    return *std::launder(reinterpret_cast<Head *>(base_));
}

std::byte *SharedRing::data() const {
    return base_ + head_bytes;
}

// The reader's first byte on the bell says that it has the ring, and the kernel writes on it which
// user it is from.
bool SharedRing::is_accepted(uid_t user) {
    if (is_accepted_ || is_broken_) return !is_broken_;
    Control control{};
    char said = 0;
    iovec place{&said, 1};
    msghdr message = message_of({&place, 1}, control);
    message.msg_controllen = control.bytes.size();
    const ssize_t got = recvmsg(bell_.number(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (got < 0) return false;
    descriptors_of(message).clear();  // nobody asked for any
    is_accepted_ = got == 1 && is_from(message, user);
    is_broken_ = !is_accepted_;
    return is_accepted_;
}

void SharedRing::accept() const {
    constexpr char taken = 1;
    static_cast<void>(send(bell(), &taken, 1, MSG_DONTWAIT | MSG_NOSIGNAL));
}

bool SharedRing::write(const RingRecord& record, std::span<const iovec> pieces) {
    const std::uint64_t written = head().written.load(std::memory_order_relaxed);
    const std::uint64_t read = head().read.load(std::memory_order_acquire);
    const std::size_t bytes = rounded(sizeof record + record.bytes);
    if (written - read > data_bytes || bytes > data_bytes - (written - read)) return false;
    std::byte *at = data() + written % data_bytes;
    std::memcpy(at, &record, sizeof record);
    at += sizeof record;
    for (const iovec& piece : pieces) {
        if (piece.iov_len == 0) continue;
        std::memcpy(at, piece.iov_base, piece.iov_len);
        at += piece.iov_len;
    }
    head().written.store(written + bytes, std::memory_order_release);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (head().reader_sleeps.load(std::memory_order_relaxed) != 0 &&
        head().reader_sleeps.exchange(0) != 0) {
        constexpr char ring = 1;
        const ssize_t sent = send(bell_.number(), &ring, 1, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent < 0 && errno != EAGAIN) is_broken_ = true;
    }
    return true;
}

bool SharedRing::empty() const {
    return head().written.load(std::memory_order_acquire) ==
           head().read.load(std::memory_order_relaxed);
}

std::optional<std::span<const std::byte>> SharedRing::front(RingRecord& record) {
    const std::uint64_t read = head().read.load(std::memory_order_relaxed);
    const std::uint64_t left = head().written.load(std::memory_order_acquire) - read;
    if (left == 0 || is_broken_) return std::nullopt;
    const std::byte *at = data() + read % data_bytes;
    std::memcpy(&record, at, sizeof record);
    front_bytes_ = rounded(sizeof record + std::size_t{record.bytes});
    if (left > data_bytes || record.bytes == 0 || front_bytes_ > left) {
        is_broken_ = true;
        head().read.store(read + left);  // so that it does not look like something to read
        return std::nullopt;
    }
    return std::span(at + sizeof record, record.bytes);
}

void SharedRing::pop() {
    const std::uint64_t read = head().read.load(std::memory_order_relaxed);
    head().read.store(read + front_bytes_, std::memory_order_release);
}

bool SharedRing::sleep() {
    head().reader_sleeps.store(1, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    return !empty();
}

bool SharedRing::wake(bool looks) {
    const bool has_rung = head().reader_sleeps.exchange(0, std::memory_order_relaxed) == 0;
    if (!has_rung && !looks) return true;
    std::array<char, 64> rung{};
    const ssize_t got = recv(bell_.number(), rung.data(), rung.size(), MSG_DONTWAIT);
    return got != 0;
}

}  // namespace lanewise::verbs::port
