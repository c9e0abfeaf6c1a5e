// What mechanisms have in common whose blocks read a flag before each block-task (FRS paper, III): each block
// ends the block-task that it is at when it sees the flag.
#pragma once

#include <vector>

#include "models/mechanism.hpp"

namespace gangway {

class FlagMechanism : public Mechanism {
 public:
  explicit FlagMechanism(const ParameterValues& values)
      : useful_(values.number("useful")), scale_(values.number("delay_scale")) {}

  CommandDelays delays(const Kernel& kernel, const Device& device) const override;

  static std::vector<Parameter> parameters();

 private:
  double useful_;
  double scale_;
};

}  // namespace gangway
