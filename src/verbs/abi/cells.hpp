// SPDX-License-Identifier: BSD-3-Clause
//
// Memory for the objects behind handles. A program may use a handle that it has destroyed, or
// destroy it twice, and then gets an error as from a kernel, which looks handles up. Here a handle
// is a pointer, so the memory of an object is never given back: it is a cell, which says whether an
// object lives in it, and takes another of the same kind only after many more were destroyed.

#pragma once

#include <atomic>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <utility>

namespace lanewise::verbs::abi {

inline constexpr std::size_t cells_at_rest = 256;

// Held over fork, so that a child finds it free.
inline std::mutex& cells_lock() {
    static auto *lock = new std::mutex;
    return *lock;
}

template <typename Object>
class Cells {
  public:
    struct Bury {
        void operator()(Object *object) const { Cells::bury(object); }
    };
    using Owner = std::unique_ptr<Object, Bury>;

    template <typename... Values>
    static Owner make(Values&&...values) {
        Cell *cell = take();
        auto *object = new (cell->place) Object{std::forward<Values>(values)...};
        cell->occupied.store(true, std::memory_order_release);
        return Owner(object);
    }

    static bool lives(const Object *object) {
        return object && cell_of(object)->occupied.load(std::memory_order_acquire);
    }

    static void bury(Object *object) {
        Cell *cell = cell_of(object);
        cell->occupied.store(false, std::memory_order_release);
        object->~Object();
        const std::lock_guard guard(cells_lock());
        at_rest().push_back(cell);
    }

  private:
    struct Cell {
        alignas(Object) std::byte place[sizeof(Object)]{};
        std::atomic<bool> occupied{false};
    };

    static Cell *cell_of(const Object *object) {
        return reinterpret_cast<Cell *>(const_cast<Object *>(object));
    }

    static Cell *take() {
        const std::lock_guard guard(cells_lock());
        if (at_rest().size() <= cells_at_rest) return new Cell;
        Cell *cell = at_rest().front();
        at_rest().pop_front();
        return cell;
    }

    // Never destroyed: a program may use handles until its very end.
    static std::deque<Cell *>& at_rest() {
        static auto *cells = new std::deque<Cell *>;
        return *cells;
    }
};

}  // namespace lanewise::verbs::abi
