// Room on a GPU's SMs, and the placement of blocks. A pool of threads is one SM without other limits. SMs are
// numbered in the device's order of preference; name_of() gives their own numbers.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "models/device.hpp"
#include "models/trace.hpp"

namespace gangway {

class Multiprocessors {
 public:
  explicit Multiprocessors(const Device& device);
  void reset();

  // Places up to `most` (at least 1) blocks one by one, each on the SM that the device prefers, while there
  // is room (RTSS17.R1 to R3). Returns how many; appends where, by SM.
  std::int64_t place(const BlockNeeds& needs, std::int64_t most, std::vector<BlocksOnSm>& where);
  // Places one block: its SM, or none.
  std::optional<std::uint32_t> place_one(const BlockNeeds& needs);
  void release(const BlockNeeds& needs, std::span<const BlocksOnSm> where);

  std::uint32_t name_of(std::uint32_t sm) const { return names_.empty() ? sm : names_[sm]; }

  // The only rule that keeps the next such block from some SM; R1 if it is more than one. There must be no
  // room for it.
  Rule obstacle(const BlockNeeds& needs) const;

  // For tests: free room.
  struct Room {
    std::int64_t threads = 0, blocks = 0, registers = 0, shared_memory = 0;
  };
  std::span<const Room> room() const { return room_; }

 private:
  std::int64_t fitting(const Room& room) const;  // blocks of head_ that fit
  void adopt(const BlockNeeds& needs);
  void take(std::uint32_t sm, std::int64_t count);
  void take(std::uint32_t sm, std::int64_t count, std::vector<BlocksOnSm>& where) {
    take(sm, count);
    where.push_back({sm, static_cast<std::uint32_t>(count)});
  }
  void begin_list();                          // starts with no SM having room
  void fill(std::vector<BlocksOnSm>& where);  // all SMs with room
  void place_lowest_index_first(std::int64_t count, std::vector<BlocksOnSm>& where);
  void place_most_room_first(std::int64_t count, std::vector<BlocksOnSm>& where);
  std::span<const std::uint32_t> candidates();

  Room empty_;
  Placement placement_;
  bool boundless_;  // rules that impose limits are off
  std::vector<std::uint32_t> names_;
  std::vector<Room> room_;
  std::vector<std::uint32_t> all_;
  // For the blocks placed last: how many more fit on each SM and in total. While listed_, open_ contains all
  // SMs with room (and perhaps others), so that on a full device only freed SMs are checked.
  BlockNeeds head_;
  std::vector<std::int64_t> fit_;
  std::int64_t fit_in_all_ = 0;
  bool adopted_ = false, listed_ = false;
  std::vector<std::uint32_t> open_;
};

}  // namespace gangway
