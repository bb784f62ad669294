// SPDX-License-Identifier: BSD-3-Clause
//
// lanewise-predict: how long a collective takes by each algorithm on a platform
// that lanewise model fit wrote, by pricing the very schedules that would run.
//
// Prints one JSON object. Keys may be added; what is here stays:
//   schema         "lanewise-prediction", with `version` 1
//   platform       the file, and `model`, which of its models was asked
//   collective     what was asked for, with `ranks` and `root`
//   message_bytes  the sizes: a block, or the vector (include/lanewise/operation.h)
//   candidates     in the order asked for, each {algorithm, segment_bytes (0: its
//                  own choice), lanes, predicted_s}, one time for each size; where
//                  lanes join two sites also cost_model_s, T(P) of Chiba et al. 2008
//   left_out       those that cannot serve the call: the same with `reason` for
//                  `predicted_s`
//   spans          with --spans: {what, rank, peer, begin_s, end_s, bytes}, what
//                  being send, receive, copy, reduce (a processor), egress or
//                  ingress (the interface of the rank's host)

#include <cstdio>

#include "collectives/report/prediction.hpp"
#include "model/platform/platform.hpp"
#include "tools/program.hpp"
#include "tools/subcommands.hpp"

namespace lanewise::tools {
namespace {

using report::PredictArguments;

Result<Json> predict(PredictArguments arguments) {
    const auto platform = model::read_platform(arguments.platform);
    if (!platform) return platform.failure();
    if (arguments.ranks == 0) arguments.ranks = platform->ranks;
    if (arguments.model.empty()) arguments.model = platform->best;
    if (arguments.root >= arguments.ranks) {
        return Failure{LW_ERR_ARGUMENT, "root " + std::to_string(arguments.root) + " of " +
                                            std::to_string(arguments.ranks) +
                                            " ranks is not there; ranks count from 0"};
    }
    const auto network = model::network(*platform, arguments.model, arguments.ranks);
    if (!network) return network.failure();
    return report::answer(arguments, *platform, *network);
}

}  // namespace

int predict_main(int argc, char **argv) {
    constexpr const char *program = "lanewise-predict";
    auto parsed = report::parse_predict(argc, argv);
    if (!parsed) return say_failure(program, parsed.failure());
    if (const auto *leave = std::get_if<Leave>(&*parsed)) return print(*leave);
    return run_and_report(program, "ask for fewer ranks", [&] {
        const auto predicted = predict(std::move(std::get<PredictArguments>(*parsed)));
        if (!predicted) return say_failure(program, predicted.failure());
        std::puts(predicted->dump().c_str());
        return 0;
    });
}

}  // namespace lanewise::tools
