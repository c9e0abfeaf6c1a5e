#include "workloads/repeat.hpp"

#include <fmt/format.h>

#include <array>

#include "models/arrival_process.hpp"
#include "workloads/arrival_times.hpp"

namespace gangway {
namespace {

// Of which a `repeat` has one.
constexpr std::array<const char*, 4> kForms{"period", "think", "releases", "arrivals"};

std::vector<Duration> read_releases(const Field& field) {
  std::vector<Duration> releases;
  for (const Field& item : field.items()) {
    releases.push_back(item.duration());
    if (releases.size() > 1 && releases.back() < releases[releases.size() - 2])
      item.fail("a release not before the previous one");
  }
  return releases;
}

RequestArrivals read_request_arrivals(const Field& field) {
  Mapping m = field.mapping();
  RequestArrivals arrivals;
  const auto process = m.maybe("process");
  const auto file = m.maybe("file");
  if (process.has_value() == file.has_value())
    field.fail(process ? "both process and file" : "neither process nor file", "one of them");
  if (file) {
    arrivals.times = read_arrival_times(m);
  } else {
    const ArrivalProcessEntry& entry = ArrivalProcesses::get(*process);
    arrivals.rate = m.need("rate").rate();
    arrivals.process = entry.make(ParameterValues(entry.parameters, m));
  }
  m.finish();
  return arrivals;
}

// Of listed times, so many; none: all of them.
void take_first(const std::optional<Field>& jobs, RequestArrivals& arrivals) {
  const auto listed = static_cast<std::int64_t>(arrivals.times->size());
  const std::int64_t count = jobs ? jobs->integer(1, listed) : listed;
  if (count == listed) return;
  const auto first = arrivals.times->begin();
  arrivals.times = std::make_shared<const std::vector<Duration>>(first, first + count);
}

void check_forms(const Field& field, bool or_none) {
  std::vector<std::string> given;
  for (const char* form : kForms)
    if (field.node().find(form) != nullptr) given.emplace_back(form);
  if (given.empty() && !or_none) field.fail("neither period nor think, releases or arrivals", "one of them");
  if (given.size() > 1) field.fail(fmt::format("both {} and {}", given[0], given[1]), "one of them");
}

}  // namespace

Repeat read_repeat(const Field& field, bool own_pace) {
  Mapping m = field.mapping();
  Repeat repeat;
  for (const char* form : kForms) m.maybe(form);
  m.maybe("jobs");
  m.finish();
  check_forms(field, own_pace);
  if (auto releases = m.maybe("releases")) {
    if (auto jobs = m.maybe("jobs")) jobs->fail("none, because all releases are listed");
    repeat.releases = read_releases(*releases);
    repeat.jobs = static_cast<std::uint32_t>(repeat.releases.size());
    return repeat;
  }
  if (auto arrivals = m.maybe("arrivals")) repeat.arrivals = read_request_arrivals(*arrivals);
  if (repeat.arrivals && repeat.arrivals->times) {
    take_first(m.maybe("jobs"), *repeat.arrivals);
    repeat.jobs = static_cast<std::uint32_t>(repeat.arrivals->times->size());
    return repeat;
  }
  const Field jobs = m.need("jobs");
  if (jobs.is_scalar() && jobs.node().scalar == "endless")
    repeat.jobs.reset();
  else
    repeat.jobs = static_cast<std::uint32_t>(jobs.integer(1, 1'000'000'000));
  repeat.period = m.maybe_duration("period", Duration{1});
  repeat.think = m.maybe_duration("think", Duration{0});
  return repeat;
}

}  // namespace gangway
