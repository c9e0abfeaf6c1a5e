// The program's memory pools, as far as their memory is managed here: what they keep and what they count.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

#include "hw/intercept/driver.hpp"

namespace gangway::intercept {

// All sizes are in bytes. A pool that nothing is known of is the driver's own: movable, and keeps nothing.
class Pools {
 public:
  // Other processes may use a shared pool: its memory stays the driver's.
  void created(CUmemoryPool pool, bool shared);
  bool movable(CUmemoryPool pool);
  void destroyed(CUmemoryPool pool);

  // The release threshold: so much of the pool's memory, used or not, is kept.
  void keep(CUmemoryPool pool, std::uint64_t bytes);
  bool keeps(CUmemoryPool pool);
  // How much idle memory may stay, so that with what is used the pool has at most `most` and its threshold;
  // and the largest such amount of all other pools.
  std::uint64_t idle_kept(CUmemoryPool pool, std::uint64_t most = UINT64_MAX);
  std::uint64_t idle_kept_by_others(CUmemoryPool pool);

  // An allocation of the pool is used until used_no_more(), and takes up memory until given_back().
  void took(CUmemoryPool pool, std::uint64_t size);
  void used_no_more(CUmemoryPool pool, std::uint64_t size);
  void given_back(CUmemoryPool pool, std::uint64_t size);

  // What is to be added to the driver's value of the attribute; `idle`: memory that is kept for the next
  // allocations. None: the driver's value is right.
  std::optional<std::uint64_t> beside_drivers(CUmemoryPool pool, CUmemPool_attribute attribute,
                                              std::uint64_t idle);
  void reset(CUmemoryPool pool, CUmemPool_attribute attribute);  // the largest so far is what is now

 private:
  struct Count {
    std::uint64_t now = 0, most = 0;
    void add(std::uint64_t bytes);
  };
  struct Pool {
    bool shared = false;
    std::uint64_t keeps = 0;
    Count used, held;
    std::uint64_t idle_kept(std::uint64_t most = UINT64_MAX) const;
  };
  void takes_off(Count Pool::*count, CUmemoryPool pool, std::uint64_t size);

  std::mutex mutex_;
  std::map<CUmemoryPool, Pool> pools_;
};

Pools& pools();

}  // namespace gangway::intercept
