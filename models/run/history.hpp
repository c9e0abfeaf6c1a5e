// The last records of a run, for the message when it is stopped.
#pragma once

#include <array>

#include "models/trace.hpp"
#include "models/workload.hpp"

namespace gangway {

class History {
 public:
  void add(const Record& record) { kept_[added_++ % kept_.size()] = record; }
  void clear() { added_ = 0; }
  // "at NOW ns WHAT; what happened before:" and one line per record, oldest first.
  std::string text(Time now, const std::string& what, const Workload& workload) const;

 private:
  std::array<Record, 32> kept_;
  std::uint64_t added_ = 0;
};

}  // namespace gangway
