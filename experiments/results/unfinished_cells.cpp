#include "experiments/results/unfinished_cells.hpp"

namespace gangway {

void UnfinishedCells::add(std::uint32_t point, const std::string& policy, const GroupRows& rows) {
  Clients clients{cell(rows.summary, "starved").text(), ""};
  for (const auto& [name, row] : rows.clients)
    if (cell(row, "unfinished").number().value_or(0) > 0)
      clients.unfinished += (clients.unfinished.empty() ? "" : "|") + name;
  if (!clients.unfinished.empty() || !clients.starved.empty()) clients_[{point, policy}] = clients;
}

// Of the first cell that the value depends on and that has any.
std::string UnfinishedCells::first(const PublishedValue& value, std::string Clients::*which) const {
  const auto at = [&](std::uint32_t point) {
    for (const std::string& policy : {value.policy, value.relative_to, value.minus})
      if (const auto found = clients_.find({point, policy});
          found != clients_.end() && !(found->second.*which).empty())
        return found->second.*which;
    return std::string();
  };
  std::string clients = value.relative_to_point ? at(*value.relative_to_point) : "";
  for (std::uint32_t point = value.point; point <= value.last_point && clients.empty(); ++point)
    clients = at(point);
  return clients;
}

std::string UnfinishedCells::note(const PublishedValue& value, const Verdict& verdict) const {
  std::string said;
  if (!verdict.measured) {
    const std::string clients = first(value, &Clients::starved);
    if (!clients.empty()) said = "starved: " + clients;
  } else if (verdict.certainty != Certainty::exact) {
    said = "unfinished or killed jobs of " + first(value, &Clients::unfinished);
    if (verdict.unproven) said += " could change the verdict";
  }
  return said + (said.empty() || value.note.empty() ? "" : "; ") + value.note;
}

}  // namespace gangway
