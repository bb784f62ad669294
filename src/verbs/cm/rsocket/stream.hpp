// SPDX-License-Identifier: BSD-3-Clause
//
// A byte stream over a reliable connection: what stands behind a descriptor of rsocket(7). Both
// ends keep receives posted. A receive is posted again when its bytes have been read, or put aside
// in a call of the program, since many small messages would use them up; who sends to a reader that
// is behind is held up by the device, which tries again until there is room (RNR retry without
// limit). So the stream needs no credits of its own.
//
// Messages carry bytes; one with an immediate datum says something about the stream: that no more
// bytes come, or where the peer has mapped memory that may be written directly (riomap).

#pragma once

#include <rdma/rdma_cma.h>
#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

namespace lanewise::verbs::cm {

class Stream {
  public:
    static constexpr std::uint32_t send_slots = 32;
    static constexpr std::uint32_t receive_slots = 64;
    static constexpr std::size_t slot_bytes = 16384;
    static constexpr int send_buffer_bytes = send_slots * slot_bytes;
    static constexpr int receive_buffer_bytes = receive_slots * slot_bytes;

    // Null with errno.
    static std::shared_ptr<Stream> make();
    ~Stream();
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;

    // The number by which the program knows it.
    int descriptor() const { return channel_->fd; }
    // Whether this process has only a copy of it.
    bool is_of_parent() const { return process_ != getpid(); }

    // These return 0 or -1 with errno, as the calls of socket(7) do.
    int bind(const sockaddr *address);
    int listen(int backlog);
    int connect(const sockaddr *address);
    std::shared_ptr<Stream> accept();
    int shut_down(int how);
    // Sends what is left and ends the connection, unless the peer takes none of it for so long.
    bool close(std::chrono::milliseconds idle_max);
    // The same without waiting for the peer; false where something is left. A thread that never
    // goes on may be in a call: then there is nothing to be done.
    bool close_at_exit();

    ssize_t send(std::span<const std::byte> bytes, int flags);
    ssize_t receive(std::span<std::byte> into, int flags);

    // Memory that the peer may write to, at an offset of the program's choice; -1 with errno.
    off_t map(void *memory, std::size_t bytes, bool writable, off_t offset);
    int unmap(const void *memory, std::size_t bytes);
    // Writes to what the peer has mapped there: how much of it, or -1 with errno.
    ssize_t write_mapped(std::span<const std::byte> bytes, off_t offset, int flags);

    // POLLIN, POLLOUT, POLLHUP and POLLERR as they are now.
    short events();
    // Makes its descriptors readable when there is news; then says which they are.
    std::vector<int> arm();
    // Empties the descriptor of completions.
    void disarm();

    bool non_blocking = false;
    const sockaddr *local_address() const { return &id_->route.addr.src_addr; }
    const sockaddr *peer_address() const { return &id_->route.addr.dst_addr; }
    bool is_connected();
    // Whether a peer that says nothing for a while is asked whether it is there, as long as the
    // program waits for something.
    void keep_alive(bool on) { keeps_alive_ = on; }
    void keep_alive_after(std::chrono::seconds silence) { silence_max_ = silence; }
    bool is_kept_alive() const { return keeps_alive_; }
    int keep_alive_s() const { return static_cast<int>(silence_max_.load().count()); }
    // What went wrong since it was last asked, as SO_ERROR says it.
    int take_error();

  private:
    enum class State : std::uint8_t { fresh, listening, connecting, connected, over };
    struct Arrived {
        std::uint32_t slot = 0;
        std::size_t bytes = 0;
        std::size_t read = 0;
    };
    // Bytes that have left their slots, in order.
    class Aside {
      public:
        std::size_t size() const { return bytes_.size() - read_; }
        void add(std::span<const std::byte> bytes);
        std::size_t copy_out(std::span<std::byte> into) const;
        void drop(std::size_t count);
        void clear() { drop(size()); }

      private:
        std::vector<std::byte> bytes_;
        std::size_t read_ = 0;
    };
    // As it goes over the wire between hosts of one byte order.
    struct Mapping {
        std::int64_t offset = 0;
        std::uint64_t address = 0;
        std::uint64_t bytes = 0;
        std::uint32_t rkey = 0;
        std::uint32_t unused = 0;
    };

    Stream() = default;
    bool make_queue_pair();
    void let_peer_try_soon();
    bool has_unread() const { return aside_.size() > 0 || !arrived_.empty(); }
    void put_aside();
    void drop_arrived();
    void say_end();
    void ask_if_there();
    void end_sending();
    bool drain(std::unique_lock<std::mutex>& guard, std::chrono::milliseconds idle_max);
    bool drain_and_leave(std::unique_lock<std::mutex>& guard, std::chrono::milliseconds idle_max);
    bool post_receive(std::uint32_t slot);
    bool post(std::uint32_t slot, std::size_t bytes, std::optional<std::uint32_t> about);
    bool post(ibv_send_wr& work, std::uint32_t slot);
    std::size_t post_write(std::uint32_t slot, const Mapping& to, off_t at,
                           std::span<const std::byte> bytes);
    const Mapping *mapping_at(off_t at) const;
    bool announce(std::unique_lock<std::mutex>& guard, const Mapping& mapping);
    std::optional<std::uint32_t> free_slot() const;
    int await_event(rdma_cm_event_type wanted);
    void progress();
    void take_events();
    void take_event(const rdma_cm_event& event);
    void take_completions();
    void take_received(const ibv_wc& completion);
    void fail(int error);
    // Waits until something may have changed; the lock is free meanwhile.
    void wait(std::unique_lock<std::mutex>& guard);
    std::byte *send_slot(std::uint32_t slot) { return memory_.data() + slot * slot_bytes; }
    std::byte *receive_slot(std::uint32_t slot);
    std::size_t copy_out(std::span<std::byte> into, bool keeps);
    std::optional<ssize_t> refusal_to_send() const;

    pid_t process_ = getpid();
    std::mutex lock_;
    State state_ = State::fresh;
    rdma_event_channel *channel_ = nullptr;
    rdma_cm_id *id_ = nullptr;
    ibv_comp_channel *completions_ = nullptr;
    ibv_cq *queue_ = nullptr;
    ibv_mr *region_ = nullptr;
    std::vector<std::byte> memory_;
    std::vector<std::uint32_t> free_;
    std::uint32_t sends_in_flight_ = 0;
    // What has arrived and was not read: first these bytes, then those still in slots.
    Aside aside_;
    std::deque<Arrived> arrived_;
    std::size_t arrived_bytes_ = 0;  // of the slots
    std::uint64_t completions_taken_ = 0;
    bool peer_is_done_ = false;
    bool peer_has_left_ = false;
    bool is_connecting_ = false;  // a call of connect has not returned yet what came of it
    bool is_done_ = false;        // with sending
    bool is_end_due_ = false;     // which the peer has to be told yet
    bool reading_is_over_ = false;
    std::atomic<bool> keeps_alive_ = false;
    std::atomic<std::chrono::seconds> silence_max_{std::chrono::hours(2)};  // as tcp(7)
    std::chrono::steady_clock::time_point heard_;
    int error_ = 0;
    std::map<off_t, Mapping> of_peer_;
    std::map<const void *, std::pair<Mapping, ibv_mr *>> mapped_;
};

}  // namespace lanewise::verbs::cm
