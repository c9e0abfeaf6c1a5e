// Common to mechanisms whose blocks read a flag before each block-task (FRS paper, III): a block that sees
// the flag first finishes its current block-task.
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
