// Streams: what native clients have issued and has not left yet, in order, and when it may join a queue of
// the device. Rules G1, G2, C1, N1, N2 and B1 of models/gpu_rules.hpp act here.
#pragma once

#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "models/device.hpp"
#include "models/identity.hpp"
#include "sim/blocks/block_scheduler.hpp"

namespace gangway {

// A kernel or a copy of a job's program.
struct Operation {
  JobId job;
  std::uint32_t place = 0;  // in the program
  bool copy = false;
  Direction direction = Direction::restore;
  Bytes size;                // of a copy
  std::uint32_t kernel = 0;  // of the client
  GridSlot grid = 0;
  Time released;             // the job
  std::uint64_t issued = 0;  // counts up
  bool left = false;
  std::uint32_t said = 0;  // rules told to hold it
};

class StreamQueues {
 public:
  // `null` says which stream is the NULL stream, if one is.
  StreamQueues(std::size_t streams, std::optional<std::uint32_t> null, const Device& device);
  void reset();

  void issue(std::uint32_t stream, Operation operation);
  // The operation is not in its stream's queue any more, wherever in it it was.
  void leave(std::uint32_t stream, JobId job, std::uint32_t place);

  // Calls join(operation) for each that may join its queue now, in the order of streams, and hold(operation,
  // rule) when a rule keeps one from it for the first time.
  template <typename Join, typename Hold>
  void advance(Join join, Hold hold) {
    while (!changed_.empty()) {
      for (const std::uint32_t s : streams_to_look_at())
        while (Operation* next = next_of(s)) {
          if (const auto rule = obstacle(s, *next)) {
            const std::uint32_t bit = 1u << static_cast<int>(*rule);
            if ((next->said & bit) == 0) hold(*next, *rule);
            next->said |= bit;
            break;
          }
          ++streams_[s].joined;
          if (by_channel_) {
            channels_[s % channels_.size()].pop_front();
            changed_.push_back(s);
          }
          join(*next);
        }
    }
  }
  bool changed() const { return !changed_.empty(); }  // since the last advance()

 private:
  struct Stream {
    std::deque<Operation> queue;
    std::size_t joined = 0;  // so many from the front have joined a queue
  };
  std::span<const std::uint32_t> streams_to_look_at();
  Operation* next_of(std::uint32_t stream);
  std::optional<Rule> obstacle(std::uint32_t stream, const Operation& operation) const;
  std::optional<Rule> null_obstacle(std::uint32_t stream, const Operation& operation) const;

  std::vector<Stream> streams_;
  std::optional<std::uint32_t> null_;
  RuleSet rules_;
  bool by_channel_;
  std::vector<std::deque<std::uint32_t>>
      channels_;  // the streams of their operations that have not joined, in order
  std::uint64_t issued_ = 0;
  std::vector<std::uint32_t> changed_, looked_at_, all_;  // streams
};

}  // namespace gangway
