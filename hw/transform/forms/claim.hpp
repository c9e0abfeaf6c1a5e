// The claim of a logical index by a block, as PTX.
#pragma once

#include <string>

namespace gangway::transform {

// Behind the kernel's own dynamic shared memory: two words, and what it takes to align them.
inline constexpr std::uint32_t kClaimBytes = 12;

// Sets %gangway_slot, the shared address of the words, and %gangway_p0: not the block's first thread. The
// dynamic shared memory begins at `shared_base`.
std::string claim_setup(const std::string& shared_base);

// One thread adds 1 to the count, which is the block's logical index unless the flag is up or `condition` (of
// predicate %gangway_p1, set where the claim holds so far) takes it away; a claim that is refused is taken
// back. The index, 0xffffffff if refused, is in [%gangway_slot + `word`] behind a barrier, and in
// %gangway_index. `label` makes labels unique.
std::string claim(const std::string& condition);

}  // namespace gangway::transform
