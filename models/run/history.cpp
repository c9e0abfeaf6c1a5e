#include "models/run/history.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace gangway {

std::string History::text(Time now, const std::string& what, const Workload& workload) const {
  std::string text = fmt::format("at {} ns {}; what happened before:", now.ns, what);
  for (std::uint64_t i = added_ - std::min<std::uint64_t>(added_, kept_.size()); i < added_; ++i) {
    const Record& record = kept_[i % kept_.size()];
    text += "\n  " + describe(record, workload.clients[record.job.client.index].name);
  }
  return text;
}

}  // namespace gangway
