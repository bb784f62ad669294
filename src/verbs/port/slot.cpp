// SPDX-License-Identifier: BSD-3-Clause

#include "verbs/port/slot.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <sstream>
#include <utility>

#include "base/clock.hpp"
#include "base/file.hpp"
#include "verbs/port/socket.hpp"
#include "verbs/proto/wire/time.hpp"

namespace lanewise::verbs::port {
namespace {

constexpr const char *mailbox_prefix = "lanewise-hca/slot/";
constexpr const char *member_prefix = "@lanewise-hca/member/";
constexpr int mailbox_bytes = 1 << 20;

struct Name {
    sockaddr_un address{};
    socklen_t bytes = 0;
    const sockaddr *get() const { return reinterpret_cast<const sockaddr *>(&address); }
};

// In the abstract namespace a name begins with a zero byte.
Name abstract(const std::string& text) {
    Name name;
    name.address.sun_family = AF_UNIX;
    text.copy(name.address.sun_path + 1, sizeof name.address.sun_path - 2);
    name.bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
    return name;
}

Descriptor bound(const Name& name) {
    Descriptor made(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (made && bind(made.number(), name.get(), name.bytes) != 0) return {};
    return made;
}

}  // namespace

std::string mailbox_name(std::uint32_t slot) {
    return fmt::format("{}{}", mailbox_prefix, slot);
}

Descriptor claim_name(const std::string& name) {
    Descriptor mailbox = bound(abstract(name));
    const int yes = 1;
    if (mailbox) setsockopt(mailbox.number(), SOL_SOCKET, SO_PASSCRED, &yes, sizeof yes);
    return mailbox;
}

bool forward_to_name(const Slot& from, const std::string& name, std::span<const std::byte> letter) {
    const Name to = abstract(name);
    return sendto(from.mailbox.number(), letter.data(), letter.size(), MSG_DONTWAIT, to.get(),
                  to.bytes) >= 0;
}

Result<Slot> claim_slot(std::uint32_t hint) {
    constexpr std::uint32_t count = last_slot - first_slot + 1;
    for (std::uint32_t step = 0; step < count; ++step) {
        const std::uint32_t number = first_slot + (hint + step) % count;
        Descriptor mailbox = claim_name(mailbox_name(number));
        if (mailbox) {
            setsockopt(mailbox.number(), SOL_SOCKET, SO_RCVBUF, &mailbox_bytes,
                       sizeof mailbox_bytes);
            return Slot{number, std::move(mailbox)};
        }
        if (errno != EADDRINUSE) {
            return Failure{LW_ERR_IO,
                           fmt::format("cannot bind a unix socket: {}", std::strerror(errno))};
        }
    }
    return Failure{LW_ERR_LIMIT,
                   fmt::format("all {} slots of queue-pair numbers are taken", count)};
}

bool forward_to_name(const Slot& from, const std::string& name, std::span<const std::byte> letter,
                     const std::array<int, 2>& descriptors) {
    Name to = abstract(name);
    iovec piece{const_cast<std::byte *>(letter.data()), letter.size()};
    Control control{};
    msghdr message = message_of({&piece, 1}, control);
    message.msg_name = &to.address;
    message.msg_namelen = to.bytes;
    cmsghdr *next = &control.aligned;
    add_control(message, next, SOL_SOCKET, SCM_RIGHTS, descriptors);
    return sendmsg(from.mailbox.number(), &message, MSG_DONTWAIT) >= 0;
}

std::vector<Descriptor> descriptors_of(const msghdr& letter) {
    std::vector<Descriptor> found;
    for (cmsghdr *one = CMSG_FIRSTHDR(&letter); one;
         one = CMSG_NXTHDR(const_cast<msghdr *>(&letter), one)) {
        if (one->cmsg_level != SOL_SOCKET || one->cmsg_type != SCM_RIGHTS) continue;
        const std::size_t bytes = one->cmsg_len - CMSG_LEN(0);
        for (std::size_t at = 0; at + sizeof(int) <= bytes; at += sizeof(int)) {
            int number = -1;
            std::memcpy(&number, CMSG_DATA(one) + at, sizeof number);
            found.emplace_back(number);
        }
    }
    return found;
}

bool is_from(const msghdr& letter, uid_t user) {
    for (cmsghdr *one = CMSG_FIRSTHDR(&letter); one;
         one = CMSG_NXTHDR(const_cast<msghdr *>(&letter), one)) {
        if (one->cmsg_level != SOL_SOCKET || one->cmsg_type != SCM_CREDENTIALS) continue;
        ucred sender{};
        std::memcpy(&sender, CMSG_DATA(one), sizeof sender);
        return sender.uid == user;
    }
    return false;
}

namespace {

// A socket that has put the question to a mailbox, which alone can answer there; none where nobody
// has that name.
Descriptor asking(const std::string& mailbox, std::string_view question) {
    constexpr int yes = 1;
    Descriptor own(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const sockaddr_un any{.sun_family = AF_UNIX, .sun_path = {}};
    const Name to = abstract(mailbox);
    set(own.number(), SOL_SOCKET, SO_PASSCRED, yes);
    set(own.number(), SOL_SOCKET, SO_RCVBUF, mailbox_bytes);
    const auto *address = reinterpret_cast<const sockaddr *>(&any);
    const bool is_asked = bind(own.number(), address, sizeof any.sun_family) == 0 &&
                          connect(own.number(), to.get(), to.bytes) == 0 &&
                          send(own.number(), question.data(), question.size(), 0) >= 0;
    return is_asked ? std::move(own) : Descriptor();
}

// None where whoever answers there is not believed.
std::optional<std::string> answer_on(int socket, std::span<char> room) {
    Control control{};
    iovec place{room.data(), room.size()};
    msghdr message = message_of({&place, 1}, control);
    message.msg_controllen = control.bytes.size();
    const ssize_t got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    if (got < 0) return std::nullopt;
    const std::vector<Descriptor> unwanted = descriptors_of(message);
    if (getuid() != 0 && !is_from(message, getuid())) return std::nullopt;
    return std::string(room.data(), static_cast<std::size_t>(got));
}

// Adds what comes before the deadline, or within a tenth of a second where that is later: whoever
// keeps the first silent costs the others no answer.
void ask(std::span<const std::uint32_t> slots, std::string_view question, Nanoseconds deadline,
         std::vector<std::string>& answers) {
    constexpr Nanoseconds timeout_min_ns = 100'000'000;
    constexpr Nanoseconds millisecond_ns = 1'000'000;
    std::vector<Descriptor> asked;
    std::vector<pollfd> waiting;
    for (const std::uint32_t slot : slots) {
        asked.push_back(asking(mailbox_name(slot), question));
        if (asked.back()) waiting.push_back({asked.back().number(), POLLIN, 0});
    }
    std::vector<char> room(waiting.empty() ? 0 : mailbox_bytes);
    const Nanoseconds until = std::max(deadline, monotonic_ns() + timeout_min_ns);
    while (!waiting.empty()) {
        const auto left_ms = static_cast<int>((until - monotonic_ns()) / millisecond_ns);
        if (left_ms <= 0) return;
        if (poll(waiting.data(), waiting.size(), left_ms) < 0) continue;
        std::erase_if(waiting, [&](const pollfd& one) {
            if (one.revents == 0) return false;
            if (auto answer = answer_on(one.fd, room)) answers.push_back(std::move(*answer));
            return true;
        });
    }
}

}  // namespace

std::vector<std::string> ask_all(std::string_view question) {
    // So few at a time that the program, which may have a limit of 1024, has descriptors left.
    constexpr std::size_t at_once = 64;
    const Result<std::string> listing = read_file("/proc/net/unix");
    const std::vector<std::uint32_t> slots = slots_in(listing ? *listing : "");
    constexpr Nanoseconds timeout_ns = 1'000'000'000;
    const Nanoseconds deadline = monotonic_ns() + timeout_ns;
    std::vector<std::string> answers;
    for (std::size_t at = 0; at < slots.size(); at += at_once) {
        const std::size_t count = std::min(at_once, slots.size() - at);
        ask(std::span(slots).subspan(at, count), question, deadline, answers);
    }
    return answers;
}

std::vector<std::uint32_t> slots_in(const std::string& listing) {
    const std::string prefix = fmt::format("@{}", mailbox_prefix);
    std::vector<std::uint32_t> found;
    std::size_t at = 0;
    while ((at = listing.find(prefix, at)) != std::string::npos) {
        at += prefix.size();
        char *end = nullptr;
        const unsigned long slot = std::strtoul(listing.c_str() + at, &end, 10);
        const bool is_slot = *end == '\n' && slot >= first_slot && slot <= last_slot;
        if (is_slot) found.push_back(static_cast<std::uint32_t>(slot));
    }
    // A name may be anything, also lines of a listing.
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    return found;
}

Descriptor announce(const Member& member, const std::string& group) {
    return bound(
        abstract(fmt::format("{}{}/{}/{}", member_prefix + 1, member.slot, member.place, group)));
}

std::vector<Member> read_members(const std::string& group) {
    const Result<std::string> listing = read_file("/proc/net/unix");
    return members_in(listing ? *listing : "", group);
}

std::vector<Member> members_in(const std::string& listing, const std::string& group) {
    const std::string end_of_line = "/" + group + "\n";
    std::vector<Member> found;
    std::size_t at = 0;
    while ((at = listing.find(member_prefix, at)) != std::string::npos) {
        at += std::strlen(member_prefix);
        Member member;
        char *end = nullptr;
        member.slot = static_cast<std::uint32_t>(std::strtoul(listing.c_str() + at, &end, 10));
        if (*end != '/') continue;
        member.place = static_cast<std::uint32_t>(std::strtoul(end + 1, &end, 10));
        const bool is_of_group = std::strncmp(end, end_of_line.c_str(), end_of_line.size()) == 0;
        if (is_of_group && member.slot <= last_slot && member.place < slots_max) {
            found.push_back(member);
        }
    }
    std::sort(found.begin(), found.end(),
              [](const Member& a, const Member& b) { return a.slot < b.slot; });
    return found;
}

}  // namespace lanewise::verbs::port
