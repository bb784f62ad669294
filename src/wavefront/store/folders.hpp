// SPDX-License-Identifier: BSD-3-Clause
//
// New folders: those in which something is made that is whole or not there, and those on further
// disks, which say whose they are.

#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"

namespace lanewise::wavefront {

/* Makes a folder that is missing, and those above it; their names outlive a power cut. Whether it
   was missing; fails for one that is not empty. */
Result<bool> make_empty_folder(const std::string& path);

/* The file in each folder on a further disk that has the id of the store whose strips lie there. */
inline constexpr const char *owner_name = "store.id";

/* An id that no other store has: 16 hexadecimal digits. */
std::string new_id();
/* Notes in an empty folder whose it is; fails where another store has done so meanwhile. */
Outcome claim_folder(const std::string& path, const std::string& id);
/* Fails where the folder is another store's, or nobody's: its disk may not be mounted. */
Outcome check_owner(const std::string& path, const std::string& id);

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
