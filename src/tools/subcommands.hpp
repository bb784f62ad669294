// SPDX-License-Identifier: BSD-3-Clause
//
// The main function of each subcommand of lanewise-native; native.cpp has the table.

#pragma once

namespace lanewise::tools {

int check_main(int argc, char **argv);
int delay_line_main(int argc, char **argv);
int device_ports_main(int argc, char **argv);
int fit_main(int argc, char **argv);
int lane_rates_main(int argc, char **argv);
int measure_main(int argc, char **argv);
int predict_main(int argc, char **argv);
int prove_main(int argc, char **argv);
int schedule_main(int argc, char **argv);
int tune_main(int argc, char **argv);
int wavefront_main(int argc, char **argv);
int wavefront_ranks_main(int argc, char **argv);

}  // namespace lanewise::tools
