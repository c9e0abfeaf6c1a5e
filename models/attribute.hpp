// Numbers that a workload gives a client under freely chosen names, for policies that read them.
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
