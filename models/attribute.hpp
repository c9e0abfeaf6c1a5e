// Numbers that a workload gives a client under names of its own choice, for policies that ask for them.
#pragma once

#include <string>
#include <vector>

namespace gangway {

struct Attribute {
  std::string name;
  double value = 0;
};
using Attributes = std::vector<Attribute>;  // each name once

}  // namespace gangway
