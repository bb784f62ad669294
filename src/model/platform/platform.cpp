// SPDX-License-Identifier: BSD-3-Clause
//
// Networks of a platform by the name of the model. The file itself is in read.cpp and write.cpp.

#include "model/platform/platform.hpp"

#include <cmath>

#include "model/platform/lane_network.hpp"

namespace lanewise::model {

double FitQuality::residual_rms() const {
    double squares = 0.0;
    double points = 0.0;
    for (const auto& residual : residuals) {
        const auto count = static_cast<double>(residual.points);
        squares += residual.relative_rms * residual.relative_rms * count;
        points += count;
    }
    return points > 0.0 ? std::sqrt(squares / points) : 0.0;
}

const std::vector<std::string>& model_names() {
    static const std::vector<std::string> names{"hockney", "loggp", "plogp", "lmo", "piecewise"};
    return names;
}

bool has_model(const Platform& platform, const std::string& name) {
    return (name == "hockney" && platform.hockney) || (name == "loggp" && platform.loggp) ||
           (name == "plogp" && platform.plogp) || (name == "lmo" && platform.lmo) ||
           (name == "piecewise" && platform.piecewise) ||
           (name == "lanes" && knows_lanes(platform));
}

Result<Network> network(const Platform& platform, const std::string& name, int ranks) {
    const auto& wanted = name.empty() ? platform.best : name;
    if (ranks < 1)
        return Failure{LW_ERR_ARGUMENT, std::to_string(ranks) + " ranks; there is at least 1"};
    if (!has_model(platform, wanted)) {
        std::string fitted;
        for (const auto& known : model_names()) {
            if (has_model(platform, known)) fitted += (fitted.empty() ? "" : ", ") + known;
        }
        if (has_model(platform, "lanes")) fitted += fitted.empty() ? "lanes" : ", lanes";
        return Failure{
            LW_ERR_NOT_FOUND,
            "the platform has no model \"" + wanted + "\"; it has " +
                (fitted.empty() ? "none, fit it again with lanewise model fit" : fitted)};
    }
    if (wanted == "hockney") return network(*platform.hockney, ranks);
    if (wanted == "loggp") return network(*platform.loggp, ranks);
    if (wanted == "plogp") return network(*platform.plogp, ranks);
    if (wanted == "piecewise") return network(*platform.piecewise, ranks);
    if (wanted == "lanes") return lane_network(platform, ranks);
    return network(*platform.lmo, ranks, platform.gather);
}

Result<std::shared_ptr<const Network>> read_network(const std::string& path, int ranks) {
    const auto platform = read_platform(path);
    if (!platform) return platform.failure();
    const auto found = network(*platform, "", ranks);
    if (!found) return found.failure();
    return std::make_shared<const Network>(*found);
}

}  // namespace lanewise::model
