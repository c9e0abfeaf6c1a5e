// Pending events, ordered by (time, order of insertion).
//
// A 4-ary heap of packed 128-bit keys (time, sequence, id). Four siblings share a cache line. Slots after the
// last entry hold a key above all others, so the least child is found without branches. Removal moves the
// hole to a leaf before placing the last entry, which nearly always belongs there.
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
    std::uint64_t sequence = 0;  // unique within a queue's life
    std::uint32_t id = 0;
  };

  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }

  // Time of the first event. The queue must not be empty.
  Time next_time() const {
    const Key* const slots = slots_.get();
    assert(size_ > 0 && slots != nullptr);
    const Key* const root = slots + kRoot;
    return time_of(hole_ ? root[1 + least_of(root + 1)] : *root);  // the hole is kept for the next push
  }

  // time >= 0, id < 2^24. Returns the event's sequence number, from 1.
  std::uint64_t push(Time time, std::uint32_t id) {
    assert(time.ns >= 0 && id < (1u << kIdBits));
    if (kRoot + size_ + 8 > capacity_) grow();
    const std::uint64_t sequence = ++last_;
    const Key key =
        (static_cast<Key>(static_cast<std::uint64_t>(time.ns)) << 64) | (sequence << kIdBits) | id;
    ++size_;
    const std::size_t place = hole_ ? hole_to_leaf() : size_ - 1;
    hole_ = false;
    sift_up(place, key);
    return sequence;
  }

  // Removes and returns the first event. The queue must not be empty.
  Event pop() {
    if (hole_) fill_from_the_end();
    const Key first = slots_[kRoot];
    --size_;
    hole_ = true;
    const auto low = static_cast<std::uint64_t>(first);
    return {time_of(first), low >> kIdBits, static_cast<std::uint32_t>(low & ((1u << kIdBits) - 1))};
  }

  // Removes all events; sequence numbers continue.
  void clear() {
    for (std::size_t i = 0; i < size_ + (hole_ ? 1 : 0); ++i) slots_[kRoot + i] = kAboveAll;
    size_ = 0;
    hole_ = false;
  }

 private:
  __extension__ using Key = unsigned __int128;
  static constexpr Key kAboveAll = ~static_cast<Key>(0);
  static constexpr std::size_t kRoot = 3;  // aligns every group of four children to 64 bytes
  static constexpr std::size_t kLine = 64;
  static constexpr std::size_t kCached = 1 << 12;  // entries that stay in the first-level cache

  struct Free {
    void operator()(Key* p) const { ::operator delete[](p, std::align_val_t{kLine}); }
  };

  // b if the mask is all ones, a if it is zero.
  static std::uint64_t select(std::uint64_t a, std::uint64_t b, std::uint64_t mask) {
    return a ^ ((a ^ b) & mask);
  }
  static std::uint64_t mask_of(bool condition) { return -static_cast<std::uint64_t>(condition); }

  static std::uint64_t time_bits(Key key) { return static_cast<std::uint64_t>(key >> 64); }

  // The index of the least of four keys. The result is unpredictable, so a branch would be mispredicted.
  // Times decide alone; whole keys are compared only if times are equal.
  static std::uint64_t least_of(const Key* c) {
    const std::uint64_t t0 = time_bits(c[0]), t1 = time_bits(c[1]);
    const std::uint64_t t2 = time_bits(c[2]), t3 = time_bits(c[3]);
    const std::uint64_t second = t1 < t0, fourth = t3 < t2;
    const std::uint64_t front = second ? t1 : t0, back = fourth ? t3 : t2;
    if (__builtin_expect((t0 == t1) | (t2 == t3) | (front == back), 0)) return least_with_ties(c);
    return select(second, 2 + fourth, mask_of(back < front));
  }

  static std::uint64_t least_with_ties(const Key* c) {
    std::uint64_t least = 0;
    for (std::uint64_t i = 1; i < 4; ++i)
      if (c[i] < c[least]) least = i;
    return least;
  }

  static Time time_of(Key key) { return {static_cast<std::int64_t>(static_cast<std::uint64_t>(key >> 64))}; }

  // No push followed a pop: the last entry fills the hole.
  void fill_from_the_end() {
    const Key last = slots_[kRoot + size_];
    slots_[kRoot + size_] = kAboveAll;
    hole_ = false;
    if (size_ > 0) sift_up(hole_to_leaf(), last);
  }

  // Moves the hole from the root down along the least children; returns its leaf.
  std::size_t hole_to_leaf() {
    Key* const base = slots_.get() + kRoot;
    std::size_t hole = 0;
    for (std::size_t child = 1; child < size_;) {
      const Key* c = base + child;
      if (size_ > kCached)  // prefetch the grandchildren before the child is known
        for (std::size_t i = 0; i < 4; ++i) __builtin_prefetch(base + 4 * (child + i) + 1);
      const std::uint64_t least = least_of(c);
      base[hole] = c[least];
      hole = child + least;
      child = (4 * child + 1) + 4 * least;
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
    for (std::size_t i = 0; i < larger; ++i) slots[i] = i < capacity_ ? slots_[i] : kAboveAll;
    slots_ = std::move(slots);
    capacity_ = larger;
  }

  std::unique_ptr<Key[], Free> slots_;
  std::size_t capacity_ = 0;
  std::size_t size_ = 0;
  bool hole_ = false;  // the root was popped; the next push usually fills it
  std::uint64_t last_ = 0;
};

}  // namespace gangway
