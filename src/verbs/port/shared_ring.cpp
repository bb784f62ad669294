// SPDX-License-Identifier: BSD-3-Clause

#include "verbs/port/shared_ring.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
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
// Two lines of a cache, which processors fetch together: a reader that looks at a record is not to
// take away the line that the writer writes next.
constexpr std::size_t line_bytes = 128;
constexpr int wanted_seals = F_SEAL_SHRINK | F_SEAL_GROW;

constexpr std::size_t rounded(std::size_t bytes) {
    return (bytes + line_bytes - 1) / line_bytes * line_bytes;
}

// The word at the beginning of a record: the bytes of its packets, those of a segment, and flags.
constexpr unsigned segment_shift = 32;
constexpr std::uint64_t is_there = std::uint64_t{1} << 63;
constexpr std::uint64_t names_addresses = std::uint64_t{1} << 62;

using Addresses = std::array<Address, 2>;

std::atomic_ref<std::uint64_t> word_at(std::byte *record) {
    return std::atomic_ref(*reinterpret_cast<std::uint64_t *>(record));
}

constexpr std::size_t packets_at(std::uint64_t word) {
    return sizeof word + ((word & names_addresses) != 0 ? sizeof(Addresses) : 0);
}

// The head, and then the data twice.
std::byte *map_twice(int memory) {
    constexpr std::size_t room = whole_bytes + SharedRing::data_bytes;
    void *base = mmap(nullptr, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED) return nullptr;
    auto *at = static_cast<std::byte *>(base);
    constexpr int both = PROT_READ | PROT_WRITE;
    constexpr int shared = MAP_SHARED | MAP_FIXED;
    const bool mapped = mmap(at, whole_bytes, both, shared, memory, 0) != MAP_FAILED &&
                        mmap(at + whole_bytes, SharedRing::data_bytes, both, shared, memory,
                             head_bytes) != MAP_FAILED;
    if (mapped) {
        madvise(base, room, MADV_DONTFORK);
        return at;
    }
    munmap(base, room);
    return nullptr;
}

}  // namespace

struct SharedRing::Head {
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
      written_(other.written_),
      taken_(other.taken_),
      read_(other.read_.load()),
      front_bytes_(other.front_bytes_),
      rings_due_(other.rings_due_),
      addresses_(other.addresses_),
      is_accepted_(other.is_accepted_),
      is_broken_(other.is_broken_.load()) {}

SharedRing& SharedRing::operator=(SharedRing&& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(bell_, other.bell_);
    std::swap(base_, other.base_);
    std::swap(written_, other.written_);
    std::swap(taken_, other.taken_);
    read_ = other.read_.exchange(read_);
    std::swap(front_bytes_, other.front_bytes_);
    std::swap(rings_due_, other.rings_due_);
    std::swap(addresses_, other.addresses_);
    std::swap(is_accepted_, other.is_accepted_);
    is_broken_ = other.is_broken_.exchange(is_broken_);
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

std::byte *SharedRing::at(std::uint64_t position) const {
    return base_ + head_bytes + position % data_bytes;
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

bool SharedRing::has_room(std::size_t bytes) {
    if (bytes <= data_bytes - (written_ - taken_)) return true;
    const std::uint64_t taken = head().read.load(std::memory_order_acquire);
    if (written_ - taken > data_bytes) return false;  // the reader has written nonsense
    taken_ = taken;
    return bytes <= data_bytes - (written_ - taken_);
}

bool SharedRing::write(const RingRecord& record, std::span<const iovec> pieces) {
    const Addresses addresses{record.source, record.destination};
    const std::uint64_t word = is_there | (addresses != addresses_ ? names_addresses : 0) |
                               std::uint64_t{record.segment_bytes} << segment_shift | record.bytes;
    const std::size_t bytes = rounded(packets_at(word) + record.bytes);
    // The line behind the record is to say that nothing is there.
    if (!has_room(bytes + line_bytes)) return false;
    std::byte *const begin = at(written_);
    // First, since the reader looks at the line of the record all the time: what is written there
    // is to be there at once, and not to wait for another line.
    word_at(at(written_ + bytes)).store(0, std::memory_order_relaxed);
    if ((word & names_addresses) != 0)
        std::memcpy(begin + sizeof word, &addresses, sizeof addresses);
    std::byte *to = begin + packets_at(word);
    for (const iovec& piece : pieces) {
        if (piece.iov_len == 0) continue;
        std::memcpy(to, piece.iov_base, piece.iov_len);
        to += piece.iov_len;
    }
    addresses_ = addresses;
    written_ += bytes;
    word_at(begin).store(word, std::memory_order_release);
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
    if (is_broken()) return true;
    const std::uint64_t position = read_.load(std::memory_order_relaxed);
    if (word_at(at(position)).load(std::memory_order_acquire) != 0) return false;
    // Another thread may have read on, and the writer have cleared this word for its next round.
    return read_.load(std::memory_order_relaxed) == position;
}

std::optional<std::span<const std::byte>> SharedRing::front(RingRecord& record) {
    if (is_broken()) return std::nullopt;
    std::byte *const begin = at(read_.load(std::memory_order_relaxed));
    const std::uint64_t word = word_at(begin).load(std::memory_order_acquire);
    if (word == 0) return std::nullopt;
    record.bytes = static_cast<std::uint32_t>(word);
    record.segment_bytes = static_cast<std::uint16_t>(word >> segment_shift);
    if (record.bytes == 0 || record.bytes > record_bytes_max) {
        is_broken_ = true;
        return std::nullopt;
    }
    if ((word & names_addresses) != 0)
        std::memcpy(&addresses_, begin + sizeof word, sizeof addresses_);
    record.source = addresses_[0];
    record.destination = addresses_[1];
    front_bytes_ = rounded(packets_at(word) + record.bytes);
    return std::span(begin + packets_at(word), record.bytes);
}

void SharedRing::pop() {
    const std::uint64_t read = read_.load(std::memory_order_relaxed) + front_bytes_;
    read_.store(read, std::memory_order_relaxed);
    head().read.store(read, std::memory_order_release);
}

bool SharedRing::sleep() {
    head().reader_sleeps.store(1, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    return !empty();
}

// A writer that has said that it rings may be stopped before it does so. What it sends after that
// has to be taken all the same, or the bell would stay readable while nothing comes.
void SharedRing::wake() {
    const bool rings = head().reader_sleeps.exchange(0, std::memory_order_relaxed) == 0;
    if (rings) ++rings_due_;
    if (rings_due_ == 0) return;
    std::array<char, 64> rung{};
    const ssize_t got = recv(bell_.number(), rung.data(), rung.size(), MSG_DONTWAIT);
    if (got > 0) rings_due_ -= std::min(rings_due_, static_cast<std::uint64_t>(got));
}

// A hang-up is told without being asked for.
bool SharedRing::is_left() const {
    pollfd bell{bell_.number(), 0, 0};
    return poll(&bell, 1, 0) == 1 && (bell.revents & POLLHUP) != 0;
}

}  // namespace lanewise::verbs::port
