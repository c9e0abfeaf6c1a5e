// Whether replications were asked for where nothing is random: their intervals are then 0 and mean nothing.
#pragma once

#include <optional>
#include <string>

#include "experiments/running/group.hpp"

namespace gangway {

class EqualReplications {
 public:
  void add(const GroupRows& cell);
  // One line, if there are several replications and they are equal in every cell.
  std::optional<std::string> text() const;

 private:
  bool several_ = false, differ_ = false;
};

}  // namespace gangway
