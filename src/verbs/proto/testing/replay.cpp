// SPDX-License-Identifier: BSD-3-Clause

#include "verbs/proto/testing/replay.hpp"

#include <algorithm>
#include <cstring>

#include "verbs/proto/testing/peer.hpp"

namespace lanewise::verbs::testing {
namespace {

constexpr std::size_t own_bytes = 1 << 20;
constexpr std::size_t receives_max = 64;
constexpr std::size_t receive_bytes = 8 << 10;
constexpr Mtu mtu = Mtu::b1024;

bool is_request(const Packet& packet) {
    return !packet.row.is_response();
}

bool begins_request(const Packet& packet) {
    return is_request(packet) && packet.row.begins();
}

std::size_t responses_to(const Packet& read) {
    return std::max<std::size_t>(1, (read.rdma.length_bytes + mtu_bytes(mtu) - 1) / mtu_bytes(mtu));
}

std::vector<Said> decoded(std::span<const Heard> capture, const Address& place) {
    std::vector<Said> said;
    for (const Heard& heard : capture) {
        const auto packet = decode(heard.datagram).packet;
        said.push_back(
            {heard.at, heard.from, heard.datagram, packet.value(), heard.from.source == place});
    }
    return said;
}

// The first packet of one end, or a number of no queue pair.
const Said *first_of(const std::vector<Said>& said, bool ours) {
    const auto found =
        std::find_if(said.begin(), said.end(), [&](const Said& one) { return one.ours == ours; });
    return found == said.end() ? nullptr : &*found;
}

std::uint32_t psn_of_first_request(const std::vector<Said>& said, bool ours) {
    for (const Said& one : said) {
        if (one.ours == ours && is_request(one.packet)) {
            return one.packet.base.psn.value();
        }
    }
    return 0;
}

}  // namespace

Replay::Replay(std::span<const Heard> capture, const Address& place)
    : said_(decoded(capture, place)),
      device_({.port_count = 1}),
      own_(own_bytes),
      buffer_(std::size_t{64} * 1024) {
    queue_ = device_.create_completion_queue(4096, nullptr);
    expose_memory();
    own_key_ = device_.memory().add({.domain = 1,
                                     .start = own_.data(),
                                     .address = reinterpret_cast<std::uint64_t>(own_.data()),
                                     .length_bytes = own_.size(),
                                     .access = all_access});
    lay_out_reads();
    connect(place);
}

// The memory that the other end names, under the key that it names.
void Replay::expose_memory() {
    std::uint64_t end = 0;
    std::uint32_t key = 0;
    base_ = ~std::uint64_t{0};
    for (const Said& one : said_) {
        if (!one.ours && (one.packet.row.extensions & has_reth) != 0) {
            base_ = std::min(base_, one.packet.rdma.address);
            end = std::max(end, one.packet.rdma.address + one.packet.rdma.length_bytes);
            key = one.packet.rdma.rkey;
        }
    }
    if (key == 0) {
        return;
    }
    exposed_.resize(end - base_);
    const MemoryRegion region{.domain = 1,
                              .start = exposed_.data(),
                              .address = base_,
                              .length_bytes = exposed_.size(),
                              .access = all_access};
    device_.memory().draw_keys_with([drawn = key]() mutable { return drawn++; });
    device_.memory().add(region);
}

// What we answered to reads lay in the exposed memory.
void Replay::lay_out_reads() {
    std::map<std::uint32_t, std::byte *> places;
    for (const Said& one : said_) {
        const Packet& packet = one.packet;
        if (!one.ours && packet.row.kind == PacketKind::read_request) {
            for (std::size_t i = 0; i < responses_to(packet); ++i) {
                const auto number = packet.base.psn + static_cast<std::uint32_t>(i);
                places[number.value()] = exposed(packet.rdma.address + i * mtu_bytes(mtu));
            }
        }
        if (one.ours && packet.row.kind == PacketKind::read_response) {
            std::copy(packet.payload.begin(), packet.payload.end(),
                      places.at(packet.base.psn.value()));
        }
    }
}

void Replay::connect(const Address& place) {
    const Said *mine = first_of(said_, true);
    const Said *theirs = first_of(said_, false);
    Peer self;
    self.options.mtu = mtu;
    self.options.timeout = 0;  // nothing is sent again
    self.options.send_psn[0] = psn_of_first_request(said_, true);
    self.options.send_psn[1] = psn_of_first_request(said_, false);
    self.queue_pair = queue_pair_ =
        device_.create_queue_pair({.transport = Transport::rc,
                                   .number = theirs->packet.base.destination_qpn,
                                   .domain = 1,
                                   .send_queue = queue_,
                                   .receive_queue = queue_,
                                   .send_requests_max = 256,
                                   .receive_requests_max = receives_max,
                                   .signal_all = true});
    Attributes wanted = self.attributes();
    wanted.destination_qpn = mine->packet.base.destination_qpn;
    wanted.read_atomic_max = wanted.destination_read_atomic_max = 16;
    AddressVector& path = wanted.primary.address;
    path.source = place;
    path.destination = path.destination_gid = theirs->from.source;
    path.source_udp_port = mine->from.source_udp_port;
    wanted.state = State::init;
    queue_pair_->modify(wanted, init_mask);
    for (std::size_t i = 0; i < receives_max; ++i) {
        receive_places_.push_back(take_own(receive_bytes));
        const Slice slice = own_slice(receive_places_.back(), receive_bytes);
        queue_pair_->post_receive({.id = i, .slices = {&slice, 1}});
    }
    wanted.state = State::ready_to_receive;
    queue_pair_->modify(wanted, rc_receive_mask);
    wanted.state = State::ready_to_send;
    queue_pair_->modify(wanted, rc_send_mask);
}

std::byte *Replay::take_own(std::size_t bytes) {
    own_used_ += bytes;
    return own_used_ <= own_.size() ? own_.data() + own_used_ - bytes : nullptr;
}

Slice Replay::own_slice(const std::byte *place, std::size_t bytes) const {
    return {reinterpret_cast<std::uint64_t>(place), static_cast<std::uint32_t>(bytes), own_key_};
}

void Replay::play() {
    for (std::size_t index = 0; index < said_.size(); ++index) {
        const Said& one = said_[index];
        if (one.ours) {
            post_before_next_answer(index);
        } else {
            hear(one);
        }
        say(one.at);
        device_.send_delayed_acks();
        say(one.at);
    }
}

// A program posts some requests at once; the packets of all of them leave before an answer comes.
void Replay::post_before_next_answer(std::size_t index) {
    for (; index < said_.size() && said_[index].ours; ++index) {
        const Packet& packet = said_[index].packet;
        if (begins_request(packet) && posted_.insert(packet.base.psn.value()).second) {
            post(index);
        }
    }
}

void Replay::post(std::size_t index) {
    const Packet& first = said_[index].packet;
    SendRequest request{.id = requests_++};
    request.remote_address = first.rdma.address;
    request.rkey = first.rdma.rkey;
    std::byte *place = own_.data() + own_used_;
    std::size_t bytes = 0;
    if (first.row.kind == PacketKind::read_request) {
        request.operation = Operation::read;
        bytes = first.rdma.length_bytes;
        take_own(bytes);
        for (std::size_t i = 0; i < responses_to(first); ++i) {
            const auto number = first.base.psn + static_cast<std::uint32_t>(i);
            read_places_[number.value()] = place + i * mtu_bytes(mtu);
        }
    } else {
        request.operation = first.row.kind == PacketKind::send ? Operation::send : Operation::write;
        Psn next = first.base.psn;
        for (; index < said_.size(); ++index) {
            const Said& one = said_[index];
            if (!one.ours || !is_request(one.packet) || one.packet.base.psn != next) {
                continue;
            }
            std::copy(one.packet.payload.begin(), one.packet.payload.end(),
                      take_own(one.packet.payload.size()));
            bytes += one.packet.payload.size();
            next = next + 1;
            if (one.packet.row.ends()) {
                break;
            }
        }
    }
    const Slice slice = own_slice(place, bytes);
    request.slices = {&slice, 1};
    queue_pair_->post_send(request);
}

void Replay::hear(const Said& said) {
    device_.on_packet(said.datagram, said.from, said.at);
    const bool is_new =
        !is_request(said.packet) || heard_.insert(said.packet.base.psn.value()).second;
    if (is_new) {
        look(said);
    }
}

// Data that came must lie in their place by now.
void Replay::look(const Said& said) {
    const Packet& packet = said.packet;
    const PacketKind kind = packet.row.kind;
    const std::span<const std::byte> data = packet.payload;
    const std::byte *place = nullptr;
    if (kind == PacketKind::read_response) {
        place = read_places_[packet.base.psn.value()];
    } else {
        if (kind == PacketKind::write && packet.row.begins()) {
            message_place_ = exposed(packet.rdma.address);
        } else if (kind == PacketKind::send && packet.row.begins()) {
            message_place_ = receive_places_.front();
            receive_places_.pop_front();
            ++receives_;
        }
        place = message_place_;
        message_place_ += data.size();
    }
    if (!data.empty() && std::memcmp(place, data.data(), data.size()) != 0) {
        ++astray_;
    }
}

void Replay::say(Nanoseconds now) {
    while (const auto run = device_.poll_transmit(now, buffer_, 16)) {
        const std::span<const std::byte> all = std::span(buffer_).first(run->bytes);
        for (std::size_t at = 0; at < all.size(); at += run->segment_bytes) {
            const auto one = all.subspan(at, std::min(run->segment_bytes, all.size() - at));
            played_.emplace_back(one.begin(), one.end());
        }
    }
    Completion done[16];
    while (const std::size_t count = queue_->poll(done)) {
        completed_.insert(completed_.end(), done, done + count);
    }
}

}  // namespace lanewise::verbs::testing
