#include "sim/blocks/multiprocessors.hpp"

#include <algorithm>
#include <numeric>

namespace gangway {
namespace {

constexpr std::int64_t kNoLimit = std::int64_t{1} << 40;

// Most quotients are of small numbers, for which processors divide several times as fast.
std::int64_t quotient(std::int64_t a, std::int64_t b) {
  if (((a | b) >> 32) == 0) return static_cast<std::uint32_t>(a) / static_cast<std::uint32_t>(b);
  return a / b;
}

}  // namespace

Multiprocessors::Multiprocessors(const Device& device)
    : empty_{device.sm.threads, device.sm.blocks, device.sm.registers, device.sm.shared_memory.count},
      placement_(device.placement),
      boundless_(!device.rules.on(Rule::R1) || (device.pool && !device.rules.on(Rule::R2))),
      names_(device.sm_order),
      room_(static_cast<std::size_t>(device.sms)),
      all_(room_.size()),
      fit_(room_.size()) {
  std::iota(all_.begin(), all_.end(), 0u);
  const RuleSet& rules = device.rules;
  if (device.pool) empty_.blocks = kNoLimit;
  if (!rules.on(Rule::R2)) empty_.threads = kNoLimit;
  if (device.pool || !rules.on(Rule::R3)) empty_.registers = empty_.shared_memory = kNoLimit;
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
  if (boundless_) {  // all SMs have as much room for ever
    where.push_back({0, static_cast<std::uint32_t>(most)});
    return most;
  }
  if (!adopted_ || !(needs == head_)) adopt(needs);
  const std::int64_t count = std::min(most, fit_in_all_);
  if (count == 0) return 0;
  if (count == fit_in_all_)
    fill(where);
  else if (placement_ == Placement::lowest_index_first)
    place_lowest_index_first(count, where);
  else
    place_most_room_first(count, where);
  if (fit_in_all_ == 0) begin_list();
  return count;
}

std::optional<std::uint32_t> Multiprocessors::place_one(const BlockNeeds& needs) {
  if (boundless_) return 0;
  if (!adopted_ || !(needs == head_)) adopt(needs);
  if (fit_in_all_ == 0) return std::nullopt;
  std::uint32_t best = 0;
  if (listed_ && open_.size() == 1) {  // mostly: the SM that a block has just left
    best = open_.front();
  } else {
    const auto among = candidates();
    const auto prefers = [&](std::uint32_t a, std::uint32_t b) {
      return placement_ == Placement::most_room_first ? fit_[a] > fit_[b] : fit_[a] > 0 && fit_[b] == 0;
    };
    best = *std::min_element(among.begin(), among.end(), prefers);
  }
  take(best, 1);
  if (fit_in_all_ == 0) begin_list();
  return best;
}

void Multiprocessors::begin_list() {
  listed_ = true;
  open_.clear();
}

std::span<const std::uint32_t> Multiprocessors::candidates() {
  if (!listed_) return all_;
  if (open_.size() > 1 && !std::is_sorted(open_.begin(), open_.end(), std::less_equal<>())) {
    std::sort(open_.begin(), open_.end());
    open_.erase(std::unique(open_.begin(), open_.end()), open_.end());
  }
  return open_;
}

void Multiprocessors::take(std::uint32_t sm, std::int64_t count) {
  Room& room = room_[sm];
  room.blocks -= count;
  room.threads -= count * head_.threads;
  room.registers -= count * head_.registers;
  room.shared_memory -= count * head_.shared_memory.count;
  fit_[sm] -= count;
  fit_in_all_ -= count;
}

void Multiprocessors::fill(std::vector<BlocksOnSm>& where) {
  for (const std::uint32_t sm : candidates())
    if (fit_[sm] > 0) take(sm, fit_[sm], where);
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
  // One by one, blocks level the SMs' room down. This finds the level that all of them reach, and gives what
  // is over then to the first SMs at that level.
  std::int64_t low = 0,
               high = 0;  // down to `low` there are more than enough, down to `high` not more than that
  for (const std::uint32_t sm : among) high = std::max(high, fit_[sm]);
  const auto above = [&](std::int64_t level) {
    std::int64_t sum = 0;
    for (const std::uint32_t sm : among) sum += std::max<std::int64_t>(0, fit_[sm] - level);
    return sum;
  };
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (above(middle) <= count ? high : low) = middle;
  }
  std::int64_t over = count - above(high);
  for (const std::uint32_t sm : among) {
    std::int64_t here = std::max<std::int64_t>(0, fit_[sm] - high);
    if (over > 0 && fit_[sm] >= high) {
      ++here;
      --over;
    }
    if (here > 0) take(sm, here, where);
  }
}

void Multiprocessors::release(const BlockNeeds& needs, std::span<const BlocksOnSm> where) {
  if (boundless_) return;
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
