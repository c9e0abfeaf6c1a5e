// A device with so much memory, for tests of managed memory: what is not on it is lost unless somebody copied
// it, and what is used without being there ends the test.
#pragma once

#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "hw/live/memory/memory_driver.hpp"

namespace gangway::live::testing {

class FakeMemory : public MemoryDriver {
 public:
  explicit FakeMemory(std::uint64_t capacity) : capacity_(capacity) {}

  // One word stands for each 64 KiB.
  static constexpr std::uint64_t kWord = 64 << 10;
  std::uint64_t& word(std::uint64_t address) {
    const auto after = mapped_.upper_bound(address);
    if (after == mapped_.begin()) throw std::logic_error("nothing is mapped there");
    const auto& [start, mapping] = *std::prev(after);
    if (address - start >= mapping.size) throw std::logic_error("nothing is mapped there");
    if (!mapping.allowed) throw std::logic_error("it may not be used");
    return (*memory_.at(mapping.handle))[(mapping.offset + address - start) / kWord];
  }

  int create(std::uint64_t size, const Properties&, bool shareable, std::uint64_t& handle) override {
    ++calls["create"];
    meanwhile();
    if (fails("create")) return 999;
    if (used_ + size > capacity_) {
      ++exceeded;
      return kNoMemory;
    }
    used_ += size;
    handle = ++last_;
    memory_[handle] = std::make_shared<Words>(size / kWord, 0xDEADDEADDEADDEAD);
    if (shareable) shareable_.insert(handle);
    return kSuccess;
  }
  // As the driver: what was adopted cannot be shared again.
  int share(std::uint64_t handle, int& file) override {
    ++calls["share"];
    if (fails("share") || shareable_.count(handle) == 0) return 1;
    file = memfd_create("shared", MFD_CLOEXEC);
    shared()[inode(file)] = memory_.at(handle);
    return kSuccess;
  }
  int adopt(int file, std::uint64_t& handle) override {
    ++calls["adopt"];
    const auto found = shared().find(inode(file));
    if (fails("adopt") || found == shared().end()) return 999;
    const std::uint64_t size = found->second->size() * kWord;
    if (used_ + size > capacity_) ++exceeded;
    used_ += size;
    handle = ++last_;
    memory_[handle] = found->second;
    return kSuccess;
  }
  int release(std::uint64_t handle) override {
    meanwhile();
    const auto found = memory_.find(handle);
    if (found == memory_.end()) throw std::logic_error("released twice");
    for (const auto& [at, mapping] : mapped_)
      if (mapping.handle == handle) throw std::logic_error("released while it is mapped");
    used_ -= found->second->size() * kWord;
    memory_.erase(found);
    shareable_.erase(handle);
    return kSuccess;
  }
  int reserve(std::uint64_t size, std::uint64_t& address) override {
    address = next_;
    next_ += size;
    return kSuccess;
  }
  int give_back(std::uint64_t, std::uint64_t) override { return kSuccess; }
  int map(std::uint64_t address, std::uint64_t size, std::uint64_t offset, std::uint64_t handle) override {
    ++calls["map"];
    meanwhile();
    if (fails("map")) return 999;
    const auto after = mapped_.lower_bound(address);
    if (after != mapped_.end() && after->first < address + size) throw std::logic_error("mapped twice");
    mapped_[address] = {size, offset, handle, false};
    return kSuccess;
  }
  int unmap(std::uint64_t address, std::uint64_t size) override {
    meanwhile();
    const auto found = mapped_.find(address);
    if (found == mapped_.end() || found->second.size != size) throw std::logic_error("unmapped twice");
    mapped_.erase(found);
    return kSuccess;
  }
  int allow(std::uint64_t address, std::uint64_t size, const std::vector<Access>&) override {
    ++calls["allow"];
    meanwhile();
    if (fails("allow")) return 999;
    for (auto at = mapped_.lower_bound(address); at != mapped_.end() && at->first < address + size; ++at)
      at->second.allowed = true;
    return kSuccess;
  }
  int info(std::uint64_t& free, std::uint64_t& total) override {
    free = capacity_ - used_;
    total = capacity_;
    return kSuccess;
  }
  int enter(std::uint64_t context) override {
    if (context == 0) return 201;
    entered = context;
    return kSuccess;
  }
  void forget(std::uint64_t context) override {
    if (entered == context) entered = 0;
  }
  int pin(void* host, std::uint64_t size) override {
    if (fails("pin")) return kNoMemory;
    pinned[host] = size;
    largest_pinned = std::max(largest_pinned, size);
    return kSuccess;
  }
  int unpin(void* host) override {
    if (pinned.erase(host) == 0) throw std::logic_error("unpinned twice");
    return kSuccess;
  }
  int copy(Way way, void* host, std::uint64_t device, std::uint64_t size, unsigned lane) override {
    if (fails("copy")) return 719;
    largest_copy = std::max(largest_copy, size);
    copies_[way == Way::out ? 0 : 1][lane] = {host, device, size};
    std::exchange(at_copy, [] {})();
    return kSuccess;
  }
  // It is made when somebody looks: nothing may have become of its memory by then.
  int copied(Way way, unsigned lane) override {
    Copy& copy = copies_[way == Way::out ? 0 : 1][lane];
    if (copy.size != 0 && fails("copied")) {
      copy = {};
      return 719;
    }
    for (std::uint64_t at = 0; at < copy.size; at += kWord) {
      char* host = static_cast<char*>(copy.host) + at / kWord * sizeof(std::uint64_t);
      if (way == Way::out)
        std::memcpy(host, &word(copy.device + at), sizeof(std::uint64_t));
      else
        std::memcpy(&word(copy.device + at), host, sizeof(std::uint64_t));
    }
    copy = {};
    return kSuccess;
  }

  // What another process writes into memory that was shared.
  static void spoil(int file) {
    for (std::uint64_t& word : *shared().at(inode(file))) word = 0xBADBADBADBADBAD;
  }
  // The call of that name that comes after so many others of it fails.
  void plant(const char* call, int after) { fault_ = call, left_ = after; }
  std::uint64_t used() const { return used_; }
  int exceeded = 0;
  std::function<void()> meanwhile = [] {};  // in each call that changes what is there
  std::function<void()> at_copy = [] {};    // when the next copy has begun
  std::map<std::string, int> calls;
  std::map<void*, std::uint64_t> pinned;
  std::uint64_t largest_copy = 0, largest_pinned = 0, entered = 0;

 private:
  struct Mapping {
    std::uint64_t size = 0, offset = 0, handle = 0;
    bool allowed = false;
  };
  struct Copy {
    void* host = nullptr;
    std::uint64_t device = 0, size = 0;
  };
  bool fails(const char* call) {
    if (fault_ == nullptr || std::strcmp(fault_, call) != 0 || left_-- > 0) return false;
    fault_ = nullptr;
    return true;
  }

  std::uint64_t capacity_, used_ = 0, last_ = 0, next_ = std::uint64_t{1} << 40;
  using Words = std::vector<std::uint64_t>;
  static ino_t inode(int file) {
    struct stat facts {};
    return fstat(file, &facts) == 0 ? facts.st_ino : 0;
  }
  static std::map<ino_t, std::shared_ptr<Words>>& shared() {
    static std::map<ino_t, std::shared_ptr<Words>> all;
    return all;
  }

  std::map<std::uint64_t, std::shared_ptr<Words>> memory_;
  std::set<std::uint64_t> shareable_;
  std::map<std::uint64_t, Mapping> mapped_;
  Copy copies_[2][kLanes];
  const char* fault_ = nullptr;
  int left_ = 0;
};

}  // namespace gangway::live::testing
