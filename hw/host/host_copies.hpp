// Copies of clients' data on CPU cores: memory to memory, one thread per direction.
#pragma once

#include <atomic>
#include <thread>
#include <vector>

#include "hw/real_device.hpp"

namespace gangway {

class HostCopies : public DeviceCopies {
 public:
  void copy(CopyDirection direction, Bytes size) override { line(direction).ask(size); }
  bool copied(CopyDirection direction) override { return line(direction).done(); }

  // Skips the rest of current copies; done() follows soon.
  void abandon();
  bool done() const { return lines_[0].done() && lines_[1].done(); }

 private:
  class Line {
   public:
    Line();
    ~Line();
    void ask(Bytes size);
    void abandon() { abandoned_.store(true, std::memory_order_relaxed); }
    bool done() const {
      return asked_.load(std::memory_order_relaxed) == done_.load(std::memory_order_acquire);
    }

   private:
    void work();
    std::int64_t size_ = 0;
    std::atomic<std::uint32_t> asked_ = 0, done_ = 0;
    std::atomic<bool> abandoned_ = false;
    bool quit_ = false;
    std::vector<char> from_, to_;
    std::thread thread_;
  };
  Line& line(CopyDirection direction) { return lines_[direction == CopyDirection::to_device ? 0 : 1]; }

  Line lines_[2];
};

}  // namespace gangway
