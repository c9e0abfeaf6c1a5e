// How much of the latest while a client, or a GPU, was busy: shares of a window that slides in tenths.
#pragma once

#include <array>
#include <cstdint>

#include "models/quantity.hpp"

namespace gangway::live {

class UseWindow {
 public:
  explicit UseWindow(Duration window) : part_(window.ns / kParts) {}
  // What was so since the last call, or since the window began, which the first call does.
  void add(Time now, bool demand, bool use);
  void restart() { *this = UseWindow(Duration{part_ * kParts}); }
  // Of what the window has seen, at most its length; 0 if nothing yet.
  double demand() const { return share(&Part::demand); }
  double use() const { return share(&Part::use); }
  bool full() const;  // it has seen a whole window

 private:
  static constexpr std::int64_t kParts = 10;
  struct Part {
    std::int64_t seen = 0, demand = 0, use = 0;  // ns
  };
  double share(std::int64_t Part::*of) const;

  std::int64_t part_;  // ns
  std::array<Part, kParts> parts_{};
  std::int64_t at_ = 0;  // the part under way counts on from 0
  Time last_;
  bool begun_ = false;
};

}  // namespace gangway::live
