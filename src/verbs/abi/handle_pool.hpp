// SPDX-License-Identifier: BSD-3-Clause
//
// Memory for the objects behind handles. A program may use a handle that it has destroyed, or
// destroy it twice, and then gets an error, as it would from a kernel, which looks handles up. Here
// a handle is a pointer, so the memory of an object is never given back: it is a slot that says
// whether an object lives in it. A slot is reused for the same kind of object only after a
// quarantine, when many more have been destroyed.

#pragma once

#include <atomic>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <utility>

namespace lanewise::verbs::abi {

inline constexpr std::size_t quarantine_slots = 256;

// Held over fork, so that a child finds it free.
inline std::mutex& handle_pool_lock() {
    static auto *lock = new std::mutex;
    return *lock;
}

template <typename Object>
class HandlePool {
  public:
    struct Destroy {
        void operator()(Object *object) const { HandlePool::destroy(object); }
    };
    using Owner = std::unique_ptr<Object, Destroy>;

    template <typename... Values>
    static Owner make(Values&&...values) {
        Slot *slot = take();
        auto *object = new (slot->place) Object{std::forward<Values>(values)...};
        slot->occupied.store(true, std::memory_order_release);
        living().fetch_add(1, std::memory_order_relaxed);
        return Owner(object);
    }

    static bool lives(const Object *object) {
        return object && slot_of(object)->occupied.load(std::memory_order_acquire);
    }

    static void destroy(Object *object) {
        Slot *slot = slot_of(object);
        slot->occupied.store(false, std::memory_order_release);
        living().fetch_sub(1, std::memory_order_relaxed);
        object->~Object();
        const std::lock_guard guard(handle_pool_lock());
        quarantine().push_back(slot);
    }

    // How many live.
    static std::size_t count() { return living().load(std::memory_order_relaxed); }

  private:
    static std::atomic<std::size_t>& living() {
        static std::atomic<std::size_t> number{0};
        return number;
    }

    struct Slot {
        alignas(Object) std::byte place[sizeof(Object)]{};
        std::atomic<bool> occupied{false};
    };

    static Slot *slot_of(const Object *object) {
        return reinterpret_cast<Slot *>(const_cast<Object *>(object));
    }

    static Slot *take() {
        const std::lock_guard guard(handle_pool_lock());
        if (quarantine().size() <= quarantine_slots) return new Slot;
        Slot *slot = quarantine().front();
        quarantine().pop_front();
        return slot;
    }

    // Never destroyed: a program may use handles until its very end.
    static std::deque<Slot *>& quarantine() {
        static auto *slots = new std::deque<Slot *>;
        return *slots;
    }
};

}  // namespace lanewise::verbs::abi
