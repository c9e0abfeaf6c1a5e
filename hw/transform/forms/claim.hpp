// The claim of a logical index by a block, as PTX.
#pragma once

#include <string>

namespace gangway::transform {

// Behind the kernel's own dynamic shared memory: two words, and what it takes to align them.
inline constexpr std::uint32_t kClaimBytes = 12;

// Sets %gangway_slot, the shared address of the words, and %gangway_p0: not the block's first thread. The
// dynamic shared memory begins at `shared_base`.
std::string claim_setup(const std::string& shared_base);

// One thread adds 1 to the count, which is the block's logical index unless the flag is up or `condition`
// takes it away: PTX that clears the predicate %gangway_p1, which says that the claim holds so far. A claim
// that is refused is taken back, and the block's threads return. The index is handed on in [%gangway_slot]
// behind a barrier (the instruction `barrier`), and is then in %gangway_index.
std::string claim(const std::string& condition, const std::string& barrier);

}  // namespace gangway::transform
