// Points and policies with jobs that did not finish, for notes on published values.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "experiments/published/published.hpp"
#include "experiments/running/group.hpp"

namespace gangway {

class UnfinishedCells {
 public:
  void add(std::uint32_t point, const std::string& policy, const GroupRows& rows);
  // The value's own note. Before it, "starved: a|b" if the value could not be measured because clients starve
  // in a cell it depends on, or "unfinished or killed jobs of a|b" if they make it a bound.
  std::string note(const PublishedValue& value, const Verdict& verdict) const;

 private:
  struct Clients {
    std::string starved, unfinished;  // names separated by '|'
  };
  std::string first(const PublishedValue& value, std::string Clients::*which) const;

  std::map<std::pair<std::uint32_t, std::string>, Clients> clients_;  // where there are any
};

}  // namespace gangway
