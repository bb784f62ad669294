// SPDX-License-Identifier: BSD-3-Clause
//
// ControlVariable: one control variable of the MPI, read and written through MPI_T.

#pragma once

#include <mpi.h>

#include <string>
#include <vector>

namespace lanewise::tune {

class ControlVariable {
  public:
    /* An integer variable that can be written; otherwise `usable` says no. */
    explicit ControlVariable(const std::string& name);
    ~ControlVariable();
    ControlVariable(const ControlVariable&) = delete;
    ControlVariable& operator=(const ControlVariable&) = delete;

    bool usable() const { return usable_; }
    int read() const;
    /* Tells whether the variable now has `value`. */
    bool write(int value);

    struct Item {
        int value = 0;
        std::string name;
    };
    /* The values that have names, where the library tells them. */
    const std::vector<Item>& items() const { return items_; }
    const std::string& description() const { return description_; }

  private:
    bool describe(int index);

    MPI_T_cvar_handle handle_ = MPI_T_CVAR_HANDLE_NULL;
    bool usable_ = false;
    std::vector<Item> items_;
    std::string description_;
};

}  // namespace lanewise::tune
