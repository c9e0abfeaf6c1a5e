// What policies and status see of clients' memory, and the moves that policies order.
#include <algorithm>

#include "hw/live/memory/keeper.hpp"

namespace gangway::live {
namespace {

constexpr std::int64_t kBytesPerSecond = 45'000'000'000;  // both ways at once, as measured

}  // namespace

Keeper::Facts Keeper::facts(const KeptClient& client) const {
  const Kept* kept = find(client);
  if (kept == nullptr) return {};
  return {kept->leaves()             ? "leaves"
          : kept->goal == Goal::away ? "away"
          : kept->seen.away != 0     ? "comes"
                                     : "here",
          !stays_for_good(*kept), kept->budget};
}

std::uint64_t Keeper::held_in_all() const {
  std::uint64_t held = 0;
  for (const auto& kept : all_) held += kept->hold();
  return held + passed_in_all();
}

std::optional<std::uint64_t> Keeper::unpromised() const {
  const auto most = capacity();
  if (!most) return std::nullopt;
  std::uint64_t held = held_in_all();
  for (const auto& kept : all_) held -= kept->ahead();
  return less(*most, held);
}

std::uint64_t Keeper::away_in_all() const {
  std::uint64_t away = 0;
  for (const auto& kept : all_)
    away += in_pieces(*kept) ? pinned(*kept) : kept->leaves() ? kept->seen.movable : kept->seen.away;
  return away;
}

bool Keeper::arrives(const KeptClient& client) const {
  const Kept* kept = find(client);
  if (kept == nullptr || !kept->is_let_in() || kept->goal != Goal::here) return false;
  const bool leaves =
      std::any_of(all_.begin(), all_.end(), [](const auto& other) { return other->goes_on(); });
  if (kept->in) return leaves && kept->seen.asked > kept->answered;
  return leaves || kept->hold() >= kept->seen.footprint();
}

Duration Keeper::least_slice() const {
  std::uint64_t first = 0, second = 0;
  for (const auto& kept : all_) {
    const std::uint64_t state = kept->seen.movable;
    if (state > first)
      second = first, first = state;
    else
      second = std::max(second, state);
  }
  if (second == 0) return {};
  return copy_time(Bytes{static_cast<std::int64_t>(first + second)});
}

// Of the processes of a group, the one that is least ready counts.
Residence Keeper::residence(ClientId client, DeviceId) const {
  Residence found = Residence::absent;
  for (const auto& kept : all_) {
    if (!kept->named || kept->id.index != client.index) continue;
    if (kept->leaves() || kept->wished_away) return Residence::saving;
    if (kept->goal == Goal::away) return Residence::absent;
    if (!kept->here()) return Residence::restoring;
    found = Residence::resident;
  }
  return found;
}

Bytes Keeper::room(DeviceId) const {
  const auto most = capacity();
  if (!most) return {INT64_MAX};
  std::uint64_t held_here = 0;
  for (const auto& kept : all_)
    held_here += kept->here()               ? kept->seen.claimed
                 : kept->goal == Goal::here ? std::max(kept->hold(), kept->seen.footprint())
                                            : kept->hold();
  return {static_cast<std::int64_t>(less(*most, held_here))};
}

Bytes Keeper::held(ClientId client, DeviceId) const {
  std::uint64_t sum = 0;
  for (const auto& kept : all_)
    if (kept->named && kept->id.index == client.index) sum += kept->hold();
  return {static_cast<std::int64_t>(sum)};
}

bool Keeper::holds(JobId job, DeviceId gpu, BlockRange) const {
  return residence(job.client, gpu) == Residence::resident;
}

Bytes Keeper::takes(JobId job, DeviceId, BlockRange) const {
  std::uint64_t sum = 0;
  for (const auto& kept : all_)
    if (kept->named && kept->id.index == job.client.index && kept->goal == Goal::away) sum += kept->seen.away;
  return {static_cast<std::int64_t>(sum)};
}

Bytes Keeper::copies(JobId job, DeviceId gpu, BlockRange blocks) const { return takes(job, gpu, blocks); }

bool Keeper::changed_on(JobId job, DeviceId gpu, BlockRange) const {
  return residence(job.client, gpu) == Residence::resident;
}

Duration Keeper::copy_time(Bytes size) const {
  return {static_cast<std::int64_t>(static_cast<double>(size.count) * 1e9 / kBytesPerSecond)};
}

void Keeper::restore(ClientId client) {
  for (const auto& kept : all_) {
    if (!kept->named || kept->id.index != client.index || kept->here()) continue;
    kept->brought = true;
    kept->wished_away = false;
    if (kept->goal == Goal::away) order(*kept, Goal::here);
  }
}

void Keeper::save(ClientId client) {
  for (const auto& kept : all_) {
    if (!kept->named || kept->id.index != client.index) continue;
    kept->brought = false;
    if (kept->goal == Goal::here && kept->seen.movable == 0)
      stays(*kept);  // it has nothing yet
    else
      kept->wished_away = kept->goal == Goal::here;
  }
}

Duration Keeper::moves() const {
  const bool away = std::any_of(all_.begin(), all_.end(), [](const auto& kept) { return !kept->here(); });
  return away ? least_slice() : Duration{};
}

std::optional<MemoryDesk::Done> Keeper::done() {
  if (done_.empty()) return std::nullopt;
  const Done first = done_.front();
  done_.erase(done_.begin());
  return first;
}

}  // namespace gangway::live
