// Workload files: fixed clients, or a generator that draws them from the seed.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "models/device.hpp"
#include "models/registry.hpp"
#include "models/workload.hpp"

namespace gangway {

// Draws the clients of one replication. A generator's constructor throws std::invalid_argument, saying what
// was found, when its parameters do not fit together. Same seed and replication, same clients; every
// replication has the same names.
class Generator {
 public:
  virtual ~Generator() = default;
  virtual std::vector<Client> draw(std::uint64_t seed, std::uint32_t replication) const = 0;
};

struct GeneratorEntry : Described {
  std::unique_ptr<Generator> (*make)(const ParameterValues&) = nullptr;
};
using Generators = Registry<GeneratorEntry>;

template <typename G>
struct GeneratorRegistration : Registration<GeneratorEntry> {
  GeneratorRegistration(std::string name, std::string summary, std::vector<Parameter> parameters,
                        const std::source_location& where = std::source_location::current())
      : Registration<GeneratorEntry>(
            GeneratorEntry{{std::move(name), std::move(summary), std::move(parameters)},
                           [](const ParameterValues& values) -> std::unique_ptr<Generator> {
                             return std::make_unique<G>(values);
                           }},
            where) {}
};

// A `kind: workload` mapping as read, for whatever device it is played on.
struct ParsedWorkload {
  Workload workload;  // clients as drawn for replication 0 of seed 0, where they are drawn
  std::shared_ptr<const Generator> generator;  // that draws them
  double load = 1;  // by which what arrives is scaled; done, but for clients drawn later
  WorkloadPlace place;

  // Throws InputError.
  explicit ParsedWorkload(const Field& field);
};

// A workload on a device, where times may follow from the length of a block.
class WorkloadSource {
 public:
  // Throws InputError when a kernel's block exceeds the device.
  WorkloadSource(const ParsedWorkload& parsed, const Device& device);

  // Keeps only the clients that are listed, in the order of the workload. Throws InputError for an unknown
  // name and for clients that are drawn.
  void choose(const Field& names);

  // Replaces what is known of the recordings that clients play.
  void know_recorded(
      const std::function<std::shared_ptr<const Recorded>(const Client&, const Device&)>& known);

  bool generated() const { return generator_ != nullptr; }
  Workload draw(std::uint64_t seed, std::uint32_t replication) const;
  // Names, arrivals, jitter; with clients unless generated (then as drawn for replication 0 of seed 0).
  const Workload& sample() const { return workload_; }
  const WorkloadPlace& place() const { return place_; }

 private:
  Device device_;
  Workload workload_;
  std::shared_ptr<const Generator> generator_;
  double load_;
  WorkloadPlace place_;
};

// Reads a workload without a device to hold it against.
Workload read_clients(const Field& field);

}  // namespace gangway
