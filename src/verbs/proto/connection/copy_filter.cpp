// SPDX-License-Identifier: BSD-3-Clause

#include "verbs/proto/connection/copy_filter.hpp"

namespace lanewise::verbs {

bool CopyFilter::is_copy(const Address& source, std::uint32_t source_qpn, Psn psn,
                         std::uint8_t port) {
    // To forget whom it knows only lets copies through that are on their way now.
    if (senders_.size() >= senders_max && !senders_.contains({source, source_qpn})) {
        senders_.clear();
    }
    const auto [place, is_new] = senders_.try_emplace({source, source_qpn});
    Sender& sender = place->second;
    std::bitset<window>& here = sender.seen[port % 2];
    std::bitset<window>& there = sender.seen[1 - port % 2];
    const auto begin = [&] {
        sender.newest = psn;
        here.reset().set(0);
        there.reset();
        return false;
    };
    const std::int32_t ahead = is_new ? 0 : distance(sender.newest, psn);
    const auto far = static_cast<std::int32_t>(window);
    if (is_new || ahead >= far || ahead <= -far) {
        return begin();
    }
    if (ahead > 0) {
        here <<= static_cast<std::size_t>(ahead);
        there <<= static_cast<std::size_t>(ahead);
        sender.newest = psn;
        here.set(0);
        return false;
    }
    const auto age = static_cast<std::size_t>(-ahead);
    if (here.test(age)) {
        return begin();
    }
    here.set(age);
    return there.test(age);
}

}  // namespace lanewise::verbs
