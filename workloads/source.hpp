// Workload files: fixed clients, or a generator that draws them from the seed.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "models/device.hpp"
#include "models/registry.hpp"
#include "models/workload.hpp"

namespace gangway {

// Draws the clients of a replication. A generator's constructor throws std::invalid_argument, with what was
// found, if parameters conflict. Deterministic in seed and replication; names are the same in every
// replication.
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

// A `kind: workload` mapping, read independently of the device.
struct ParsedWorkload {
  Workload workload;                           // clients as drawn for replication 0 of seed 0, if drawn
  std::shared_ptr<const Generator> generator;  // null for fixed clients
  double load = 1;                             // load factor, already applied except to clients drawn later
  WorkloadPlace place;

  // Throws InputError.
  explicit ParsedWorkload(const Field& field);
};

// A workload on a device; times may follow from the length of a block.
class WorkloadSource {
 public:
  // Throws InputError if a kernel's block exceeds the device.
  WorkloadSource(const ParsedWorkload& parsed, const Device& device);

  // Keeps only the listed clients, in workload order. Throws InputError for an unknown or repeated name
  // and for drawn clients.
  void choose(const Field& names);

  // Replaces the facts about clients' recordings.
  void know_recorded(
      const std::function<std::shared_ptr<const Recorded>(const Client&, const Device&)>& known);

  bool generated() const { return generator_ != nullptr; }
  bool leaves_out() const { return leaves_out_; }  // some clients of the file
  Workload draw(std::uint64_t seed, std::uint32_t replication) const;
  // Names, arrivals, jitter; drawn clients as for replication 0 of seed 0.
  const Workload& sample() const { return workload_; }
  const WorkloadPlace& place() const { return place_; }

 private:
  Device device_;
  Workload workload_;
  std::shared_ptr<const Generator> generator_;
  double load_;
  WorkloadPlace place_;
  bool leaves_out_ = false;
};

// Reads a workload without a device.
Workload read_clients(const Field& field);

}  // namespace gangway
