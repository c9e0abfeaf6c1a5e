#include "hw/intercept/forms/sliced_shapes.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>

namespace gangway::intercept {
namespace {

constexpr std::size_t kMostShapes = 256;  // of one kernel; more are taken for the first one
constexpr double kLatest = 64;            // waves, of which the mean time counts

double waves_of(const SlicedShapes::Shape& shape, std::uint32_t blocks) {
  return std::ceil(static_cast<double>(blocks) / std::max<std::uint32_t>(shape.resident, 1));
}

}  // namespace

SlicedShapes::Seen& SlicedShapes::seen(const Shape& shape) {
  static std::atomic<std::uint32_t> numbers{0};
  const auto known = seen_.find(shape);
  if (known != seen_.end()) return known->second;
  if (seen_.size() >= kMostShapes) return seen_.begin()->second;
  Seen& made = seen_[shape];
  made.number = numbers.fetch_add(1) + 1;
  return made;
}

live::SlicedKernel SlicedShapes::of(const Shape& shape) {
  const std::lock_guard lock(mutex_);
  const Seen& its = seen(shape);
  const double time = its.waves == 0 ? 0 : its.time / its.waves * waves_of(shape, shape.blocks);
  return {its.number, shape.resident, static_cast<std::int64_t>(time)};
}

void SlicedShapes::took(const Shape& shape, std::uint32_t blocks, std::int64_t ns) {
  if (ns <= 0 || blocks == 0) return;
  const std::lock_guard lock(mutex_);
  Seen& its = seen(shape);
  if (its.waves > kLatest) {
    its.time /= its.waves / kLatest;
    its.waves = kLatest;
  }
  its.waves += waves_of(shape, blocks);
  its.time += static_cast<double>(ns);
}

}  // namespace gangway::intercept
