// Values printed in papers, and how near a run came to them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/input/field.hpp"

namespace gangway {

struct PublishedValue {
  std::string figure;
  std::uint32_t point = 0;
  std::string policy;
  std::string client;  // empty: a metric of the whole point
  std::string metric;
  std::string relation;  // = < > order
  double published = 0;
  std::string class_name;  // tight moderate order open
  std::string group;
  std::string relative_to;                              // a policy: its value divides, or
  std::optional<std::uint32_t> relative_to_point = {};  // that at this point
  std::uint32_t last_point = 0;  // of those from `point` on whose values are taken together
  std::string take;              // mean, min or max of them; empty: of `point` alone
  std::string note;

  // What the metric is divided by, for people; empty: nothing.
  std::string divisor() const;
};

struct Verdict {
  std::optional<double> measured;
  std::optional<double> relative_error;
  std::string verdict;  // pass, miss, shown
};

// What a run measured, by point, policy, client ("" for the point's own) and metric.
class Measured {
 public:
  void put(std::uint32_t point, const std::string& policy, const std::string& client,
           const std::string& metric, std::optional<double> value);
  std::optional<double> get(std::uint32_t point, const std::string& policy, const std::string& client,
                            const std::string& metric) const;

 private:
  std::map<std::tuple<std::uint32_t, std::string, std::string, std::string>, double> values_;
};

PublishedValue read_published(const Field& field);

// Names of the metrics of a point and of a client, as result files and published values spell them.
const std::vector<std::string>& point_metrics();
const std::vector<std::string>& client_metrics();

// How two values rank: -1 below, 1 above, 0 when they are within 5% of each other, a tie.
int ranking(double a, double b);

// One verdict for each value, in order. tight: within 2%; moderate: within 10%; order: the values of a group
// rank as printed, where values within 5% of each other count as a tie; < and >: the measured value is below
// or above; open: shown.
std::vector<Verdict> judge(const std::vector<PublishedValue>& values, const Measured& measured);

}  // namespace gangway
