// One client whose whole process the driver checkpoints: the keeper's orders about it, as steps of the helper
// process. Pure: whoever has it sends the steps and brings the answers.
#pragma once

#include <cstdint>
#include <optional>

#include "hw/live/checkpoint/checkpoint_helper.hpp"
#include "hw/live/memory/keeper.hpp"

namespace gangway::live {

class Checkpointed {
 public:
  // Of a client that returns from another daemon nobody knows where its memory is.
  explicit Checkpointed(bool returns) : where_(returns ? Where::unknown : Where::here) {}

  void order(Goal goal, std::uint32_t number);
  void budget(std::uint64_t bytes) { budget_ = bytes; }
  void answered(const CheckpointAnswer& answer);
  void unsent() { asked_ = begun_ = false; }  // what next() has said
  void lost();                                // the helper: where it was in its work is not known
  // Nobody makes the driver's calls any more: it stays where it is. False: it was not on the device, or about
  // to leave or to come, so it can never go on.
  bool given_up();
  // It is to go to another GPU, once. False: not now, as its state is on its way, or away, or stays.
  bool move();
  bool moves() const { return moves_; }  // until that has succeeded or failed
  // What is to be asked of the helper now, if anything, given what the client says of itself.
  std::optional<CheckpointOrder::Act> next(const KeptClient::Memory& client);
  // As the keeper is to see it.
  KeptClient::Memory seen(KeptClient::Memory client) const;
  bool hopeless() const { return hopeless_; }

 private:
  enum class Where { unknown, here, locked, away };
  void over() { done_ = number_; }

  Where where_;
  bool asked_ = false, hopeless_ = false, moves_ = false;
  bool begun_ = false;  // the latest that is known of it is older than an order that changes where it is
  Goal goal_ = Goal::here;
  std::uint32_t number_ = 0, error_ = 0;
  std::uint64_t done_ = 0, turned_ = 0, budget_ = 0;
};

}  // namespace gangway::live
