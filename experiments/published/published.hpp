// Values printed in papers, and how near a run came to them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/input/field.hpp"

namespace gangway {

// Several clients whose values are taken together.
struct TakenClients {
  std::string take;                 // mean, median, min or max
  std::vector<std::string> of;      // only these; empty: all of the point
  std::vector<std::string> except;  // all but these

  std::string text() const;  // "max of all", "min of Scan Triad", "mean of all but urgent"
};

// What one printed value is compared with. The metric of one point, policy and client, or of several clients
// taken together, is divided by `relative_to*`, less that of `minus`, then changed as `as` says, and at last
// taken over several points. Times are in ns.
struct PublishedValue {
  std::string figure;
  std::string printed;  // of the paper's list (printed.hpp); empty: printed nowhere
  std::uint32_t point = 0;
  std::string policy;
  std::string client;  // empty: a metric of the whole point, or
  std::optional<TakenClients> clients = {};
  std::string metric;
  std::string relation;  // = < > in order
  double published = 0;
  std::optional<double> published_to = {};  // of relation `in`: the other end
  std::string class_name;                   // tight moderate order input open
  std::string group;
  std::string relative_to;                              // a policy: its value divides, or
  std::optional<std::uint32_t> relative_to_point = {};  // that at this point, or
  std::string relative_to_client;                       // that of this client, or
  std::optional<TakenClients> relative_to_clients = {};
  std::string minus;  // a policy: its value is subtracted
  std::string as;     // overhead: less one; loss: one less it; speedup: its inverse; empty: as it is
  std::uint32_t last_point = 0;  // of those from `point` on whose values are taken together
  std::string take;              // mean, median, min or max of them; empty: of `point` alone
  std::string note;
  Origin origin = {};
  std::string path;  // in the file, for errors

  bool counted() const { return class_name != "open" && class_name != "input"; }
  std::string who() const { return clients ? clients->text() : client; }
  // What the metric is divided by, for people; empty: nothing.
  std::string divisor() const;
  std::string quantity() const;  // the metric and what it is relative to, for people
  // Of a comparison without a number: the value that stands for "the same".
  double neutral() const { return !minus.empty() || as == "overhead" || as == "loss" ? 0 : 1; }
};

struct Verdict {
  std::optional<double> measured;
  std::optional<double> relative_error;  // of `in`: from the nearer end, 0 inside
  std::string verdict;                   // pass, miss, input, shown
};

// What a run measured, by point, policy, client ("" for the point's own) and metric.
class Measured {
 public:
  void put(std::uint32_t point, const std::string& policy, const std::string& client,
           const std::string& metric, std::optional<double> value);
  std::optional<double> get(std::uint32_t point, const std::string& policy, const std::string& client,
                            const std::string& metric) const;
  std::vector<std::string> clients(std::uint32_t point, const std::string& policy) const;  // sorted

 private:
  std::map<std::tuple<std::uint32_t, std::string, std::string, std::string>, double> values_;
};

// Throws InputError.
PublishedValue read_published(const Field& field);

// Refuses values of which one is compared twice: of the same measured quantity there is one entry, whatever
// its class. Throws InputError.
void refuse_repeated(const std::vector<PublishedValue>& values);

// How two values rank: -1 below, 1 above, 0 when they are within 5% of each other, a tie.
int ranking(double a, double b);

// One verdict for each value, in order. tight: within 2%; moderate: within 10%; order: the values of a group
// rank as printed, where values within 5% of each other count as a tie; <, > and in: the measured value is
// below, above or between; input: it follows from what was put in, so that it is neither met nor missed;
// open: shown.
std::vector<Verdict> judge(const std::vector<PublishedValue>& values, const Measured& measured);

}  // namespace gangway
