// SPDX-License-Identifier: BSD-3-Clause
//
// What the processes that a command has started did, for a line at its end. The command hands on a
// memory file; its descriptor and the number of its own process, which becomes the program, are in
// an environment variable as PID:DESCRIPTOR. Processes that have closed the descriptor reach the
// file through the first process.

#pragma once

#include <sys/types.h>

namespace lanewise {

class UseMark {
  public:
    // Reads the variable; without it, or if it makes no sense, nothing is ever marked.
    explicit UseMark(const char *variable);

    // Whether this is the process that became the program.
    bool is_first() const;
    // `use` is a number from 0 that says what was done.
    void set(unsigned use) const;
    // True if it cannot be known.
    bool is_set(unsigned use) const;

  private:
    int open() const;

    pid_t process_ = 0;
    int descriptor_ = -1;
};

}  // namespace lanewise
