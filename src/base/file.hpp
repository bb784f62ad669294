// SPDX-License-Identifier: BSD-3-Clause
//
// Reading and writing a whole file.

#pragma once

#include <string>

#include "base/result.hpp"

namespace lanewise {

/* The content of the file; a failure (LW_ERR_NOT_FOUND for a file that is not there,
   LW_ERR_ARGUMENT for a folder, else LW_ERR_IO) names the path and the system's reason. */
Result<std::string> read_file(const std::string& path);

/* The remedy that ends the sentence on a write that failed with `error`, if the disk is full. */
std::string free_space_there(int error);

/* Writes the file in place of what is there, whole or not at all. A link is followed; what is no
   regular file, such as a pipe or a device, is written to and never replaced. */
Outcome write_file(const std::string& path, const std::string& content);

/* Where to write what is to be renamed to `path`: a name beside the file that it leads to, or the
   path itself where that is no regular file. */
struct WritingPlace {
    std::string beside;
    std::string target;
    bool as_it_is() const { return beside == target; }
};
WritingPlace place_to_write(const std::string& path);

}  // namespace lanewise
