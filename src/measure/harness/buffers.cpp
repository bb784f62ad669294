// SPDX-License-Identifier: BSD-3-Clause
//
// See buffers.hpp.

#include "measure/harness/buffers.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <string>

namespace lanewise::measure {
namespace {

constexpr std::size_t huge_page_bytes = std::size_t{2} << 20;
constexpr const char *huge_pages_file = "/sys/kernel/mm/transparent_hugepage/enabled";

#if defined(LANEWISE_SIMULATED)
constexpr const char *eviction_lacks = "simulated ranks have no caches";
void flush_line(const std::byte *) {}
void await_flushes() {}
#elif defined(__x86_64__)
constexpr const char *eviction_lacks = nullptr;
void flush_line(const std::byte *line) {
    __builtin_ia32_clflush(line);
}
void await_flushes() {
    __builtin_ia32_mfence();
}
#elif defined(__aarch64__)
constexpr const char *eviction_lacks = nullptr;
void flush_line(const std::byte *line) {
    asm volatile("dc civac, %0" ::"r"(line) : "memory");
}
void await_flushes() {
    asm volatile("dsb ish" ::: "memory");
}
#else
constexpr const char *eviction_lacks = "this processor gives programs no way to flush a cache line";
void flush_line(const std::byte *) {}
void await_flushes() {}
#endif

// Every processor's lines are this long or longer, and a shorter step flushes no less.
constexpr std::size_t line_bytes = 64;

std::size_t page_bytes(const lw_buffers& layout) {
    return layout.pages == LW_PAGES_HUGE ? huge_page_bytes
                                         : static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

// Whole pages, and on huge ones one more, to begin at the start of one.
std::size_t region_for(std::uint64_t bytes, const lw_buffers& layout) {
    const auto page = page_bytes(layout);
    const auto pages = (bytes + layout.offset_bytes + page - 1) / page;
    return (pages + (layout.pages == LW_PAGES_HUGE ? 1 : 0)) * page;
}

Failure no_huge_pages() {
    return {LW_ERR_UNSUPPORTED, std::string("huge pages are switched off on this host; write "
                                            "madvise into ") +
                                    huge_pages_file + ", or leave them out"};
}

bool huge_pages_are_off() {
    std::ifstream file(huge_pages_file);
    std::string word;
    while (file >> word) {
        if (word == "[never]") return true;
    }
    return false;
}

}  // namespace

Outcome admit_buffers(const lw_measure_options& options) {
    const auto& layout = options.buffers;
    if (layout.rotating_sets == 0)
        return Failure{LW_ERR_ARGUMENT, "0 sets of buffers are none; 1 is the default"};
    if (layout.offset_bytes >= static_cast<std::size_t>(sysconf(_SC_PAGESIZE)))
        return Failure{LW_ERR_ARGUMENT, "buffers " + std::to_string(layout.offset_bytes) +
                                            " bytes past a page boundary are in the next page; "
                                            "use less than a page"};
    if (layout.pages != LW_PAGES_SMALL && layout.pages != LW_PAGES_HUGE)
        return Failure{LW_ERR_ARGUMENT, "unknown pages; use small or huge"};
    if (layout.caches != LW_CACHES_WARM && layout.caches != LW_CACHES_COLD)
        return Failure{LW_ERR_ARGUMENT, "unknown caches; use warm or cold"};
    if (layout.caches == LW_CACHES_WARM) return Done{};
    if (eviction_lacks)
        return Failure{LW_ERR_UNSUPPORTED, std::string("cold buffers: ") + eviction_lacks};
    if (options.pipeline_length > 1)
        return Failure{LW_ERR_UNSUPPORTED,
                       "cold buffers are warm after the first execution of a "
                       "pipeline; isolate them, or rotate many"};
    return Done{};
}

bool are_plain(const lw_buffers& buffers) {
    const lw_measure_options plain = LW_MEASURE_OPTIONS;
    return buffers.rotating_sets == plain.buffers.rotating_sets &&
           buffers.offset_bytes == plain.buffers.offset_bytes &&
           buffers.pages == plain.buffers.pages && buffers.caches == plain.buffers.caches;
}

Result<Buffer> Buffer::create(std::uint64_t bytes, const lw_buffers& layout) {
    const bool huge = layout.pages == LW_PAGES_HUGE;
    const Failure none{LW_ERR_MEMORY, "no memory for its buffers"};
    if (huge && huge_pages_are_off()) return no_huge_pages();
    if (bytes > SIZE_MAX / 2) return none;
    Buffer made;
    made.bytes_ = static_cast<std::size_t>(bytes);
    made.region_bytes_ = region_for(bytes, layout);
    if (made.region_bytes_ == 0) return made;
    void *region = mmap(nullptr, made.region_bytes_, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (region == MAP_FAILED) return none;
    made.region_ = region;
    if (huge && madvise(region, made.region_bytes_, MADV_HUGEPAGE) != 0) return no_huge_pages();
    const auto page = page_bytes(layout);
    const auto first = reinterpret_cast<std::uintptr_t>(region);
    const auto start = (first + page - 1) / page * page;
    made.begin_ = static_cast<std::byte *>(region) + (start - first) + layout.offset_bytes;
    std::memset(made.begin_, 0, made.bytes_);
    return made;
}

Buffer::~Buffer() {
    if (region_) munmap(region_, region_bytes_);
}

double mapped_bytes(double bytes, const lw_buffers& layout) {
    if (layout.pages == LW_PAGES_SMALL) return bytes;
    const auto page = static_cast<double>(huge_page_bytes);
    return std::ceil((bytes + layout.offset_bytes) / page) * page;
}

CacheEvictor::CacheEvictor() {
    constexpr long unknown_bytes = 2 << 20;
    const long reported = sysconf(_SC_LEVEL2_CACHE_SIZE);
    other_.resize(
        std::bit_ceil(2 * static_cast<std::size_t>(reported > 0 ? reported : unknown_bytes)));
}

void CacheEvictor::flush(std::span<std::byte> bytes) const {
    if (bytes.empty()) return;
    const auto inside = reinterpret_cast<std::uintptr_t>(bytes.data()) % line_bytes;
    const auto *end = bytes.data() + bytes.size();
    for (const auto *line = bytes.data() - inside; line < end; line += line_bytes) {
        flush_line(line);
    }
    await_flushes();
}

// Each line once in random order (a linear congruence of full period): processors protect their
// caches against lines that are read in sequence.
void CacheEvictor::evict_others() const {
    const std::size_t lines = other_.size() / line_bytes;
    std::size_t line = 0;
    for (std::size_t i = 0; i < lines; ++i) {
        line = (1664525 * line + 1013904223) % lines;
        asm volatile("" ::"r"(other_[line * line_bytes]) : "memory");
    }
}

}  // namespace lanewise::measure
