#include "experiments/timelines/lanes.hpp"

namespace gangway {

std::size_t Lanes::place(Time begin, Time end, bool nested) {
  for (std::size_t lane = 0;; ++lane) {
    if (lane == ends_.size()) ends_.emplace_back();
    std::vector<Time>& ends = ends_[lane];
    while (!ends.empty() && ends.back() <= begin) ends.pop_back();
    if (!ends.empty() && !(nested && end <= ends.back())) continue;
    ends.push_back(end);
    return lane;
  }
}

}  // namespace gangway
