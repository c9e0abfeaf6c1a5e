#include "workloads/load.hpp"

#include <cmath>
#include <memory>
#include <string>
#include <utility>

namespace gangway {
namespace {

using namespace literals;

constexpr Duration kLatestScaled = 8'640'000_s;

class LoadScale {
 public:
  LoadScale(double load, Origin where, std::string path)
      : load_(load), where_(std::move(where)), path_(std::move(path)) {}
  LoadScale(double load, const Field& field) : LoadScale(load, field.node().origin(), field.path()) {}

  void scale(Duration& time, Duration least = 0_ns) const {
    time = {std::llround(static_cast<double>(time.ns) / load_)};
    if (time < least) throw InputError(where_, path_, "periods below 1 ns with this load", "less load");
    if (time > kLatestScaled)
      throw InputError(where_, path_, "arrivals later than 100 days with this load", "more load");
  }

  // Whether there was anything.
  bool scale(Repeat& repeat) const {
    if (repeat.period) scale(*repeat.period, 1_ns);
    for (Duration& release : repeat.releases) scale(release);
    if (repeat.arrivals) scale(*repeat.arrivals);
    return repeat.period || !repeat.releases.empty() || repeat.arrivals;
  }

 private:
  void scale(Rate& rate) const {
    rate.per_second *= load_;
    Rate read;
    ParseFailure why;
    if (!parse(to_text(rate), read, why))  // as a file could not say it
      throw InputError(where_, path_, "a rate of " + to_text(rate) + " with this load", why.expected);
  }

  void scale(RequestArrivals& arrivals) const {
    if (!arrivals.times) return scale(arrivals.rate);
    std::vector<Duration> times = *arrivals.times;
    for (Duration& time : times) scale(time);
    arrivals.times = std::make_shared<const std::vector<Duration>>(std::move(times));
  }

  double load_;
  Origin where_;
  std::string path_;
};

}  // namespace

void scale_gap(double load, const Field& field, Workload& workload) {
  if (load != 1 && workload.arrivals) LoadScale(load, field).scale(workload.arrivals->gap);
}

void scale_load(double load, const Field& field, Workload& workload) {
  if (load == 1) return;
  bool any = workload.arrivals && workload.arrivals->gap > 0_ns;
  scale_gap(load, field, workload);
  const LoadScale scale(load, field);
  for (Client& client : workload.clients) any = scale.scale(client.repeat) || any;
  if (!any)
    field.fail("clients of which none has a period, releases, arrivals or a gap to the next",
               "1, as closed loops have no load to scale");
}

void scale_drawn(double load, const WorkloadPlace& place, std::vector<Client>& clients) {
  if (load == 1) return;
  const LoadScale scale(load, place.origin, place.path + ".load");
  for (Client& client : clients) {
    if (client.arrive) scale.scale(*client.arrive);
    scale.scale(client.repeat);
  }
}

}  // namespace gangway
