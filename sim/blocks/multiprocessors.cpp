#include "sim/blocks/multiprocessors.hpp"

#include <algorithm>
#include <numeric>

namespace gangway {
namespace {

constexpr std::int64_t kNoLimit = std::int64_t{1} << 60;

// Most quotients are of small numbers, for which processors divide several times as fast.
std::int64_t quotient(std::int64_t a, std::int64_t b) {
  if (((a | b) >> 32) == 0) return static_cast<std::uint32_t>(a) / static_cast<std::uint32_t>(b);
  return a / b;
}

}  // namespace

BlockNeeds needs_of(const Kernel& kernel) {
  return {kernel.threads(), kernel.registers * kernel.threads(), kernel.shared_memory};
}

Multiprocessors::Multiprocessors(const Device& device)
    : empty_{device.sm.threads, device.sm.blocks, device.sm.registers, device.sm.shared_memory.count},
      placement_(device.placement),
      room_(static_cast<std::size_t>(device.sms)),
      all_(room_.size()),
      fit_(room_.size()) {
  std::iota(all_.begin(), all_.end(), 0u);
  const RuleSet& rules = device.rules;
  if (device.pool || !rules.on(Rule::R1)) empty_.blocks = kNoLimit;
  if (!rules.on(Rule::R1) || !rules.on(Rule::R2)) empty_.threads = kNoLimit;
  if (device.pool || !rules.on(Rule::R1) || !rules.on(Rule::R3))
    empty_.registers = empty_.shared_memory = kNoLimit;
  reset();
}

void Multiprocessors::reset() {
  std::fill(room_.begin(), room_.end(), empty_);
  adopted_ = false;
}

std::int64_t Multiprocessors::fitting(const Room& room) const {
  std::int64_t fit = std::min(room.blocks, quotient(room.threads, head_.threads));
  if (head_.registers > 0) fit = std::min(fit, quotient(room.registers, head_.registers));
  if (head_.shared_memory.count > 0)
    fit = std::min(fit, quotient(room.shared_memory, head_.shared_memory.count));
  return fit;
}

void Multiprocessors::adopt(const BlockNeeds& needs) {
  head_ = needs;
  adopted_ = true;
  listed_ = false;
  fit_in_all_ = 0;
  for (const std::uint32_t sm : all_) fit_in_all_ += fit_[sm] = fitting(room_[sm]);
}

std::int64_t Multiprocessors::place(const BlockNeeds& needs, std::int64_t most,
                                    std::vector<BlocksOnSm>& where) {
  if (!adopted_ || !(needs == head_)) adopt(needs);
  const std::int64_t count = std::min(most, fit_in_all_);
  if (count == 0) return 0;
  if (placement_ == Placement::lowest_index_first)
    place_lowest_index_first(count, where);
  else
    place_most_room_first(count, where);
  if (fit_in_all_ == 0) {
    listed_ = true;
    open_.clear();
  }
  return count;
}

std::span<const std::uint32_t> Multiprocessors::candidates() {
  if (!listed_) return all_;
  if (open_.size() > 1) {
    std::sort(open_.begin(), open_.end());
    open_.erase(std::unique(open_.begin(), open_.end()), open_.end());
  }
  return open_;
}

void Multiprocessors::take(std::uint32_t sm, std::int64_t count, std::vector<BlocksOnSm>& where) {
  Room& room = room_[sm];
  room.blocks -= count;
  room.threads -= count * head_.threads;
  room.registers -= count * head_.registers;
  room.shared_memory -= count * head_.shared_memory.count;
  fit_[sm] -= count;
  fit_in_all_ -= count;
  where.push_back({sm, static_cast<std::uint32_t>(count)});
}

void Multiprocessors::place_lowest_index_first(std::int64_t count, std::vector<BlocksOnSm>& where) {
  for (const std::uint32_t sm : candidates()) {
    const std::int64_t here = std::min(count, fit_[sm]);
    if (here > 0) take(sm, here, where);
    count -= here;
    if (count == 0) return;
  }
}

void Multiprocessors::place_most_room_first(std::int64_t count, std::vector<BlocksOnSm>& where) {
  const auto among = candidates();
  if (count == 1) {
    const auto best = std::max_element(among.begin(), among.end(),
                                       [&](std::uint32_t a, std::uint32_t b) { return fit_[a] < fit_[b]; });
    return take(*best, 1, where);
  }
  // One by one, blocks level the SMs' room down. This finds the level that all of them reach, and gives what
  // is over then to the first SMs at that level.
  std::int64_t low = 0, high = 0;  // `low` may take more than there are, `high` takes no more
  for (const std::uint32_t sm : among) high = std::max(high, fit_[sm]);
  const auto above = [&](std::int64_t level) {
    std::int64_t sum = 0;
    for (const std::uint32_t sm : among) sum += std::max<std::int64_t>(0, fit_[sm] - level);
    return sum;
  };
  if (above(0) <= count) high = 0;
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (above(middle) <= count ? high : low) = middle;
  }
  std::int64_t over = count - above(high);
  for (const std::uint32_t sm : among) {
    std::int64_t here = std::max<std::int64_t>(0, fit_[sm] - high);
    if (over > 0 && fit_[sm] >= high && high > 0) {
      ++here;
      --over;
    }
    if (here > 0) take(sm, here, where);
  }
}

void Multiprocessors::release(const BlockNeeds& needs, std::span<const BlocksOnSm> where) {
  const bool same = adopted_ && needs == head_;
  for (const auto& [sm, count] : where) {
    Room& room = room_[sm];
    room.blocks += count;
    room.threads += count * needs.threads;
    room.registers += count * needs.registers;
    room.shared_memory += count * needs.shared_memory.count;
    if (!adopted_) continue;
    const std::int64_t before = fit_[sm];
    fit_[sm] = same ? before + count : fitting(room);
    fit_in_all_ += fit_[sm] - before;
    if (listed_ && before == 0) open_.push_back(sm);
  }
}

Rule Multiprocessors::obstacle(const BlockNeeds& needs) const {
  const auto some_sm = [&](bool threads, bool memory, bool registers, bool slots) {
    return std::any_of(room_.begin(), room_.end(), [&](const Room& room) {
      return (!threads || room.threads >= needs.threads) &&
             (!memory || room.shared_memory >= needs.shared_memory.count) &&
             (!registers || room.registers >= needs.registers) && (!slots || room.blocks >= 1);
    });
  };
  if (some_sm(false, true, true, true)) return Rule::R2;
  if (some_sm(true, false, true, true) || some_sm(true, true, false, true)) return Rule::R3;
  return Rule::R1;
}

}  // namespace gangway
