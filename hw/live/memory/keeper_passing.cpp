// Memory that clients pass on to each other (passed_memory.hpp): from whom, to whom.
#include <algorithm>
#include <utility>

#include "hw/live/memory/keeper.hpp"

namespace gangway::live {

// After the client's claims were read, since it says what it passes on before it gives up the claim.
void Keeper::collect(Kept& kept) {
  for (PassedMemory& memory : kept.client->passed()) {
    if (memory.size != kept.passes || memory.size > kept.passes_most) continue;
    kept.passes_most -= memory.size;
    passed_.push_back({std::move(memory), kept.client, kept.client->owner()});
  }
}

std::uint64_t Keeper::passed_in_all() const {
  std::uint64_t all = 0;
  for (const Passage& each : passed_) all += each.memory.size;
  return all;
}

bool Keeper::takes(const Need* need, std::uint64_t size, std::uint64_t owner) {
  return need != nullptr && size >= kLeastPassed && need->kept->goal == Goal::here && !need->kept->here() &&
         need->kept->seen.piece == size && need->kept->client->owner() == owner &&
         less(need->target, need->kept->hold()) >= size;
}

// To the first whose need is not met, as room is given. What that one does not take is freed. What its client
// has not given up the claim to yet waits for that.
void Keeper::pass_on(const std::vector<Need>& needs) {
  const auto first = [&]() -> const Need* {
    for (const Need& need : needs)
      if (less(need.target, need.kept->hold()) != 0) return &need;
    return nullptr;
  };
  const auto leaves = [&](const KeptClient* client) {
    return std::any_of(all_.begin(), all_.end(),
                       [&](const auto& kept) { return kept->client == client && kept->leaves(); });
  };
  const auto most = capacity();
  std::uint64_t held = held_in_all();
  for (const Passage& each : std::exchange(passed_, {})) {
    const std::uint64_t size = each.memory.size;
    const Need* const taker = first();
    const bool wanted = takes(taker, size, each.owner), claimed = most && held > *most;
    if (wanted && claimed && leaves(each.from)) {
      passed_.push_back(each);
    } else if (wanted && !claimed && taker->kept->client->lend(each.memory)) {
      const std::uint64_t before = taker->kept->hold();
      taker->kept->lent += size;
      set_budget(*taker->kept, before + size);
    } else {
      held -= size;
    }
  }
  const Need* const taker = first();
  for (const auto& kept : all_) {
    const std::uint64_t piece = taker != nullptr ? taker->kept->seen.piece : 0;
    const std::uint64_t size = kept->leaves() && takes(taker, piece, kept->client->owner()) ? piece : 0;
    if (size != 0) kept->passes = size;
    kept->client->pass(size);
  }
}

}  // namespace gangway::live
