// SPDX-License-Identifier: BSD-3-Clause
//
// Profile: who was late. When MPI begins, the clocks of the hosts are compared and recording
// starts. When it ends, they are compared again, the ranks exchange what they recorded so that each
// call comes together on one rank, and the first rank writes the file.

#pragma once

namespace lanewise::tuned {

/* Collective over the world; to be called once, when MPI is initialized. Does nothing unless the
   environment asks for a profile, and all ranks have this library. */
void begin_profile();

/* What begins when MPI_COMM_WORLD is there: the roll call is answered, and a report and a profile
   begin. */
void begin_with_world();

}  // namespace lanewise::tuned
