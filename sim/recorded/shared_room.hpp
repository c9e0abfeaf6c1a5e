// Room for kernels of several programs on a GPU that they use at once. Rules MP1 to MP6 of README.md.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "models/device.hpp"
#include "models/quantity.hpp"
#include "models/recording/played_program.hpp"

namespace gangway {

// A kernel, or a part of a graph.
struct RoomNeed {
  std::int64_t blocks = 0;
  std::int64_t at_once = 1;  // of them, on the empty GPU
  Duration length;           // that it takes alone
};

// What recorded works need of a GPU, by their numbers in the recording.
struct NeedsOfWorks {
  std::vector<RoomNeed> launches;
  std::vector<std::vector<RoomNeed>> graphs;  // empty: its nodes are not known

  // What a work of that length consists of, one after the other. Empty: it needs no room.
  std::vector<RoomNeed> of(const recording::PlayedWork& work, Duration length) const;
};

NeedsOfWorks needs_of_works(const recording::PlayedProgram& program, const Device& device);

// One GPU's room. Kernels are told apart by their stream, which has one at a time.
class SharedRoom {
 public:
  void reset(std::size_t streams, std::size_t clients);

  // The stream's kernel comes.
  void join(std::uint32_t stream, std::uint32_t client, const RoomNeed& need);
  // It is no longer there.
  void remove(std::uint32_t stream);
  // Ends those of its groups whose time has come. Returns whether the kernel is over.
  bool end_groups(std::uint32_t stream, Time now);
  // When its next group ends; none: none of its blocks is there.
  std::optional<Time> next_end(std::uint32_t stream) const;

  bool changed() const { return changed_; }
  // The end of an instant: calls `begun` for each stream whose kernel has begun a group.
  void give(Time now, const std::function<void(std::uint32_t)>& begun);

 private:
  struct Group {
    Time end;
    std::int64_t parts = 0;
  };
  struct Standing {
    std::uint32_t client = 0;
    Time came;
    RoomNeed need;
    std::int64_t to_begin = 0;  // blocks
    std::int64_t begun = 0;     // groups
    std::int64_t held = 0;      // parts
    std::vector<Group> groups;
  };

  void give_back(Standing& kernel, std::int64_t parts);
  bool begin_group(Standing& kernel, Time now);

  std::vector<Standing> kernels_;   // by stream
  std::vector<std::int64_t> held_;  // by client
  std::int64_t all_held_ = 0;       // parts
  std::vector<std::uint32_t> coming_, queue_;
  bool changed_ = false;
};

}  // namespace gangway
