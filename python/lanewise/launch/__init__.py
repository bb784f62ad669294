# SPDX-License-Identifier: BSD-3-Clause
"""Launch: start programs with a launcher (mpirun, srun, flux, ...).

A launcher turns a `Job` into a command line, an environment and files to write beforehand.  The
three are pure functions, so a launch line is text that a test compares.  Python runs once, on the
launching host, except in programs on mpi4py: all other ranks are native programs.

`launchers` has a file for each.  `job` says what a job and a launcher are, `registry` lists the
launchers, and `choose` picks one; `pmi_plugin` is by what the ranks of srun find each other, and
`trial` tries whether two ranks do.

Where ranks go is decided by `room`, from what `allocation` reads of a batch system, the `hosts`
that a person names and this `machine`, which `examine` looks at for `lanewise doctor`.

Our own programs and libraries are found by `native`.  `describe` asks for the options of programs,
`native_arguments` writes these, and `plan` has them checked before `run_native` launches; `several`
has what several launches need.  `run` and `lines` start any launcher, read what comes and end it.
`native_library` loads liblanewise, and `mpi4py_library` tells the MPI that it is to be for.

Of programs of users `program` tells the MPI, `sides` splits those of a gate, and `foreground` gives
them the terminal and the signals.  Libraries of ours come under them by `preload`, and tuned rules
by `tuned` and `roll_call`.  `use_mark` is where programs note what they used, `packages` names the
package of a program that is missing, and `words` refuses one text for a list of words.
"""
