// A driver and a daemon for one gate, in this process: work is over when a test says so.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <set>

#include "hw/live/gate.hpp"

namespace gangway::live::testing {

class FakeDriver : public Driver {
 public:
  // What a test's thread does between enter() and leave().
  void submit(const StreamName& stream) {
    const std::lock_guard lock(mutex_);
    ++submitted_[stream.handle];
  }
  void finish(const StreamName& stream, std::uint64_t count = UINT64_MAX) {
    const std::lock_guard lock(mutex_);
    std::uint64_t& over = over_[stream.handle];
    over = count == UINT64_MAX ? submitted_[stream.handle] : over + count;
  }
  void set_capturing(const StreamName& stream, bool capturing) {
    const std::lock_guard lock(mutex_);
    if (capturing)
      capturing_.insert(stream.handle);
    else
      capturing_.erase(stream.handle);
  }
  std::uint64_t queries_of_capturing() const { return harmful_; }
  std::uint64_t in_flight() {
    const std::lock_guard lock(mutex_);
    std::uint64_t sum = 0;
    for (const auto& [stream, count] : submitted_) sum += count - over_[stream];
    return sum;
  }

  bool capturing(const StreamName& stream) override {
    const std::lock_guard lock(mutex_);
    return capturing_.count(stream.handle) != 0;
  }
  std::uint64_t context(const StreamName&) override { return 1; }
  bool idle(const StreamName& stream) override {
    const std::lock_guard lock(mutex_);
    if (capturing_.count(stream.handle) != 0) ++harmful_;
    return over_[stream.handle] >= submitted_[stream.handle];
  }
  bool record(const StreamName& stream, Event& event) override {
    const std::lock_guard lock(mutex_);
    ++marks;
    if (event == nullptr) event = &events_.emplace_back();
    *static_cast<Recorded*>(event) = {stream.handle, submitted_[stream.handle]};
    return true;
  }
  std::atomic<int> marks{0};  // events recorded
  void destroy(Event) override {}
  bool reached(Event event, bool) override {
    const std::lock_guard lock(mutex_);
    const auto& recorded = *static_cast<Recorded*>(event);
    return over_[recorded.stream] >= recorded.count;
  }

 private:
  struct Recorded {
    std::uint64_t stream = 0, count = 0;
  };
  std::mutex mutex_;
  std::map<std::uint64_t, std::uint64_t> submitted_, over_;
  std::set<std::uint64_t> capturing_;
  std::deque<Recorded> events_;
  std::atomic<std::uint64_t> harmful_{0};
};

class FakeSource : public Source {
 public:
  Pages open() override {
    ++opened;
    return {&permit, &client};
  }
  void ring() override { ++rings; }
  int passing() const override { return channel; }

  PermitPage permit{};
  ClientPage client{};
  std::atomic<int> opened{0}, rings{0};
  int channel = -1;
};

}  // namespace gangway::live::testing
