// The pending events of a simulation, ordered by (time, order of insertion).
//
// A 4-ary heap of packed 128-bit keys (time, sequence, id). The four children of a node share a cache line,
// the slots behind the last entry hold a key above all others, so the least child is found without branches,
// and removal moves the hole to a leaf before it looks at the entry that fills it (it nearly always belongs
// there).
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>

#include "models/quantity.hpp"

namespace gangway {

class EventQueue {
 public:
  static constexpr std::uint32_t kIdBits = 24;

  struct Event {
    Time time;
    std::uint64_t sequence;  // never repeats in a queue's life
    std::uint32_t id;
  };

  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  Time next_time() const {
    return {static_cast<std::int64_t>(static_cast<std::uint64_t>(slots_[kRoot] >> 64))};
  }

  // time >= 0, id < 2^24. Returns the event's sequence number, from 1.
  std::uint64_t push(Time time, std::uint32_t id) {
    assert(time.ns >= 0 && id < (1u << kIdBits));
    if (kRoot + size_ + 8 > capacity_) grow();
    const std::uint64_t sequence = ++last_;
    const Key key =
        (static_cast<Key>(static_cast<std::uint64_t>(time.ns)) << 64) | (sequence << kIdBits) | id;
    sift_up(size_++, key);
    return sequence;
  }

  // The first event, removed. The queue must not be empty.
  Event pop() {
    const Key first = slots_[kRoot];
    --size_;
    const Key last = slots_[kRoot + size_];
    slots_[kRoot + size_] = kAboveAll;
    if (size_ > 0) sift_up(hole_to_leaf(), last);
    const auto low = static_cast<std::uint64_t>(first);
    return {{static_cast<std::int64_t>(static_cast<std::uint64_t>(first >> 64))},
            low >> kIdBits,
            static_cast<std::uint32_t>(low & ((1u << kIdBits) - 1))};
  }

  // Forgets all events; sequence numbers go on.
  void clear() {
    for (std::size_t i = 0; i < size_; ++i) slots_[kRoot + i] = kAboveAll;
    size_ = 0;
  }

 private:
  __extension__ using Key = unsigned __int128;
  static constexpr Key kAboveAll = ~static_cast<Key>(0);
  static constexpr std::size_t kRoot = 3;  // puts every group of four children on a 64-byte boundary
  static constexpr std::size_t kLine = 64;

  struct Free {
    void operator()(Key* p) const { ::operator delete[](p, std::align_val_t{kLine}); }
  };

  // Moves the hole at the root down along the least children; returns the leaf it ends at.
  std::size_t hole_to_leaf() {
    Key* const base = slots_.get() + kRoot;
    std::size_t hole = 0;
    for (std::size_t child = 1; child < size_; child = 4 * hole + 1) {
      const Key* c = base + child;
      const std::size_t a = c[1] < c[0] ? 1 : 0;
      const std::size_t b = c[3] < c[2] ? 3 : 2;
      const std::size_t least = c[b] < c[a] ? b : a;
      base[hole] = c[least];
      hole = child + least;
    }
    return hole;
  }

  void sift_up(std::size_t hole, Key key) {
    Key* const base = slots_.get() + kRoot;
    while (hole > 0) {
      const std::size_t parent = (hole - 1) / 4;
      if (base[parent] < key) break;
      base[hole] = base[parent];
      hole = parent;
    }
    base[hole] = key;
  }

  void grow() {
    const std::size_t larger = capacity_ == 0 ? 64 : 2 * capacity_;
    std::unique_ptr<Key[], Free> slots(
        static_cast<Key*>(::operator new[](larger * sizeof(Key), std::align_val_t{kLine})));
    for (std::size_t i = 0; i < larger; ++i)
      slots[i] = i >= kRoot && i < kRoot + size_ ? slots_[i] : kAboveAll;
    slots_ = std::move(slots);
    capacity_ = larger;
  }

  std::unique_ptr<Key[], Free> slots_;
  std::size_t capacity_ = 0;
  std::size_t size_ = 0;
  std::uint64_t last_ = 0;
};

}  // namespace gangway
