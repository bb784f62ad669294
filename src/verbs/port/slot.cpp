// SPDX-License-Identifier: BSD-3-Clause

#include "verbs/port/slot.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <optional>
#include <sstream>
#include <utility>

#include "base/file.hpp"
#include "verbs/port/socket.hpp"

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

// None where nobody has the name, or does not answer, or is not believed.
std::optional<std::string> answer_of(const Descriptor& own, const std::string& mailbox,
                                     std::string_view question) {
    const Name to = abstract(mailbox);
    const bool sent = sendto(own.number(), question.data(), question.size(), MSG_DONTWAIT, to.get(),
                             to.bytes) >= 0;
    if (!sent) return std::nullopt;
    std::string answer(mailbox_bytes, '\0');
    Control control{};
    iovec place{answer.data(), answer.size()};
    msghdr message = message_of({&place, 1}, control);
    message.msg_controllen = control.bytes.size();
    const ssize_t got = recvmsg(own.number(), &message, MSG_CMSG_CLOEXEC);
    if (got < 0 || (getuid() != 0 && !is_from(message, getuid()))) return std::nullopt;
    answer.resize(static_cast<std::size_t>(got));
    return answer;
}

}  // namespace

std::vector<std::string> ask_all(std::string_view question) {
    constexpr timeval timeout{1, 0};
    constexpr int yes = 1;
    std::vector<std::string> answers;
    for (std::uint32_t slot = first_slot; slot <= last_slot; ++slot) {
        // One socket for each, so that nobody's late answer is taken for the next one's.
        const Descriptor own(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
        const sockaddr_un any{.sun_family = AF_UNIX, .sun_path = {}};
        setsockopt(own.number(), SOL_SOCKET, SO_PASSCRED, &yes, sizeof yes);
        setsockopt(own.number(), SOL_SOCKET, SO_RCVBUF, &mailbox_bytes, sizeof mailbox_bytes);
        setsockopt(own.number(), SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
        const auto *address = reinterpret_cast<const sockaddr *>(&any);
        if (bind(own.number(), address, sizeof any.sun_family) != 0) continue;
        if (auto answer = answer_of(own, mailbox_name(slot), question)) {
            answers.push_back(std::move(*answer));
        }
    }
    return answers;
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
