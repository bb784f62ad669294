// SPDX-License-Identifier: BSD-3-Clause
//
// Anonymous files: those of a store that is in memory, by the paths that they would have on a
// disk. The system frees them once nobody has them open, however the program ends.

#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "base/result.hpp"

namespace lanewise::wavefront {

enum class Missing { refused, made };

class AnonymousFiles {
  public:
    AnonymousFiles() = default;
    ~AnonymousFiles();
    AnonymousFiles(const AnonymousFiles&) = delete;
    AnonymousFiles& operator=(const AnonymousFiles&) = delete;

    /* Another descriptor of the file at `path`; -1 and errno, as open(2). */
    int open(const std::string& path, Missing missing);
    /* Whether the file at `path` is there and has `size` bytes for `to`. */
    bool read(const std::string& path, void *to, std::size_t size) const;
    Outcome replace(const std::string& path, const void *bytes, std::size_t size);
    /* Frees its memory once the last descriptor is closed. */
    void remove(const std::string& path);

  private:
    std::map<std::string, int> files_;
};

}  // namespace lanewise::wavefront
