#include "hw/live/checkpoint/checkpointed.hpp"

#include <algorithm>

#include "hw/live/checkpoint/driver_checkpoints.hpp"

namespace gangway::live {

using Act = CheckpointOrder::Act;

void Checkpointed::order(Goal goal, std::uint32_t number) {
  goal_ = goal;
  number_ = number;
}

bool Checkpointed::move() {
  if (asked_ || hopeless_ || where_ != Where::here || goal_ != Goal::here) return false;
  return moves_ = true;
}

std::optional<Act> Checkpointed::next(const KeptClient::Memory& client) {
  if (asked_) return std::nullopt;
  std::optional<Act> act;
  switch (where_) {
    case Where::unknown:
      act = Act::look;
      break;
    case Where::locked:  // it holds its memory already
      act = Act::restore;
      break;
    case Where::here:
      if (moves_)
        act = Act::move;
      else if (goal_ == Goal::away && !hopeless_ && done_ != number_)
        act = Act::save;
      break;
    case Where::away:
      if (goal_ == Goal::here && budget_ >= client.footprint()) act = Act::restore;
      break;
  }
  asked_ = act.has_value();
  begun_ = begun_ || (asked_ && *act != Act::look);
  if (!asked_ && (where_ == Where::away) == (goal_ == Goal::away)) over();
  return act;
}

void Checkpointed::lost() {
  begun_ = begun_ || where_ == Where::away || where_ == Where::locked;
  asked_ = moves_ = false;
  where_ = Where::unknown;
}

bool Checkpointed::given_up() {
  lost();
  if (begun_) return false;
  where_ = Where::here;
  hopeless_ = true;
  over();
  return true;
}

void Checkpointed::answered(const CheckpointAnswer& answer) {
  asked_ = begun_ = false;
  if (answer.order.act == Act::move) moves_ = false;
  const auto state = static_cast<DriverCheckpoints::State>(answer.state);
  where_ = state == DriverCheckpoints::State::checkpointed ? Where::away
           : state == DriverCheckpoints::State::locked     ? Where::locked
                                                           : Where::here;
  if (answer.error == DriverCheckpoints::kSuccess) return;
  if (answer.order.act == Act::look) where_ = Where::here;  // it is no process of the driver's any more
  hopeless_ = hopeless_ || answer.hopeless != 0;
  error_ = static_cast<std::uint32_t>(answer.error);
  ++turned_;
  over();
}

KeptClient::Memory Checkpointed::seen(KeptClient::Memory client) const {
  const bool known = where_ != Where::unknown;
  client.away = where_ == Where::away || (!known && !asked_) ? client.movable : 0;
  client.claimed -= std::min(client.claimed, client.away);
  client.done = known ? done_ : 0;
  client.turned = turned_;
  client.error = error_;
  client.no_host = hopeless_;
  client.host = hopeless_ || !known ? 0 : client.movable;
  return client;
}

}  // namespace gangway::live
