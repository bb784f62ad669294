// SPDX-License-Identifier: BSD-3-Clause
//
// New folders: those in which something is made that is whole or not there.

#pragma once

#include <string>
#include <vector>

namespace lanewise::wavefront {

/* Removes those of `folders` that were missing or empty, unless what is made in them is kept. */
class NewFolders {
  public:
    explicit NewFolders(std::vector<std::string> folders);
    ~NewFolders();
    NewFolders(const NewFolders&) = delete;
    NewFolders& operator=(const NewFolders&) = delete;

    void keep() { folders_.clear(); }

  private:
    std::vector<std::string> folders_;
};

}  // namespace lanewise::wavefront
