// The points of an experiment: combinations of its swept parameters, read on demand.
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

// A policy's variant of the experiment's device, and the workload read for it.
struct OwnDevice {
  Device device;
  WorkloadSource workload;
};

// A policy with its mechanism and device: the experiment's or its own.
struct Contender : ChosenPolicy {
  ChosenMechanism mechanism;
  Granting granting = {};
  Placing placing = Placing::fixed;
  Origin place = {};  // where the policy is given, for errors
  Origin grant = {};  // likewise
  std::string grant_path = {};
  std::optional<OwnDevice> own = std::nullopt;
  Origin gpus = {};  // where the number of GPUs is given, for errors
  std::string gpus_path = {};
  Origin time_slice = {};  // likewise, the device's time slices
  std::string time_slice_path = {};
};

// A combination of the swept parameters, ready to run.
struct Point {
  std::vector<std::string> values;  // as text, one per swept path
  std::uint64_t seed = 1;
  Device device;  // for policies without their own
  std::shared_ptr<const WorkloadSource>
      workload;  // likewise; names and arrivals of clients are common to all
  ChosenMechanism mechanism;
  Granting granting;  // for policies without their own
  Placing placing = Placing::fixed;
  std::vector<Contender> policies;  // sorted by label; labels are unique

  const Device& device_of(const Contender& policy) const { return policy.own ? policy.own->device : device; }
  const WorkloadSource& workload_of(const Contender& policy) const {
    return policy.own ? policy.own->workload : *workload;
  }
};

// Thread-safe. Unswept parts are read once; of swept workloads the latest few are cached.
class Points {
 public:
  using Check = std::function<void(const Point&)>;

  Points() = default;
  // `root`: a resolved experiment, valid by itself; `check`: further conditions on each point. Throws
  // InputError.
  Points(Node root, Sweep sweep, Check check);

  std::uint32_t size() const { return sweep_.points(); }
  const Sweep& sweep() const { return sweep_; }

  // Throws InputError if the point's values conflict.
  Point operator[](std::uint32_t point) const;

  std::uint64_t policies_at(std::uint32_t point) const { return groups_.at(point); }  // number of policies
  const GroupCounts& groups() const { return groups_; }                               // policies of points
  std::vector<std::string> labels_at(std::uint32_t point) const;  // of its policies, in order

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
