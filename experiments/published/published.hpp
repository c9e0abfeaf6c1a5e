// Compares a run with values printed in papers.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "experiments/results/bounded_value.hpp"
#include "models/input/field.hpp"

namespace gangway {

// Several clients whose values are combined.
struct TakenClients {
  std::string take;                 // mean, median, min or max
  std::vector<std::string> of;      // only these; empty: all of the point
  std::vector<std::string> except;  // all except these

  std::string text() const;  // "max of all", "min of Scan Triad", "mean of all but urgent"
};

// What a printed value is compared with. The metric of one point, policy and client, or of several clients
// combined, is divided by `relative_to*`, reduced by `minus`, transformed by `as`, and finally combined over
// points. Times are in ns.
struct PublishedValue {
  std::string figure;
  std::string printed;  // in the paper's list (printed.hpp); empty: not printed
  std::uint32_t point = 0;
  std::string policy;
  std::string client;  // empty: a metric of the whole point, or
  std::optional<TakenClients> clients = {};
  std::string metric;
  std::string relation;  // = < > in order
  double published = 0;
  std::optional<double> published_to = {};  // relation `in`: the other end
  std::string class_name;                   // tight moderate order input open
  std::string group;
  std::string relative_to;                              // divide by this policy's value, or
  std::optional<std::uint32_t> relative_to_point = {};  // by that at this point, or
  std::string relative_to_client;                       // by that of this client, or
  std::optional<TakenClients> relative_to_clients = {};
  std::string minus;  // subtract this policy's value
  std::string as;     // overhead: minus one; loss: one minus it; speedup: inverse; empty: unchanged
  std::uint32_t last_point = 0;  // last of the combined points, from `point` on
  std::string take;              // how to combine them: mean, median, min or max; empty: `point` alone
  std::string note;
  Origin origin = {};
  std::string path;  // within the file, for errors

  bool counted() const { return class_name != "open" && class_name != "input"; }
  std::string who() const { return clients ? clients->text() : client; }
  // The divisor in words; empty: none.
  std::string divisor() const;
  std::string quantity() const;  // the metric and what it is relative to, in words
  // For a comparison without a number: the value that means "the same".
  double neutral() const { return !minus.empty() || as == "overhead" || as == "loss" ? 0 : 1; }
};

struct Verdict {
  std::optional<double> measured;
  Certainty certainty = Certainty::exact;  // what the real value is beside it
  std::optional<double> relative_error;    // for `in`: from the nearer end, 0 inside
  std::string verdict;                     // pass, miss, input, shown
  // It holds of the measured value, but not of all that the real one could be.
  bool unproven = false;
};

// Measured values by point, policy, client ("" for the point) and metric.
class Measured {
 public:
  void put(std::uint32_t point, const std::string& policy, const std::string& client,
           const std::string& metric, const std::optional<BoundedValue>& value);
  void put(std::uint32_t point, const std::string& policy, const std::string& client,
           const std::string& metric, std::optional<double> exact);
  std::optional<BoundedValue> get(std::uint32_t point, const std::string& policy, const std::string& client,
                                  const std::string& metric) const;
  std::vector<std::string> clients(std::uint32_t point, const std::string& policy) const;  // sorted

 private:
  std::map<std::tuple<std::uint32_t, std::string, std::string, std::string>, BoundedValue> values_;
};

// Throws InputError.
PublishedValue read_published(const Field& field);

// Refuses two entries for the same measured quantity, whatever their class. Throws InputError.
void refuse_repeated(const std::vector<PublishedValue>& values);

// Ranking of two values: -1 below, 1 above, 0 if within 5% of each other (a tie).
int ranking(double a, double b);

// One verdict per value, in order. A value that is a bound passes only if all that it could be pass. tight:
// within 2%; moderate: within 10%; order: the values of a group rank as printed, with ties within 5%; <, >
// and in: below, above or between; input: follows from inputs, so neither met nor missed; open: shown only.
std::vector<Verdict> judge(const std::vector<PublishedValue>& values, const Measured& measured);

}  // namespace gangway
