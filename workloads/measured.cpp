#include "workloads/measured.hpp"

#include <fmt/format.h>

#include "models/mechanism.hpp"

namespace gangway {
namespace {

MeasuredEviction read_eviction(const Field& field) {
  const auto items = field.items();
  if (items.size() != 3) field.fail(fmt::format("{} times", items.size()), "3 times: ordered, gone, work");
  const MeasuredEviction e{items[0].duration(), items[1].duration(), items[2].duration()};
  if (e.gone < e.ordered)
    items[1].fail(fmt::format("gone {} before it was ordered", to_text(e.ordered - e.gone)),
                  "times from the launch's first block on");
  return e;
}

void read_evictions(const Field& field, MeasuredLaunches& measured) {
  for (const Field& item : field.items()) {
    measured.evictions.push_back(read_eviction(item));
    const std::size_t n = measured.evictions.size();
    if (n > 1 && measured.evictions[n - 1].ordered < measured.evictions[n - 2].ordered)
      item.fail("an order before the previous one's", "evictions by the time of their order");
  }
  if (measured.evictions.empty()) field.fail("no eviction", "at least one");
}

}  // namespace

std::shared_ptr<const MeasuredLaunches> read_measured(const Field& field, const Kernel& kernel) {
  Mapping m = field.mapping();
  MeasuredLaunches measured;
  if (const auto mechanism = m.maybe("mechanism"))
    measured.mechanism = mechanism->one_of(Mechanisms::names());
  measured.launch = m.maybe_duration("launch", Duration{0});
  measured.pending_work = m.maybe_duration("pending_work", Duration{0});
  measured.after_another = m.maybe_duration("after_another", Duration{0}).value_or(Duration{});
  if (const auto each = m.maybe("each_launch")) {
    measured.each = each->duration();
    if (measured.each >= kernel.transformed())
      each->fail(to_text(measured.each),
                 fmt::format("less than the {} of the preemptible form", to_text(kernel.transformed())));
  }
  if (const auto in_step = m.maybe("in_step"))
    measured.in_step = in_step->integer(1, kernel.block_tasks.count);
  const auto near = m.maybe("near");
  const auto evictions = m.maybe("evictions");
  if (near && !evictions) near->fail("near without evictions", "both, or neither");
  if (evictions) read_evictions(*evictions, measured);
  if (const auto too_late = m.maybe("too_late")) {
    if (!evictions) too_late->fail("too_late without evictions", "both, or neither");
    measured.too_late = too_late->duration();
  }
  if (near) measured.near = near->integer(1, static_cast<std::int64_t>(measured.evictions.size()));
  m.finish();
  return std::make_shared<const MeasuredLaunches>(std::move(measured));
}

}  // namespace gangway
