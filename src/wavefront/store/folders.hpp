// SPDX-License-Identifier: BSD-3-Clause
//
// New folders: those in which something is made that is whole or not there.

#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"

namespace lanewise::wavefront {

/* Makes a folder that is missing, and those above it; their names outlive a power cut. Whether it
   was missing; fails for one that is not empty. */
Result<bool> make_empty_folder(const std::string& path);

/* Undoes what is made in `folders`, unless it is kept. Those that were there before are emptied;
   what somebody else has made in them meanwhile is not ours, and stays. */
class NewFolders {
  public:
    explicit NewFolders(const std::vector<std::string>& folders);
    ~NewFolders();
    NewFolders(const NewFolders&) = delete;
    NewFolders& operator=(const NewFolders&) = delete;

    /* A store has been made in `folder`, or in all of them. */
    void own(const std::string& folder);
    void own();
    void keep() { folders_.clear(); }

  private:
    struct Folder {
        std::string path;
        bool was_there;
        bool is_own = false;
    };
    std::vector<Folder> folders_;
};

}  // namespace lanewise::wavefront
