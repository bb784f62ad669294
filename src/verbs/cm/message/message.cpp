// SPDX-License-Identifier: BSD-3-Clause

#include "verbs/cm/message/message.hpp"

#include <algorithm>
#include <type_traits>

namespace lanewise::verbs::cm {
namespace {

constexpr std::size_t header_bytes = 24;
constexpr std::uint8_t base_version = 1;
constexpr std::uint8_t manager_class = 7;
constexpr std::uint8_t manager_class_version = 2;
constexpr std::uint8_t method_send = 3;

// A number of `width` bits that stands `at` so many bits from the beginning, highest bit first.
struct Writer {
    std::span<std::byte> into;

    template <typename Number>
    void bits(std::size_t at, std::size_t width, const Number& number) const {
        const auto value = static_cast<std::uint64_t>(number);
        for (std::size_t i = 0; i < width; ++i) {
            const std::size_t bit = at + i;
            const bool set = (value >> (width - 1 - i) & 1) != 0;
            if (set) into[bit / 8] |= std::byte{0x80} >> static_cast<int>(bit % 8);
        }
    }
    void bytes(std::size_t at, const Address& address) const {
        std::transform(address.begin(), address.end(),
                       into.begin() + static_cast<std::ptrdiff_t>(at),
                       [](std::uint8_t one) { return std::byte{one}; });
    }
    void rest(std::size_t at, const Bytes& data) const {
        const std::size_t count = std::min(data.size(), into.size() - at);
        std::copy_n(data.begin(), count, into.begin() + static_cast<std::ptrdiff_t>(at));
    }
};

struct Reader {
    std::span<const std::byte> from;

    template <typename Number>
    void bits(std::size_t at, std::size_t width, Number& number) const {
        std::uint64_t value = 0;
        for (std::size_t bit = at; bit < at + width; ++bit) {
            const auto byte = std::to_integer<unsigned>(from[bit / 8]);
            value = value << 1 | (byte >> (7 - bit % 8) & 1);
        }
        number = static_cast<Number>(value);
    }
    void bytes(std::size_t at, Address& address) const {
        std::transform(from.begin() + static_cast<std::ptrdiff_t>(at),
                       from.begin() + static_cast<std::ptrdiff_t>(at + address.size()),
                       address.begin(),
                       [](std::byte one) { return std::to_integer<std::uint8_t>(one); });
    }
    void rest(std::size_t at, Bytes& data) const {
        data.assign(from.begin() + static_cast<std::ptrdiff_t>(at), from.end());
    }
};

constexpr std::size_t byte(std::size_t number) {
    return number * 8;
}

// Where a field stands, in bits from the end of the header that all management datagrams have; the
// tables of IBA 1, 12.6.5 to 12.11.2. `Some` is a message, or a constant one.
template <typename Io, typename Some>
void request_fields(const Io& io, Some& m) {
    io.bits(byte(0), 32, m.local_id);
    io.bits(byte(8), 64, m.service);
    io.bits(byte(16), 64, m.adapter_guid);
    io.bits(byte(28), 32, m.qkey);
    io.bits(byte(32), 24, m.qpn);
    io.bits(byte(35), 8, m.responder_resources);
    io.bits(byte(39), 8, m.initiator_depth);
    io.bits(byte(43), 5, m.remote_response_timeout);
    io.bits(byte(43) + 5, 2, m.transport_service);
    io.bits(byte(43) + 7, 1, m.flow_control);
    io.bits(byte(44), 24, m.psn);
    io.bits(byte(47), 5, m.local_response_timeout);
    io.bits(byte(47) + 5, 3, m.retry_count);
    io.bits(byte(48), 16, m.pkey);
    io.bits(byte(50), 4, m.path_mtu);
    io.bits(byte(50) + 5, 3, m.rnr_retry_count);
    io.bits(byte(51), 4, m.retries_max);
    io.bits(byte(51) + 4, 1, m.srq);
    io.bits(byte(52), 16, m.local_lid);
    io.bits(byte(54), 16, m.remote_lid);
    io.bytes(56, m.local_gid);
    io.bytes(72, m.remote_gid);
    io.bits(byte(91) + 2, 6, m.rate);
    io.bits(byte(92), 8, m.traffic_class);
    io.bits(byte(93), 8, m.hop_limit);
    io.bits(byte(95), 5, m.ack_timeout);
    io.rest(140, m.private_data);
}

template <typename Io, typename Some>
void reply_fields(const Io& io, Some& m) {
    io.bits(byte(8), 32, m.qkey);
    io.bits(byte(12), 24, m.qpn);
    io.bits(byte(20), 24, m.psn);
    io.bits(byte(24), 8, m.responder_resources);
    io.bits(byte(25), 8, m.initiator_depth);
    io.bits(byte(26), 5, m.ack_timeout);
    io.bits(byte(26) + 7, 1, m.flow_control);
    io.bits(byte(27), 3, m.rnr_retry_count);
    io.bits(byte(27) + 3, 1, m.srq);
    io.bits(byte(28), 64, m.adapter_guid);
    io.rest(36, m.private_data);
}

template <typename Io, typename Some>
void datagram_reply_fields(const Io& io, Some& m) {
    io.bits(byte(0), 32, m.remote_id);
    io.bits(byte(4), 8, m.status);
    io.bits(byte(8), 24, m.qpn);
    io.bits(byte(12), 64, m.service);
    io.bits(byte(20), 32, m.qkey);
    io.rest(96, m.private_data);
}

template <typename Io, typename Some>
void fields(const Io& io, Some& m) {
    switch (m.kind) {
        case Kind::request: request_fields(io, m); return;
        case Kind::datagram_request:
            io.bits(byte(0), 32, m.local_id);
            io.bits(byte(4), 16, m.pkey);
            io.bits(byte(8), 64, m.service);
            io.rest(16, m.private_data);
            return;
        case Kind::datagram_reply: datagram_reply_fields(io, m); return;
        default: break;
    }
    io.bits(byte(0), 32, m.local_id);
    io.bits(byte(4), 32, m.remote_id);
    switch (m.kind) {
        case Kind::reply: reply_fields(io, m); return;
        case Kind::receipt:
            io.bits(byte(8), 2, m.answered);
            io.bits(byte(9), 5, m.service_timeout);
            io.rest(10, m.private_data);
            return;
        case Kind::rejection:
            io.bits(byte(8), 2, m.answered);
            io.bits(byte(10), 16, m.reason);
            io.rest(84, m.private_data);
            return;
        case Kind::disconnect:
            io.bits(byte(8), 24, m.qpn);
            io.rest(12, m.private_data);
            return;
        default: io.rest(8, m.private_data); return;
    }
}

bool is_known(std::uint16_t attribute) {
    return attribute >= static_cast<std::uint16_t>(Kind::request) &&
           attribute <= static_cast<std::uint16_t>(Kind::datagram_reply);
}

}  // namespace

std::size_t private_bytes(Kind kind) {
    constexpr std::array<std::size_t, 9> bytes{92, 222, 148, 196, 224, 220, 224, 216, 136};
    return bytes[static_cast<std::size_t>(kind) - static_cast<std::size_t>(Kind::request)];
}

std::array<std::byte, management_bytes> encode(const Message& message) {
    std::array<std::byte, management_bytes> made{};
    made[0] = std::byte{base_version};
    made[1] = std::byte{manager_class};
    made[2] = std::byte{manager_class_version};
    made[3] = std::byte{method_send};
    const Writer header{made};
    header.bits(byte(8), 64, message.transaction);
    header.bits(byte(16), 16, message.kind);
    fields(Writer{std::span(made).subspan(header_bytes)}, message);
    return made;
}

std::optional<Message> decode_message(std::span<const std::byte> datagram) {
    if (datagram.size() != management_bytes || datagram[0] != std::byte{base_version} ||
        datagram[1] != std::byte{manager_class} ||
        datagram[2] != std::byte{manager_class_version} || datagram[3] != std::byte{method_send}) {
        return std::nullopt;
    }
    const Reader header{datagram};
    std::uint16_t attribute = 0;
    header.bits(byte(16), 16, attribute);
    if (!is_known(attribute)) return std::nullopt;
    Message message;
    message.kind = static_cast<Kind>(attribute);
    header.bits(byte(8), 64, message.transaction);
    fields(Reader{datagram.subspan(header_bytes)}, message);
    return message;
}

}  // namespace lanewise::verbs::cm
