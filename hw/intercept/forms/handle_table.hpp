// What the driver's handles mean to us: an open hash table that any thread reads without a lock.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

namespace gangway::intercept {

// find() may run at any time; of the others, one at a time. A program must not use a handle while it destroys
// what that stands for. In case it does, the last `kKeptGone` meanings that were removed still exist.
template <class Value>
class HandleTable {
 public:
  using Meaning = std::shared_ptr<Value>;

  // Null: the handle means nothing.
  Meaning find(const void* handle) const {
    const Table* const table = table_.load(std::memory_order_acquire);
    if (table == nullptr) return nullptr;
    const Slot& place = table->slots[at(*table, handle)];
    const Meaning* const meaning = place.meaning.load(std::memory_order_acquire);
    return meaning == nullptr || place.handle.load(std::memory_order_acquire) != handle ? nullptr : *meaning;
  }

  // Null removes it.
  void put(void* handle, Meaning meaning) {
    remove(handle);
    if (meaning == nullptr) return;
    if (tables_.empty() || tables_.back()->used * 2 > tables_.back()->slots.size()) grow();
    place(*tables_.back(), handle, new Meaning(std::move(meaning)));
  }

  void remove(const void* handle) {
    if (tables_.empty()) return;
    Table& table = *tables_.back();
    const std::size_t its = at(table, handle);
    const Meaning* const meaning = table.slots[its].meaning.exchange(nullptr);
    if (meaning == nullptr) return;
    gone_.emplace_back(meaning);
    if (gone_.size() > kKeptGone) gone_.pop_front();
    tidy(table, its);
  }

  // Places that hold a handle, or held one and cannot be freed yet; and how many there are.
  std::size_t used() const { return tables_.empty() ? 0 : tables_.back()->used; }
  std::size_t places() const { return tables_.empty() ? 0 : tables_.back()->slots.size(); }

  HandleTable() = default;
  HandleTable(const HandleTable&) = delete;
  HandleTable& operator=(const HandleTable&) = delete;
  ~HandleTable() {
    if (tables_.empty()) return;
    for (Slot& slot : tables_.back()->slots) delete slot.meaning.load();
  }

  static constexpr std::size_t kKeptGone = 1024;

 private:
  static constexpr std::size_t kFirstPlaces = 1024;

  // Without a meaning, its handle is one that was removed, and only leads to those behind it.
  struct Slot {
    std::atomic<void*> handle{nullptr};
    std::atomic<const Meaning*> meaning{nullptr};
  };
  struct Table {
    explicit Table(std::size_t size) : slots(size) {}
    std::size_t mask() const { return slots.size() - 1; }
    std::vector<Slot> slots;
    std::size_t used = 0;
  };

  static std::size_t begin(const Table& table, const void* handle) {
    return (reinterpret_cast<std::uintptr_t>(handle) >> 4) * 0x9E3779B97F4A7C15ULL >> 20 & table.mask();
  }

  // The handle's place, or the free one at which a search for it ends.
  static std::size_t at(const Table& table, const void* handle) {
    for (std::size_t i = begin(table, handle);; i = (i + 1) & table.mask()) {
      const void* const is = table.slots[i].handle.load(std::memory_order_acquire);
      if (is == handle || is == nullptr) return i;
    }
  }

  // The meaning comes first, as a search reads it after the handle.
  void place(Table& table, void* handle, const Meaning* meaning) {
    std::size_t its = at(table, handle);
    if (table.slots[its].handle.load() == nullptr) {
      its = begin(table, handle);
      while (table.slots[its].meaning.load() != nullptr) its = (its + 1) & table.mask();
    }
    Slot& slot = table.slots[its];
    if (slot.handle.load() == nullptr) ++table.used;
    slot.meaning.store(meaning, std::memory_order_release);
    slot.handle.store(handle, std::memory_order_release);
  }

  // Nothing lies behind a place whose next one is free.
  void tidy(Table& table, std::size_t from) {
    if (table.slots[(from + 1) & table.mask()].handle.load() != nullptr) return;
    for (std::size_t i = from;; i = (i - 1) & table.mask()) {
      Slot& slot = table.slots[i];
      if (slot.handle.load() == nullptr || slot.meaning.load() != nullptr) return;
      slot.handle.store(nullptr, std::memory_order_release);
      --table.used;
    }
  }

  void grow() {
    auto larger = std::make_unique<Table>(tables_.empty() ? kFirstPlaces : tables_.back()->slots.size() * 2);
    if (!tables_.empty())
      for (Slot& slot : tables_.back()->slots)
        if (const Meaning* const meaning = slot.meaning.load(); meaning != nullptr)
          place(*larger, slot.handle.load(), meaning);
    tables_.push_back(std::move(larger));
    table_.store(tables_.back().get(), std::memory_order_release);
  }

  std::vector<std::unique_ptr<Table>> tables_;  // the last is in use; threads may still read others
  std::deque<std::unique_ptr<const Meaning>> gone_;
  std::atomic<Table*> table_{nullptr};
};

}  // namespace gangway::intercept
