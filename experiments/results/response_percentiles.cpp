#include "experiments/results/response_percentiles.hpp"

#include <algorithm>
#include <string>

namespace gangway {

void ResponsePercentiles::add(const ResponseTimes& replication) {
  pooled_.add(replication);
  for (std::size_t i = 0; i < shares_.size(); ++i) {
    const auto value = replication.at(shares_[i]);
    if (value) replications_[i].ns.push_back(static_cast<double>(value->value.ns));
    replications_[i].exact = replications_[i].exact && (!value || value->exact);
  }
}

Cell ResponsePercentiles::percentile(double share) const {
  const auto value = pooled_.at(share);
  return value ? Cell(static_cast<double>(value->value.ns)) : Cell();
}

Cell ResponsePercentiles::most(double share) const {
  const auto most = pooled_.most(share);
  return most ? Cell(static_cast<double>(most->ns)) : Cell();
}

bool ResponsePercentiles::exact(double share) const {
  const auto value = pooled_.at(share);
  return !value || value->exact;
}

Cell ResponsePercentiles::kind() const {
  if (!pooled_.at(0.5)) return {};
  if (!exact(0.5) || !exact(0.99)) return std::string("lower-bound");
  return std::string(pooled_.rounded() ? "rounded" : "exact");
}

Cell ResponsePercentiles::ci95(double share) const {
  const auto place = std::find(shares_.begin(), shares_.end(), share) - shares_.begin();
  const OfShare& all = replications_.at(static_cast<std::size_t>(place));
  return all.exact ? Cell(half_width_95(all.ns)) : Cell();
}

}  // namespace gangway
