// Some threads on numbered pieces of work.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>

namespace gangway::transform {

// Calls `piece` once for each number below `pieces`, from up to `jobs` threads, the lower numbers first.
// Begins none after `stop` is set. An exception ends the others after their piece and is thrown on.
void work_in_parallel(std::size_t pieces, unsigned jobs, const std::atomic<bool>& stop,
                      const std::function<void(std::size_t)>& piece);

}  // namespace gangway::transform
