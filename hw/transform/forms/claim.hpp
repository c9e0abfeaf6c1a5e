// PTX by which a block claims a logical index.
#pragma once

#include <string>
#include <vector>

#include "hw/transform/forms/form.hpp"

namespace gangway::transform {

// Two words after the kernel's own dynamic shared memory, with padding for alignment.
inline constexpr std::uint32_t kClaimBytes = 12;

// Traits of kernels that cannot have it.
std::vector<Objection> objections_of_claims();

// Sets %gangway_slot (the shared address of the words) and %gangway_p0 (true except in the block's first
// thread). Dynamic shared memory begins at `shared_base`.
std::string claim_setup(const std::string& shared_base);

// The first thread adds 1 to the count; the old value is the block's logical index. Some of those whose claim
// is valid look at the host's order, and raise the flag if there is one. `condition` is PTX that may clear
// the predicate %gangway_p1, which holds while the claim is valid. If it is cleared or the flag is set, the
// claim is undone and the block returns, behind `leaving`, PTX for its first thread. The index goes through
// [%gangway_slot] across a barrier (the instruction `barrier`) into %gangway_index.
std::string claim(const std::string& condition, const std::string& barrier, const std::string& leaving);

// For `leaving`: the first thread counts its block. If the flag is up and its block is the last one, it
// writes the count of claims to the host.
std::string last_block_reports();

}  // namespace gangway::transform
