// The share of the latest window in which a client or a GPU was busy. The window slides in tenths. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "models/quantity.hpp"

namespace gangway::live {

class UseWindow {
 public:
  explicit UseWindow(Duration window) : part_(window.ns / kParts) {}
  // Adds the time since the last call with this state. `use`: the share that was its own, 0 to 1; none: not
  // known. The first call begins the window.
  void add(Time now, bool demand, std::optional<double> use);
  void restart() { *this = UseWindow(Duration{part_ * kParts}); }
  // Shares of the time seen, at most the window's length. Demand is 0 if there is none yet. The use counts in
  // the time in which it was known; none: there is no such time.
  double demand() const;
  std::optional<double> use() const;
  bool full() const;  // at least nine tenths of a window were seen

 private:
  static constexpr std::int64_t kParts = 10;
  struct Part {
    std::int64_t seen = 0, demand = 0, known = 0;  // ns
    double use = 0;                                // likewise
  };

  std::int64_t part_;  // ns
  std::array<Part, kParts> parts_{};
  std::int64_t at_ = 0;  // number of the current part, from 0
  Time last_;
  bool begun_ = false;
};

}  // namespace gangway::live
