#include "tests/ptx/interpreter/schedule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace gangway::testing::ptx {
namespace {

constexpr std::uint32_t kStretch = 4096;  // instructions of a thread that spins

// The pattern of what has not been written.
void dirty(std::vector<std::byte>& bytes, std::uint64_t seed) {
  for (std::size_t at = 0; at < bytes.size(); at += 8) {
    const std::uint64_t word = mixed(seed + at);
    for (std::size_t k = 0; k < 8 && at + k < bytes.size(); ++k)
      bytes[at + k] = static_cast<std::byte>(word >> (8 * k));
  }
}

class Player {
 public:
  Player(Machine& m, const Code& entry) : m_(m), entry_(entry), schedule_(m.launch->schedule) {}

  Outcome play() {
    Outcome outcome;
    try {
      outcome.ending = all_blocks();
      if (outcome.ending == Ending::hangs) outcome.message = waiting();
      if (outcome.ending == Ending::aborted) outcome.message = "aborted";
    } catch (const Fault& fault) {
      outcome.ending = Ending::fault;
      outcome.message = fault.text;
      if (at_ != nullptr && at_->position < at_->code->instructions.size()) {
        const Instruction& i = at_->code->instructions[at_->position];
        outcome.message = fmt::format("line {}: {}: block {}, thread {}: {}", i.line, i.text,
                                      at_->block->linear, at_->linear, fault.text);
      }
    }
    outcome.instructions = m_.executed;
    return outcome;
  }

 private:
  Ending all_blocks() {
    m_.blocks = m_.launch->grid.count();
    if (!schedule_.blocks_in_order) {
      order_.resize(m_.blocks);
      std::iota(order_.begin(), order_.end(), std::uint64_t{0});
      for (std::size_t k = order_.size(); k > 1; --k) std::swap(order_[k - 1], order_[m_.random() % k]);
    }
    const auto resident = std::max<std::uint64_t>(1, std::min<std::uint64_t>(schedule_.resident, m_.blocks));
    for (std::uint64_t k = 0; k < resident; ++k) {
      resident_.push_back(std::make_unique<Block>());
      start_next(*resident_.back());
    }
    while (!resident_.empty()) {
      const Ending ending = turn();
      if (ending != Ending::done) return ending;
    }
    events();
    return Ending::done;
  }

  void start_next(Block& block) {
    const std::uint64_t linear = order_.empty() ? next_ : order_[next_];
    ++next_;
    const Extent& grid = m_.launch->grid;
    block.linear = linear;
    block.x = static_cast<std::uint32_t>(linear % grid.x);
    block.y = static_cast<std::uint32_t>(linear / grid.x % grid.y);
    block.z = static_cast<std::uint32_t>(linear / grid.x / grid.y);
    block.shared.resize(m_.layout->dynamic_offset + m_.launch->dynamic_shared_bytes);
    const std::uint64_t seed = mixed(schedule_.seed + mixed(linear + 1));
    if (m_.launch->dirty)
      dirty(block.shared, seed);
    else
      std::fill(block.shared.begin(), block.shared.end(), std::byte{});
    const Extent& shape = m_.launch->block;
    const auto count = static_cast<std::uint32_t>(shape.count());
    block.threads.resize(count);
    block.exited.assign((count + kWarp - 1) / kWarp, 0);
    if (count % kWarp != 0) block.exited.back() = ~static_cast<std::uint32_t>(mask_of(count % kWarp));
    for (BarrierState& barrier : block.barriers) {
      barrier.in_use = false;
      barrier.trues = 0;
      barrier.arrived.clear();
    }
    block.alive = block.runnable = count;
    block.turn = block.current = 0;
    block.stretch = 0;
    for (std::uint32_t k = 0; k < count; ++k) start(block, block.threads[k], k, mixed(seed + k));
  }

  void start(Block& block, Thread& t, std::uint32_t linear, std::uint64_t seed) {
    const Extent& shape = m_.launch->block;
    t.block = &block;
    t.linear = linear;
    t.x = linear % shape.x;
    t.y = linear / shape.x % shape.y;
    t.z = linear / shape.x / shape.y;
    t.state = Thread::State::runs;
    t.carry = false;
    t.copy_group = 0;
    t.copies.clear();
    t.registers.assign(entry_.registers, 0);
    t.memory.assign(entry_.frame_bytes, std::byte{});
    if (m_.launch->dirty) {
      for (std::size_t r = 0; r < t.registers.size(); ++r) t.registers[r] = mixed(seed + r) & 0xFFFF;
      dirty(t.memory, seed);
    }
    t.frames.assign(1, {&entry_, 0, 0, 0, nullptr});
    t.r = t.registers.data();
    t.code = &entry_;
    t.position = 0;
    t.frame_memory = 0;
  }

  void events() {
    while (event_ < m_.launch->events.size() && m_.launch->events[event_].at <= m_.executed)
      m_.launch->events[event_++].act();
  }

  // Some instructions of some block.
  Ending turn() {
    events();
    if (m_.executed >= m_.launch->budget) return Ending::hangs;
    if (m_.launch->abort != nullptr && m_.launch->abort->load(std::memory_order_relaxed))
      return Ending::aborted;
    const std::size_t first = resident_.size() > 1 ? m_.random() % resident_.size() : 0;
    std::size_t chosen = first;
    while (resident_[chosen]->runnable == 0) {
      chosen = (chosen + 1) % resident_.size();
      if (chosen == first) return Ending::hangs;
    }
    Block& block = *resident_[chosen];
    std::uint64_t most = resident_.size() > 1 ? 1 + m_.random() % 200 : kStretch;
    if (event_ < m_.launch->events.size()) most = std::min(most, m_.launch->events[event_].at - m_.executed);
    some_of(block, most);
    if (block.alive == 0) {
      if (next_ < m_.blocks)
        start_next(block);
      else
        resident_.erase(resident_.begin() + static_cast<std::ptrdiff_t>(chosen));
    }
    return Ending::done;
  }

  void some_of(Block& block, std::uint64_t most) {
    while (most > 0 && block.runnable > 0) {
      std::uint64_t length = most;
      Thread& t = next_thread(block, length);
      length = std::min(length, most);
      const std::uint64_t before = m_.executed;
      run(t, length);
      const std::uint64_t done = m_.executed - before;
      block.stretch += static_cast<std::uint32_t>(done);
      most -= std::min(most, std::max<std::uint64_t>(done, 1));
    }
  }

  Thread& next_thread(Block& block, std::uint64_t& length) {
    const auto count = static_cast<std::uint32_t>(block.threads.size());
    const auto runs = [&](std::uint32_t k) { return block.threads[k].state == Thread::State::runs; };
    switch (schedule_.threads) {
      case Interleaving::random: {
        length = 1 + m_.random() % 4;
        auto k = static_cast<std::uint32_t>(m_.random() % count);
        while (!runs(k)) k = k + 1 == count ? 0 : k + 1;
        return block.threads[k];
      }
      case Interleaving::phases:
        if (!runs(block.current) || block.stretch >= kStretch) {
          block.current = static_cast<std::uint32_t>(m_.random() % count);
          while (!runs(block.current)) block.current = block.current + 1 == count ? 0 : block.current + 1;
          block.stretch = 0;
        }
        return block.threads[block.current];
      case Interleaving::lockstep:
        length = 1;
        do block.turn = block.turn + 1 >= count ? 0 : block.turn + 1;
        while (!runs(block.turn));
        return block.threads[block.turn];
      default:
        break;
    }
    // The first or last one that runs, unless that has run for long.
    if (block.stretch >= kStretch) {
      block.stretch = 0;
      block.turn = block.turn + 1 >= count ? 0 : block.turn + 1;
    }
    const bool backwards = schedule_.threads == Interleaving::reverse;
    for (;; block.turn = block.turn + 1 >= count ? 0 : block.turn + 1) {
      const std::uint32_t k = backwards ? count - 1 - block.turn : block.turn;
      if (runs(k)) return block.threads[k];
      block.stretch = 0;
    }
  }

  void run(Thread& t, std::uint64_t length) {
    at_ = &t;
    while (length-- > 0) {
      const Instruction& i = t.code->instructions[t.position];
      ++m_.executed;
      if (i.guard >= 0 && ((t.r[i.guard] & 1) != 0) == i.guard_negated) {
        ++t.position;
        continue;
      }
      switch (i.run(m_, t, i)) {
        case Step::next:
          ++t.position;
          break;
        case Step::jump:
          break;
        case Step::waits:
          if (t.state != Thread::State::runs) return;
          break;
        case Step::exited:
          return;
      }
    }
  }

  std::string waiting() const {
    if (m_.executed >= m_.launch->budget)
      return fmt::format("hangs: not done after {} instructions", m_.executed);
    std::string text = "hangs: every thread waits";
    for (const auto& block : resident_)
      for (const Thread& t : block->threads)
        if (t.state == Thread::State::barrier || t.state == Thread::State::warp)
          return fmt::format("{}, block {}, thread {} at line {}: {}", text, block->linear, t.linear,
                             t.waits->line, t.waits->text);
    return text;
  }

  Machine& m_;
  const Code& entry_;
  const Schedule& schedule_;
  std::vector<std::uint64_t> order_;
  std::uint64_t next_ = 0;
  std::size_t event_ = 0;
  std::vector<std::unique_ptr<Block>> resident_;
  Thread* at_ = nullptr;
};

}  // namespace

Outcome played(Machine& m, const Code& entry) { return Player(m, entry).play(); }

}  // namespace gangway::testing::ptx
