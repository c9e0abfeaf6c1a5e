// A client of the keeper that does what a test says.
#pragma once

#include "hw/live/memory/keeper.hpp"

namespace gangway::live::testing {

inline constexpr std::uint64_t kKeptMiB = 1 << 20;

struct KeptFake : KeptClient {
  void let_in(std::uint32_t allowed) override {
    let = allowed;
    if (submits_when_closed && allowed == 0) ++standing.submissions;
  }
  Standing look() override { return standing; }
  Memory memory() const override {
    if (pins == Pins::later && seen.host < told_host && ++looks_at_host % 8 == 0) seen.host += kKeptMiB;
    return seen;
  }
  void order(Goal g, std::uint32_t n) override { goal = g, number = n; }
  void budget(std::uint64_t bytes) override { budgeted = bytes; }
  void available(std::uint64_t) override {}
  void host(std::uint64_t bytes) override {
    told_host = bytes;
    if (pins == Pins::at_once) seen.host = bytes;
    if (pins == Pins::never) seen.no_host = true;
  }
  void refuse(std::uint64_t) override { refused = true; }
  void not_yet(std::uint64_t) override {}
  bool stopped() override { return is_stopped; }

  // It holds so many bytes, and sees so many free ones.
  void holds(std::uint64_t bytes) { seen.claimed = seen.movable = bytes; }
  void looks(std::uint64_t free, std::uint64_t total) {
    seen.free = free;
    seen.total = total;
    seen.held = seen.claimed;
    ++seen.looks;
  }
  void carries_out() {
    seen.away = goal == Goal::away ? seen.movable : 0;
    seen.claimed = seen.movable - seen.away;
    seen.done = number;
  }

  enum class Pins { at_once, later, never } pins = Pins::at_once;
  mutable Memory seen;
  mutable int looks_at_host = 0;
  Standing standing;
  std::uint32_t let = 0, number = 0;
  std::uint64_t budgeted = 0, told_host = 0;
  Goal goal = Goal::here;
  bool refused = false, is_stopped = false, submits_when_closed = false;
};

inline MemorySettings managed() {
  MemorySettings settings;
  settings.managed = true;
  settings.spare = 0;
  return settings;
}

}  // namespace gangway::live::testing
