// SPDX-License-Identifier: BSD-3-Clause
//
// Platform: what was measured of a machine, as kept in platform.json: ranks and hosts, the
// conditions of the measurement, and the fitted models, each with its residuals.
// schema/platform.schema.json describes the file.

#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json_fwd.hpp"
#include "base/result.hpp"
#include "model/models/gather_region.hpp"
#include "model/models/hockney.hpp"
#include "model/models/lmo.hpp"
#include "model/models/loggp.hpp"
#include "model/models/piecewise.hpp"
#include "model/models/plogp.hpp"
#include "model/simulation/network.hpp"

namespace lanewise::model {

/* Of the file. */
constexpr int platform_version = 3;

/* By what a later reader notices that the numbers are stale. */
struct Fingerprint {
    std::string mpi_family;
    std::string mpi_library;
    std::string launcher;
    std::string kernel;
    std::vector<std::string> cpus;               /* that each rank may run on */
    std::map<std::string, std::string> settings; /* of the kernel: net.ipv4.tcp_rmem ... */
};

/* How far a model is off, (predicted - measured) / measured, over all points alike but for ranks.
 */
struct Residual {
    std::string operation;
    std::int64_t message_bytes = 0;
    std::int64_t reply_bytes = 0;
    std::size_t points = 0;
    double relative_rms = 0.0;
    double relative_worst = 0.0;
};

/* What is kept of every fitted model beside its parameters. */
struct FitQuality {
    std::vector<Residual> residuals;
    std::size_t held_out_points = 0;
    double held_out_rms = 0.0; /* of points that a fit without them was asked for */

    double residual_rms() const; /* over all points */
};

/* What one host carries by itself over several connections to or from another site, and together
   with as many inside its own; 0: not measured. */
struct HostRates {
    double sends_Bps = 0.0;
    double sends_with_lan_Bps = 0.0;
    double receives_Bps = 0.0;
    double receives_with_lan_Bps = 0.0;
};

/* b(1), b(2), ... bytes a second that so many lanes between two sites carry together. */
struct LaneCurve {
    std::string from;
    std::string to;
    double latency_s = 0.0;
    std::vector<double> bandwidth_Bps;
    HostRates one_host = {}; /* sends at `from`, receives at `to` */
};

/* What a pair of hosts inside a site carries. */
struct LanRate {
    std::string site;
    double latency_s = 0.0;
    double bandwidth_Bps = 0.0;
};

struct DiskRate {
    std::string path;
    double read_Bps = 0.0;
    double write_Bps = 0.0;
};

struct Platform {
    std::string lanewise; /* version of the writer */
    std::string created;  /* UTC */
    int ranks = 0;
    std::vector<std::string> hosts; /* of each rank */
    std::vector<std::string> sites; /* of each rank; empty: not known */
    Fingerprint fingerprint;
    std::string best; /* the model that predicts held-out points best, or else fits best */
    std::optional<Hockney> hockney;
    std::optional<LogGP> loggp;
    std::optional<PLogP> plogp;
    std::optional<Lmo> lmo;
    std::optional<Piecewise> piecewise;
    std::map<std::string, FitQuality> fit_quality; /* by model */
    std::optional<GatherRegion> gather;
    std::vector<LaneCurve> lanes;
    std::vector<LanRate> lans;
    std::vector<DiskRate> disks;
};

/* "hockney", "loggp", "plogp", "lmo", "piecewise": those that are fitted. "lanes" needs no fit. */
const std::vector<std::string>& model_names();
bool has_model(const Platform& platform, const std::string& name);

/*
 * An empty name means the best. Ranks beyond the measured are mean ones. Network::host stays
 * empty: what ranks of one host do to each other at its interface was not measured.
 */
Result<Network> network(const Platform& platform, const std::string& name, int ranks);

/* The network of the best model in the file at `path`. */
Result<std::shared_ptr<const Network>> read_network(const std::string& path, int ranks);

Json to_json(const Platform& platform);

/* Refuses keys it does not know and names links that are not there. `name` is the file's. */
Result<Platform> platform_from_json(const Json& json, const std::string& name);

Result<Platform> read_platform(const std::string& path);

/* Writes beside and renames, so that no reader sees half of it. */
Outcome write_platform(const Platform& platform, const std::string& path);

}  // namespace lanewise::model
