// A process with a gate, and a driver and a daemon that the tests play.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <thread>

#include "hw/live/gate.hpp"
#include "tests/hw/live/fake_driver.hpp"

namespace gangway::live::testing {

// Pages outlive the threads that used them, as in a program.
inline FakeSource* new_source() {
  static std::deque<FakeSource> all;
  return &all.emplace_back();
}

struct Process {
  FakeDriver driver;
  FakeSource* source = new_source();
  Gate gate{driver, *source};
  const StreamName stream{0x1000, 0};

  void submit(const StreamName& to, bool success = true) {
    const Submission submission{&to, false};
    const Pass pass = gate.enter(submission);
    if (success) driver.submit(to);
    gate.leave(pass, submission, success);
  }
  ClientPage& page() { return source->client; }
  void permit(std::uint32_t allowed) { source->permit.allowed.store(allowed); }
};

template <typename Condition>
bool soon_within(std::chrono::milliseconds limit, Condition condition) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::yield();
  }
  return true;
}

template <typename Condition>
bool soon(Condition condition) {
  return soon_within(std::chrono::seconds(30), condition);
}

}  // namespace gangway::live::testing
