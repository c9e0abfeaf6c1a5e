// The points of an experiment: every combination of its swept parameters, read when it is asked for.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "experiments/sweeps/group_counts.hpp"
#include "experiments/sweeps/sweep.hpp"
#include "models/device.hpp"
#include "models/granting.hpp"
#include "models/mechanism.hpp"
#include "models/placing.hpp"
#include "models/policy.hpp"
#include "workloads/source.hpp"

namespace gangway {

// The experiment's device as one policy changes it, and the workload as read for that device.
struct OwnDevice {
  Device device;
  WorkloadSource workload;
};

// A policy as it is played: under the experiment's mechanism and on its device, or on ones of its own.
struct Contender : ChosenPolicy {
  ChosenMechanism mechanism;
  Granting granting = {};
  Placing placing = Placing::fixed;
  Origin grant = {};  // where that is given, for errors
  std::string grant_path = {};
  std::optional<OwnDevice> own = std::nullopt;
  Origin gpus = {};  // where the number of GPUs is given, for errors
  std::string gpus_path = {};
};

// One combination of the swept parameters, ready to run.
struct Point {
  std::vector<std::string> values;  // as text, one per swept path
  std::uint64_t seed = 1;
  Device device;                                   // of the policies that have none of their own
  std::shared_ptr<const WorkloadSource> workload;  // likewise; clients' names and arrivals are everybody's
  ChosenMechanism mechanism;
  Granting granting;  // of policies that do not say it themselves
  Placing placing = Placing::fixed;
  std::vector<Contender> policies;  // sorted by label; labels are unique

  const Device& device_of(const Contender& policy) const { return policy.own ? policy.own->device : device; }
  const WorkloadSource& workload_of(const Contender& policy) const {
    return policy.own ? policy.own->workload : *workload;
  }
};

// May be read from any thread. What the sweep does not change is read once; of what it does change in a
// workload, the latest few are kept.
class Points {
 public:
  using Check = std::function<void(const Point&)>;

  Points() = default;
  // `root` is a resolved experiment, which must be right by itself; `check` says what else holds of a point.
  // Throws InputError.
  Points(Node root, Sweep sweep, Check check);

  std::uint32_t size() const { return sweep_.points(); }
  const Sweep& sweep() const { return sweep_; }

  // Throws InputError where the values of the point do not go together.
  Point operator[](std::uint32_t point) const;

  std::uint64_t policies_at(std::uint32_t point) const { return groups_.at(point); }  // how many
  const GroupCounts& groups() const { return groups_; }                               // policies of points
  std::vector<std::string> labels_at(std::uint32_t point) const;  // of its policies, in their order

  // Reads the points of Sweep::checked().
  void each_checked(const Check& visit) const;

 private:
  struct Recent;
  struct Sections;
  Point read(const Sections& sections) const;

  Node root_;
  Sweep sweep_;
  Check check_;
  std::vector<std::string> swept_keys_;  // below which something is swept
  GroupCounts groups_;
  std::shared_ptr<Recent> recent_;
};

Capabilities needs_of(const Contender& contender);

}  // namespace gangway
