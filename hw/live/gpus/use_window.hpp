// The share of the latest window in which a client or a GPU was busy. The window slides in tenths.
#pragma once

#include <array>
#include <cstdint>

#include "models/quantity.hpp"

namespace gangway::live {

class UseWindow {
 public:
  explicit UseWindow(Duration window) : part_(window.ns / kParts) {}
  // Adds the time since the last call with this state. The first call begins the window.
  void add(Time now, bool demand, bool use);
  void restart() { *this = UseWindow(Duration{part_ * kParts}); }
  // Shares of the time seen, at most the window's length; 0 if none yet.
  double demand() const { return share(&Part::demand); }
  double use() const { return share(&Part::use); }
  bool full() const;  // at least nine tenths of a window were seen

 private:
  static constexpr std::int64_t kParts = 10;
  struct Part {
    std::int64_t seen = 0, demand = 0, use = 0;  // ns
  };
  double share(std::int64_t Part::*of) const;

  std::int64_t part_;  // ns
  std::array<Part, kParts> parts_{};
  std::int64_t at_ = 0;  // number of the current part, from 0
  Time last_;
  bool begun_ = false;
};

}  // namespace gangway::live
