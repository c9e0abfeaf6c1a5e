// Arrival processes: the distribution of gaps between requests of a client that does not wait for replies.
#pragma once

#include <memory>

#include "models/registry.hpp"

namespace gangway {

class Stream;

// A renewal process (Cox, "Renewal Theory", 1962): its gaps are independent and identically distributed. Only
// the shape is drawn here; the rate scales it, so a higher rate compresses the same sequence.
class ArrivalProcess {
 public:
  virtual ~ArrivalProcess() = default;
  // The next gap, in units of the mean gap: at least 0, and 1 on average.
  virtual double gap(Stream& random) const = 0;
};

// One self-registering file per process, in workloads/arrivals/.
struct ArrivalProcessEntry : Described {
  std::shared_ptr<const ArrivalProcess> (*make)(const ParameterValues&) = nullptr;
};
using ArrivalProcesses = Registry<ArrivalProcessEntry>;

template <typename P>
struct ArrivalProcessRegistration : Registration<ArrivalProcessEntry> {
  ArrivalProcessRegistration(std::string name, std::string summary, std::vector<Parameter> parameters,
                             const std::source_location& where = std::source_location::current())
      : Registration<ArrivalProcessEntry>(
            ArrivalProcessEntry{{std::move(name), std::move(summary), std::move(parameters)},
                                [](const ParameterValues& values) -> std::shared_ptr<const ArrivalProcess> {
                                  return std::make_shared<const P>(values);
                                }},
            where) {}
};

}  // namespace gangway
