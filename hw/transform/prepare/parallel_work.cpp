#include "hw/transform/prepare/parallel_work.hpp"

#include <algorithm>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace gangway::transform {

void work_in_parallel(std::size_t pieces, unsigned jobs, const std::atomic<bool>& stop,
                      const std::function<void(std::size_t)>& piece) {
  std::atomic<std::size_t> next{0};
  std::atomic<bool> failed{false};
  std::exception_ptr thrown;
  std::mutex mutex;
  const auto work = [&] {
    try {
      for (std::size_t i = next++; i < pieces && !stop && !failed; i = next++) piece(i);
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!failed.exchange(true)) thrown = std::current_exception();
    }
  };
  std::vector<std::thread> threads;
  const std::size_t number = std::min<std::size_t>(std::max(jobs, 1u), pieces);
  for (std::size_t i = 1; i < number; ++i) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
  if (thrown) std::rethrow_exception(thrown);
}

}  // namespace gangway::transform
