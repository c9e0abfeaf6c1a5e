#include "hw/host/host_copies.hpp"

#include <algorithm>
#include <cstring>

namespace gangway {
namespace {
constexpr std::int64_t kCopyChunk = 1 << 20;
}

void HostCopies::abandon() {
  for (Line& line : lines_) line.abandon();
}

HostCopies::Line::Line() : from_(kCopyChunk, 1), to_(kCopyChunk), thread_([this] { work(); }) {}

HostCopies::Line::~Line() {
  quit_ = true;
  asked_.fetch_add(1, std::memory_order_release);
  asked_.notify_all();
  thread_.join();
}

void HostCopies::Line::ask(Bytes size) {
  size_ = size.count;
  abandoned_.store(false, std::memory_order_relaxed);
  asked_.fetch_add(1, std::memory_order_release);
  asked_.notify_all();
}

void HostCopies::Line::work() {
  for (std::uint32_t last = 0;;) {
    asked_.wait(last, std::memory_order_acquire);
    ++last;
    if (quit_) return;
    for (std::int64_t left = size_; left > 0 && !abandoned_.load(std::memory_order_relaxed);
         left -= kCopyChunk)
      std::memcpy(to_.data(), from_.data(), static_cast<std::size_t>(std::min(left, kCopyChunk)));
    done_.store(last, std::memory_order_release);
  }
}

}  // namespace gangway
