// The program's memory pools, as far as their memory is managed here: what they keep and what they count.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

#include "hw/intercept/driver.hpp"

namespace gangway::intercept {

// All sizes are in bytes. Movable are the device's default pool, and pools of the program's own whose memory
// is the device's and nobody else's. Memory of all others, such as imported ones, is the driver's.
class Pools {
 public:
  void created(CUmemoryPool pool, const CUmemPoolProps& properties);
  bool movable(CUmemoryPool pool);
  bool has_room(CUmemoryPool pool, std::uint64_t size);  // within the most that it may have
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
    std::uint64_t limit = 0;  // 0: none
    std::uint64_t keeps = 0;
    Count used, held;
    std::uint64_t idle_kept(std::uint64_t most = UINT64_MAX) const;
  };
  Pool* movable_one(CUmemoryPool pool);  // null: it is the driver's
  void takes_off(Count Pool::*count, CUmemoryPool pool, std::uint64_t size);

  std::mutex mutex_;
  std::map<CUmemoryPool, Pool> pools_;  // movable ones
};

Pools& pools();

}  // namespace gangway::intercept
