// SPDX-License-Identifier: BSD-3-Clause
//
// UseMark: notes what the processes of a command did, so that the command can say so at its end.
//
// The notes are bytes in a memory file. The environment variable has PID:DESCRIPTOR, the process
// that created it, which becomes the program, and its descriptor there. Every process opens the
// file through /proc/PID/fd, so that one that has closed the descriptor can note something as well.

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
