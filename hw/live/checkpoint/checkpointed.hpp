// One client whose whole process the driver checkpoints: translates the memory keeper's orders into steps for
// the helper process. Does no input or output: its owner sends the steps and passes on the answers.
// Definition: hw/live/checkpoint/README.md.
#pragma once

#include <cstdint>
#include <optional>

#include "hw/live/checkpoint/checkpoint_helper.hpp"
#include "hw/live/memory/keeper.hpp"

namespace gangway::live {

class Checkpointed {
 public:
  // `returns`: the client was another daemon's, so it is not known where its memory is.
  explicit Checkpointed(bool returns) : where_(returns ? Where::unknown : Where::here) {}

  void order(Goal goal, std::uint32_t number);
  void budget(std::uint64_t bytes) { budget_ = bytes; }
  void answered(const CheckpointAnswer& answer);
  void unsent() {  // what next() returned could not be sent
    asked_ = false;
    if (where_ != Where::unknown) begun_ = false;
  }
  void lost();  // the helper ended; its last step may or may not have been done
  // No helper makes the driver's calls any more: the state stays where it is. False: it was not on the
  // device, or was moving, so the process can never continue.
  bool given_up();
  // Orders a move to another GPU. False: not possible now, because the state moves, is away, or cannot leave.
  bool move();
  bool moves() const { return moves_; }  // from move() until it has succeeded or failed
  // The next step for the helper, if any, given the client's report about its memory.
  std::optional<CheckpointOrder::Act> next(const KeptClient::Memory& client);
  // The client's report as the keeper should see it: with the effects of checkpoints.
  KeptClient::Memory seen(KeptClient::Memory client) const;
  bool hopeless() const { return hopeless_; }
  bool away() const { return where_ == Where::away; }  // as far as is known

 private:
  enum class Where { unknown, here, locked, away };
  void over() { done_ = number_; }

  Where where_;
  bool asked_ = false, hopeless_ = false, moves_ = false;
  bool begun_ = false;  // a step that changes where the state is may have been done since it was last known
  Goal goal_ = Goal::here;
  std::uint32_t number_ = 0, error_ = 0;
  std::uint64_t done_ = 0, turned_ = 0, budget_ = 0;
};

}  // namespace gangway::live
