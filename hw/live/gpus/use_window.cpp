#include "hw/live/gpus/use_window.hpp"

#include <algorithm>

namespace gangway::live {

void UseWindow::add(Time now, bool demand, std::optional<double> use) {
  std::int64_t span = begun_ ? (now - last_).ns : 0;
  begun_ = true;
  last_ = now;
  while (span > 0) {
    if (parts_[static_cast<std::size_t>(at_ % kParts)].seen == part_)
      parts_[static_cast<std::size_t>(++at_ % kParts)] = {};
    Part& part = parts_[static_cast<std::size_t>(at_ % kParts)];
    const std::int64_t taken = std::min(span, part_ - part.seen);
    part.seen += taken;
    if (demand) part.demand += taken;
    if (use) {
      part.known += taken;
      part.use += *use * static_cast<double>(taken);
    }
    span -= taken;
  }
}

// The part under way has replaced the oldest: nine whole ones are there then.
bool UseWindow::full() const { return at_ >= kParts - 1; }

double UseWindow::demand() const {
  std::int64_t seen = 0, demand = 0;
  for (const Part& part : parts_) seen += part.seen, demand += part.demand;
  return seen == 0 ? 0 : static_cast<double>(demand) / static_cast<double>(seen);
}

std::optional<double> UseWindow::use() const {
  std::int64_t known = 0;
  double use = 0;
  for (const Part& part : parts_) known += part.known, use += part.use;
  if (known == 0) return std::nullopt;
  return use / static_cast<double>(known);
}

}  // namespace gangway::live
