#include "experiments/results/starved_cells.hpp"

namespace gangway {

void StarvedCells::add(std::uint32_t point, const std::string& policy, const std::string& clients) {
  if (!clients.empty()) clients_[{point, policy}] = clients;
}

std::string StarvedCells::note(const PublishedValue& value, const Verdict& verdict) const {
  if (verdict.measured) return value.note;
  const auto starved = [&](std::uint32_t point) {
    for (const std::string& policy : {value.policy, value.relative_to, value.minus})
      if (const auto found = clients_.find({point, policy}); found != clients_.end()) return found->second;
    return std::string();
  };
  std::string clients = value.relative_to_point ? starved(*value.relative_to_point) : "";
  for (std::uint32_t point = value.point; point <= value.last_point && clients.empty(); ++point)
    clients = starved(point);
  if (clients.empty()) return value.note;
  return "starved: " + clients + (value.note.empty() ? "" : "; " + value.note);
}

}  // namespace gangway
