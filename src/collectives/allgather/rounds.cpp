// SPDX-License-Identifier: BSD-3-Clause

#include "collectives/allgather/rounds.hpp"

#include "collectives/blocks.hpp"

namespace lanewise::collectives {

model::Schedule allgather_in_rounds(const CallShape& shape, const RankOrder& order,
                                    const std::vector<Round>& rounds) {
    model::Builder steps;
    const Row row(steps, shape, order);
    const auto& bounds = row.bounds;
    std::vector<model::StepId> received;
    for (const auto& [to, sent, from, range] : rounds) {
        received.push_back(
            steps.receive(from, row.at(range.begin), bounds.size(range.begin, range.end)));
    }
    const int me = order.node_of(shape.rank);
    std::vector<model::StepId> here{
        steps.copy({model::Place::send, 0}, row.at(me), bounds.size(me))};
    auto arriving = received.begin();
    for (const auto& [to, range, from, got] : rounds) {
        steps.send_after(here, to, row.at(range.begin), bounds.size(range.begin, range.end));
        here.push_back(*arriving++);
    }
    row.deliver(steps, here);
    return steps.finish();
}

}  // namespace lanewise::collectives
