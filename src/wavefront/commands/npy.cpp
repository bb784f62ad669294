// SPDX-License-Identifier: BSD-3-Clause
//
// See npy.hpp.

#include "wavefront/commands/npy.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>
#include <cstring>
#include <vector>

namespace lanewise::wavefront::commands {
namespace {

constexpr std::size_t alignment = 64;
constexpr std::size_t header_bytes_max = 1 << 20;

const char *descr_of(wavefront::Element element) {
    switch (element) {
        case wavefront::Element::f32: return "<f4";
        case wavefront::Element::f64: return "<f8";
        case wavefront::Element::c64: return "<c8";
        case wavefront::Element::c128: return "<c16";
        case wavefront::Element::i32: return "<i4";
        case wavefront::Element::i64: return "<i8";
        case wavefront::Element::f16: return "<f2";
    }
    return "";
}

Failure refuse(const std::string& path, const std::string& what) {
    return {LW_ERR_ARGUMENT, path + ": " + what};
}

// What stands between `key` and the comma or parenthesis that ends it, without blanks.
std::string value_of(const std::string& header, const std::string& key) {
    const auto at = header.find("'" + key + "':");
    if (at == std::string::npos) return "";
    std::string value;
    int depth = 0;
    for (auto i = at + key.size() + 3; i < header.size(); ++i) {
        const char c = header[i];
        if (depth == 0 && (c == ',' || c == '}')) break;
        if (c == '(') ++depth;
        if (c == ')') --depth;
        if (c != ' ') value += c;
    }
    return value;
}

Outcome check_header(const std::string& header, const std::string& path,
                     const wavefront::MatrixShape& shape) {
    const auto descr = value_of(header, "descr");
    const std::string wanted = std::string("'") + descr_of(shape.element) + "'";
    if (descr != wanted) {
        const bool big = descr.size() > 1 && descr[1] == '>';
        return refuse(path, "holds " + descr + ", the store " + wanted +
                                (big ? "; swap its bytes with .byteswap().view(...)"
                                     : "; convert it with .astype(" + wanted + ")"));
    }
    if (value_of(header, "fortran_order") != "False")
        return refuse(path, "is in Fortran order; save numpy.ascontiguousarray of it");
    const auto sides = fmt::format("({})", fmt::join(shape.sides(), ","));
    // One row, or one column, may have one dimension.
    const bool flat = (shape.rows == 1 || shape.columns == 1) &&
                      value_of(header, "shape") == fmt::format("({},)", shape.rows * shape.columns);
    if (value_of(header, "shape") != sides && !flat)
        return refuse(path, "has shape " + value_of(header, "shape") + ", the store " + sides);
    return Done{};
}

}  // namespace

Result<std::size_t> read_npy_header(std::FILE *file, const std::string& path,
                                    const wavefront::MatrixShape& shape) {
    unsigned char start[12];
    if (std::fread(start, 1, 8, file) != 8 || std::memcmp(start, "\x93NUMPY", 6) != 0)
        return refuse(path, "is not an npy file; name a raw file .raw");
    const std::size_t length_bytes = start[6] == 1 ? 2 : 4;
    if (start[6] < 1 || start[6] > 3 ||
        std::fread(start + 8, 1, length_bytes, file) != length_bytes)
        return refuse(path, "is an npy file of an unknown version");
    std::size_t length = 0;
    for (std::size_t i = 0; i < length_bytes; ++i) length |= std::size_t{start[8 + i]} << (8 * i);
    if (length > header_bytes_max) return refuse(path, "has no sound npy header");
    std::string header(length, ' ');
    if (std::fread(header.data(), 1, length, file) != length)
        return refuse(path, "ends within its header");
    const auto sound = check_header(header, path, shape);
    if (!sound) return sound.failure();
    return 8 + length_bytes + length;
}

std::string npy_header(const wavefront::MatrixShape& shape) {
    std::string text = std::string("{'descr': '") + descr_of(shape.element) +
                       "', 'fortran_order': False, 'shape': (" +
                       fmt::format("{}", fmt::join(shape.sides(), ", ")) + "), }";
    constexpr std::size_t before = 10;
    while ((before + text.size() + 1) % alignment != 0) text += ' ';
    text += '\n';
    std::string header("\x93NUMPY\x01\x00", 8);
    header += static_cast<char>(text.size() & 0xff);
    header += static_cast<char>(text.size() >> 8);
    return header + text;
}

}  // namespace lanewise::wavefront::commands
