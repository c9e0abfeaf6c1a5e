// Points and policies with starving clients, for notes on published values.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "experiments/published/published.hpp"

namespace gangway {

class StarvedCells {
 public:
  // `clients`: names separated by '|'; ignored if empty.
  void add(std::uint32_t point, const std::string& policy, const std::string& clients);
  // The value's own note, preceded by "starved: a|b" if the value could not be measured because clients
  // starve in a cell it depends on.
  std::string note(const PublishedValue& value, const Verdict& verdict) const;

 private:
  std::map<std::pair<std::uint32_t, std::string>, std::string> clients_;
};

}  // namespace gangway
