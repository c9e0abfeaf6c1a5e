// Which points and policies have clients that starve, for notes beside published values.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "experiments/published/published.hpp"

namespace gangway {

class StarvedCells {
 public:
  // `clients`: names with '|' between them; nothing where it is empty.
  void add(std::uint32_t point, const std::string& policy, const std::string& clients);
  // The value's own note; where the value could not be measured because clients starve in a cell that it is
  // of, relative to or less that of, "starved: a|b" before it.
  std::string note(const PublishedValue& value, const Verdict& verdict) const;

 private:
  std::map<std::pair<std::uint32_t, std::string>, std::string> clients_;
};

}  // namespace gangway
