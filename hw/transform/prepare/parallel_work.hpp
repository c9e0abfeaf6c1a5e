// Parallel execution of numbered pieces of work.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>

namespace gangway::transform {

// Calls `piece` once per number below `pieces`, on up to `jobs` threads, lower numbers first. Starts no
// further piece after `stop` is set. After an exception the other threads finish their piece, then it is
// rethrown.
void work_in_parallel(std::size_t pieces, unsigned jobs, const std::atomic<bool>& stop,
                      const std::function<void(std::size_t)>& piece);

}  // namespace gangway::transform
