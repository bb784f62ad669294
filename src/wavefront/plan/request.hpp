// SPDX-License-Identifier: BSD-3-Clause
//
// Request: what a plan is asked and what it answers, and the arithmetic that plans of
// whole rows and plans of parallelograms share. Pure.

#pragma once

#include <cstdint>
#include <string>

#include "base/result.hpp"
#include "wavefront/layout/borders.hpp"
#include "wavefront/layout/shape.hpp"
#include "wavefront/plan/course.hpp"

namespace lanewise::wavefront {

struct Rates {
    double read_bytes_per_s = 0.0; /* 0: not known */
    double write_bytes_per_s = 0.0;
    double cells_per_s = 0.0; /* of the kernel, on all threads */
};

/* How waves share the processors' caches; see run/waves.hpp. */
struct Tiling {
    std::uint64_t groups = 1; /* of waves; a thread advances one group at a time */
    std::uint64_t rounds = 1; /* row blocks by which a group advances at a time */
    std::uint64_t column_block =
        0; /* vectors of all those row blocks that it works on at a time; 0: all */
};

/* Whether the store is the whole domain or one of its parts, which exchange halos. */
enum class Domain { whole, part };

/* Where the row blocks of a part lie among those of the whole, which parallelograms go through. */
struct ParallelogramPlace {
    std::uint64_t offset =
        0; /* vectors by which row block 0 begins further left than that of the first part */
    std::uint64_t slant =
        0; /* from the first row block of the whole to the end of the last; 0: alone */
};

struct Request {
    MatrixShape shape;                               /* as the kernel works on it */
    const Layout *disk_layout = &layouts::row_major; /* as it lies on disk */
    std::uint32_t radius = 1;
    std::uint64_t iterations = 1;
    std::uint64_t memory_bytes = 0;
    std::uint32_t threads = 1;
    std::uint64_t waves = 0;         /* 0: chosen by the plan */
    std::uint64_t scratch_rows = 0;  /* rows that the kernel keeps for each wave */
    std::uint64_t thread_rows = 0;   /* and for each thread */
    std::uint32_t second_copies = 0; /* data matrices with a second copy in memory */
    std::uint64_t cache_bytes = 0; /* of one processor; 0: the kernel takes whole row blocks only */
    Domain domain = Domain::whole; /* part: each wave waits for halos by itself */
    ParallelogramPlace place{};
    std::uint64_t parallelogram_vectors = 0; /* 0: chosen by the plan */
    Rates rates;
    Directions directions{Direction{}};
    std::uint64_t iterations_done = 0; /* of the same run */
    std::uint64_t pause_every = 0;     /* iterations after which a pass ends; 0: none */
    std::uint64_t pause_bytes = 0;     /* of memory that is needed then */
    std::uint64_t disks = 1;           /* over which the strips are distributed */
    Borders borders{};
};

struct Plan {
    std::uint64_t waves = 1; /* K, in the longest pass */
    std::uint64_t passes = 1;
    std::uint64_t chain = 0; /* iterations that directions let share a pass at most; 0: all */
    std::uint64_t rows_per_block = 8; /* a wave's step, and its distance to the wave before */
    std::uint64_t buffers = 0;        /* strips of every matrix in memory */
    std::uint64_t held_strips = 0;    /* in addition, from the beginning of a pass to its end */
    std::uint64_t kept_strips = 0;    /* that a pass finds in memory where the one before turned */
    std::uint32_t threads = 1;
    Tiling tiling;
    std::uint64_t memory_bytes = 0; /* at the peak, this program's own share included */
    std::uint64_t memory_bytes_min = 0;
    std::uint64_t read_bytes = 0; /* over all passes */
    std::uint64_t written_bytes = 0;
    std::uint64_t waves_to_hide_disk = 0;    /* K*; 0 where a rate is not known */
    std::uint64_t parallelograms = 1;        /* into which rows in tiles are divided */
    std::uint64_t parallelogram_vectors = 0; /* the width of each; 0: rows are whole */
    double time_s = 0.0;                     /* 0 where a rate is not known */
    bool disk_bound = false;
};

/* How much further left each round works than the one before: a vector needs those of the row block
 * above, up to the last lane's lag plus the radius. For slanted row blocks it is what their rows
 * lag in all. */
std::uint64_t columns_a_round(const MatrixShape& shape, std::uint64_t radius);

/* The iterations in passes. */
Course course_of(const Request& request);

/* Sets the plan's passes and the waves of the longest, `waves` being those that fit. */
void divide_into_passes(const Request& request, std::uint64_t waves, Plan& plan);

/* Code and rings of the program. */
inline constexpr std::uint64_t program_bytes = 12 << 20;
/* Bytes of the checksums: eight per strip or tile, in both generations and in the coefficients. */
std::uint64_t sums_bytes(const MatrixShape& shape);
/* What the program itself takes besides strips: code, stacks, rings, checksums. */
std::uint64_t own_memory_bytes(const MatrixShape& shape, std::uint32_t threads);
/* Rows of `columns` columns that threads keep. */
std::uint64_t thread_rows_bytes(const Request& request, std::uint64_t columns);
/* Halos of a part that are on their way, or kept for neighbours that begin a pass again. */
std::uint64_t halo_bytes(const Request& request, std::uint64_t waves, std::uint64_t columns);

/* Waves of a pass where no rate is known: more than any disk measured so far needed (18 to 90). */
inline constexpr std::uint64_t waves_without_rates = 128;

/* K*, from which on computation hides the disk; 0 where a rate is not known. */
std::uint64_t waves_to_hide_disk(const Request& request);

/* tiled: groups of waves work on column blocks, and need memory for their rounds; plain: the least
 * memory. */
enum class Order { tiled, plain };

Tiling choose_tiling(const Request& request, std::uint64_t waves, Order order);

/* Strips between the one that the first wave needs and the one that the last wave still reads:
 * K row blocks of lag, the rounds of each group, and the row blocks above and below. */
std::uint64_t strips_in_work(const Request& request, std::uint64_t waves,
                             std::uint64_t rows_per_block, Order order);

/* The waves asked for, or those that hide the disk; no more than could ever work. */
std::uint64_t wanted_waves(const Request& request);

/* The failure of a budget below `needed_bytes`. */
Failure too_small(const Request& request, std::uint64_t needed_bytes);

/* Sets the plan's time from the bytes that it moves. */
void estimate_time(const Request& request, Plan& plan);

}  // namespace lanewise::wavefront
