// Clients whose kernel times are spread evenly over orders of magnitude, arriving at random: short and long
// kernels meet as in a shared server.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "models/random.hpp"
#include "workloads/source.hpp"

namespace gangway {
namespace {

using namespace literals;

class LogUniform : public Generator {
 public:
  explicit LogUniform(const ParameterValues& values)
      : clients_(values.integer("clients")),
        kernels_(values.integer("kernels")),
        block_tasks_(values.integer("block_tasks")),
        jobs_(values.integer("jobs")),
        shortest_(values.duration("shortest")),
        longest_(values.duration("longest")),
        gap_(values.duration("gap")),
        think_(values.duration("think")),
        eviction_(values.duration("eviction_delay")) {
    if (shortest_ > longest_) throw std::invalid_argument("shortest above longest");
  }

  std::vector<Client> draw(std::uint64_t seed, std::uint32_t replication) const override {
    Stream random(seed, "log-uniform", {replication});
    std::vector<Client> clients;
    Duration arrive;
    for (std::int64_t c = 0; c < clients_; ++c) {
      Client client;
      client.name = fmt::format("c{:02}", c);
      client.arrive = arrive;
      arrive += spread(gap_, random.exponential());
      client.repeat.jobs = static_cast<std::uint32_t>(jobs_);
      client.repeat.think = think_;
      const auto kernels = 1 + random.below(static_cast<std::uint64_t>(kernels_));
      for (std::uint64_t k = 0; k < kernels; ++k) client.kernels.push_back(kernel(k, random));
      clients.push_back(std::move(client));
    }
    return clients;
  }

 private:
  static Duration spread(Duration d, double factor) {
    return {static_cast<std::int64_t>(static_cast<double>(d.ns) * factor)};
  }

  Kernel kernel(std::uint64_t index, Stream& random) const {
    Kernel kernel;
    kernel.name = fmt::format("k{}", index);
    const double ratio = static_cast<double>(longest_.ns) / static_cast<double>(shortest_.ns);
    kernel.time = spread(shortest_, std::pow(ratio, random.uniform()));
    kernel.block_tasks = {block_tasks_};
    kernel.eviction_delay = spread(eviction_, 2 * random.uniform());
    return kernel;
  }

  std::int64_t clients_, kernels_, block_tasks_, jobs_;
  Duration shortest_, longest_, gap_, think_, eviction_;
};

const GeneratorRegistration<LogUniform> registered_log_uniform{
    "log-uniform",
    "log-uniform kernel times between two limits, exponential gaps between arrivals",
    {{"clients", "how many", Parameter::Integer{8, 1, 10'000}},
     {"kernels", "kernels of a client: uniform from 1 to this", Parameter::Integer{1, 1, 64}},
     {"block_tasks", "of every kernel", Parameter::Integer{4096, 1, 1'000'000'000}},
     {"jobs", "of a client", Parameter::Integer{1, 1, 1'000'000}},
     {"shortest", "kernel time", Parameter::Time{100'000_ns, 1_ns, 1000_s}},
     {"longest", "kernel time", Parameter::Time{10_ms, 1_ns, 1000_s}},
     {"gap", "mean time between first arrivals", Parameter::Time{1_ms, 0_ns, 1000_s}},
     {"think", "time between a job's finish and the client's next job", Parameter::Time{1_ms, 0_ns, 1000_s}},
     {"eviction_delay", "mean eviction delay; uniform from 0 to twice this",
      Parameter::Time{76_us, 0_ns, 1_s}}}};

}  // namespace
}  // namespace gangway
