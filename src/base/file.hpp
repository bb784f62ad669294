// SPDX-License-Identifier: BSD-3-Clause
//
// Reading and writing a whole file, and appending to one.

#pragma once

#include <cstdio>
#include <span>
#include <string>

#include "base/result.hpp"

namespace lanewise {

/* The content of the file; a failure (LW_ERR_NOT_FOUND for a file that is not there,
   LW_ERR_ARGUMENT for a folder, else LW_ERR_IO) names the path and the system's reason. */
Result<std::string> read_file(const std::string& path);

/* The remedy that ends the sentence on a write that failed with `error`, if the disk is full. */
std::string free_space_there(int error);

/* Writes the file in place of what is there, whole or not at all. A link is followed. A file that
   is replaced keeps its mode, and its owner and group where this process may give files to them,
   though not its hard links; LW_ERR_ARGUMENT where it may not be written. What is no regular file,
   such as a pipe or a device, or is one that a descriptor has open, such as /dev/stdout, gets the
   content at its end and is never replaced. */
Outcome write_file(const std::string& path, const std::string& content);

/* Appends to a file that was opened with O_APPEND, to which other processes may append as well: all
   of it or nothing. False, with errno, where the disk is full or the file is at its limit of size
   (RLIMIT_FSIZE); the signal of that limit does not end the program. */
bool append_whole(int file, std::span<const std::byte> bytes);

/* Where to write what is to be the content of `path`: to a file beside the one that it leads to,
   which takes its name in the end, or to what is there as it is. */
struct WritingPlace {
    std::string target;
    bool as_it_is = false;
    int descriptor = -1; /* of this process, where the path leads to it */
    std::string beside;  /* the new file, once it is open */

    /* The file to write to; null, and errno, where there is none. */
    std::FILE *open();
};
WritingPlace place_to_write(const std::string& path);

}  // namespace lanewise
