// Streams: the operations that native clients have issued and that have not left yet, in order, and when each
// may join a queue of the device. Rules G1, G2, C1, N1, N2 and B1 of models/gpu_rules.hpp act here.
#pragma once

#include <array>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "models/copy_direction.hpp"
#include "models/device.hpp"
#include "models/identity.hpp"
#include "sim/blocks/block_scheduler.hpp"
#include "sim/blocks/delay_line.hpp"

namespace gangway {

// A kernel or a copy of a job's program.
struct Operation {
  JobId job;
  std::uint32_t place = 0;  // in the program
  bool copy = false;
  CopyDirection direction = CopyDirection::to_device;
  Bytes size;                // of a copy
  std::uint32_t kernel = 0;  // of the client
  GridSlot grid = 0;
  Time released;             // the job
  std::uint64_t issued = 0;  // counts up
  Time ready;                // when it may join a queue at the earliest
  bool left = false;
  std::uint32_t said = 0;  // rules already reported as holding it
};

class StreamQueues {
 public:
  // `null` says which stream is the NULL stream, if one is; `alarm`, when to advance().
  StreamQueues(std::size_t streams, std::optional<std::uint32_t> null, const Device& device, Alarm alarm);
  void reset();

  void issue(std::uint32_t stream, Operation operation, Time now);
  // Removes the operation from its stream's queue, wherever it is there.
  void leave(std::uint32_t stream, JobId job, std::uint32_t place);
  // The operation has ended: it leaves its stream when the device has noticed.
  void ended(std::uint32_t stream, JobId job, std::uint32_t place, bool copy, Time now);

  // Calls join(operation) for each that may join its queue now, in the order of streams, and hold(operation,
  // rule) when a rule keeps one from it for the first time.
  template <typename Join, typename Hold>
  void advance(Time now, Join join, Hold hold) {
    take_due(now);
    while (!changed_.empty()) {
      for (const std::uint32_t s : streams_to_look_at())
        while (Operation* next = next_of(s)) {
          if (next->ready > now) break;
          if (const auto rule = obstacle(s, *next)) {
            const std::uint32_t bit = 1u << static_cast<int>(*rule);
            if ((next->said & bit) == 0) hold(*next, *rule);
            next->said |= bit;
            break;
          }
          ++streams_[s].joined;
          if (by_channel_) {
            channels_[streams_[s].channel].waiting.pop_front();
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
    std::size_t joined = 0;   // how many at the front have joined a queue
    std::size_t channel = 0;  // of its waiting operations
  };
  struct Channel {
    std::deque<std::uint32_t> waiting;  // the streams of its operations that have not joined, in order
    std::uint64_t last_issued = 0;
  };
  struct Ended {
    std::uint32_t stream = 0;
    JobId job;
    std::uint32_t place = 0;
  };
  std::size_t idlest_channel() const;
  void take_due(Time now);
  std::span<const std::uint32_t> streams_to_look_at();
  Operation* next_of(std::uint32_t stream);
  std::optional<Rule> obstacle(std::uint32_t stream, const Operation& operation) const;
  std::optional<Rule> null_obstacle(std::uint32_t stream, const Operation& operation) const;

  std::vector<Stream> streams_;
  std::optional<std::uint32_t> null_;
  RuleSet rules_;
  bool by_channel_;
  bool dynamic_;
  std::vector<Channel> channels_;
  // By whether the operation is a copy: the delay, streams whose operations may join later, operations that
  // leave later.
  std::array<Duration, 2> issue_delay_;
  std::array<DelayLine<std::uint32_t>, 2> ready_;
  std::array<DelayLine<Ended>, 2> over_;
  std::uint64_t issued_ = 0;
  std::vector<std::uint32_t> changed_, looked_at_, all_;  // streams
};

}  // namespace gangway
