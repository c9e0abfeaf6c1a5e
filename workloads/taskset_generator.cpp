#include "workloads/taskset_generator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace gangway {
namespace {

constexpr int kMostDraws = 10'000;
constexpr double kMicro = 1e6;

Rational to_micro(double value) {
  return {std::max<std::int64_t>(1, std::llround(value * kMicro)), static_cast<std::int64_t>(kMicro)};
}

// Evenly on a logarithmic scale, rounded down.
std::int64_t log_uniform(std::int64_t least, std::int64_t most, Stream& random) {
  const double ratio = static_cast<double>(most + 1) / static_cast<double>(least);
  const double value = static_cast<double>(least) * std::pow(ratio, random.uniform());
  return std::clamp(static_cast<std::int64_t>(value), least, most);
}

// The powers of two from `least` to `most`, all equally likely.
std::int64_t power_of_two(std::int64_t least, std::int64_t most, Stream& random) {
  std::int64_t first = 1;
  while (first < least) first *= 2;
  std::uint64_t count = 0;
  while (first << count <= most) ++count;
  return first << random.below(count);
}

}  // namespace

UtilisationRegistration::UtilisationRegistration(std::string name, std::string summary,
                                                 std::vector<double> (*draw)(std::size_t, double, double,
                                                                             Stream&),
                                                 const std::source_location& where)
    : Registration<UtilisationMethod>(
          UtilisationMethod{{std::move(name), std::move(summary), task_set_parameters()}, draw}, where) {}

std::vector<Parameter> task_set_parameters() {
  using P = Parameter;
  return {{"tasks", "how many", P::Integer{5, 1, 32}},
          {"utilisation", "of the set, as a share of the device's threads", P::Number{0.5, 0.000'1, 10}},
          {"most", "utilisation of one task, as a share of the device's threads", P::Number{1, 0.000'1, 10}},
          {"sms", "multiprocessors; 0 for one pool of threads", P::Integer{0, 0, 1024}},
          {"threads", "of the pool, or of one multiprocessor", P::Integer{8, 1, 1 << 20}},
          {"order", "of the primary queue", P::Choice{queue_order_names()}},
          {"periods", "log-uniform between shortest and longest, or shortest times powers of two",
           P::Choice{{"log-uniform", "harmonic"}}},
          {"shortest", "shortest period, rounded to a whole number", P::Number{10, 1, 1e9}},
          {"longest", "period", P::Number{1000, 1, 1e9}},
          {"most_blocks", "of a grid", P::Integer{8, 1, 1'000'000}},
          {"least_threads", "of a block", P::Integer{1, 1, 1024}},
          {"most_threads", "of a block", P::Integer{4, 1, 1024}},
          {"block_sizes", "any number in that range, or powers of two", P::Choice{{"any", "powers-of-two"}}}};
}

TaskSetGenerator::TaskSetGenerator(const UtilisationMethod& method, const ParameterValues& values)
    : method_(&method),
      tasks_(static_cast<std::size_t>(values.integer("tasks"))),
      harmonic_(values.choice("periods") == "harmonic"),
      shortest_(std::round(values.number("shortest"))),
      longest_(values.number("longest")),
      most_blocks_(values.integer("most_blocks")),
      least_threads_(values.integer("least_threads")),
      most_threads_(values.integer("most_threads")),
      block_sizes_(values.choice("block_sizes")) {
  if (values.integer("sms") > 0) {
    empty_.layout.kind = ThreadLayout::Kind::sm;
    empty_.layout.sms = values.integer("sms");
  }
  empty_.layout.threads = values.integer("threads");
  empty_.order = queue_order_from(values.choice("order"));
  total_ = values.number("utilisation") * static_cast<double>(empty_.layout.total());
  most_ = values.number("most") * static_cast<double>(empty_.layout.total());
  most_threads_ = std::min(most_threads_, empty_.layout.threads);
  if (total_ >= static_cast<double>(tasks_) * most_)
    throw std::invalid_argument("a utilisation of tasks times most or above");
  if (shortest_ > longest_) throw std::invalid_argument("shortest above longest");
  if (least_threads_ > most_threads_)
    throw std::invalid_argument("least_threads above most_threads or the device");
  std::int64_t power = 1;
  while (power < least_threads_) power *= 2;
  if (block_sizes_ == "powers-of-two" && power > most_threads_)
    throw std::invalid_argument("no power of two between least_threads and most_threads");
}

std::vector<double> TaskSetGenerator::draw_periods(Stream& random) const {
  std::vector<double> periods;
  for (std::size_t i = 0; i < tasks_; ++i) {
    const auto steps = static_cast<std::uint64_t>(std::floor(std::log2(longest_ / shortest_)));
    periods.push_back(harmonic_ ? std::ldexp(shortest_, static_cast<int>(random.below(steps + 1)))
                                : std::round(shortest_ * std::pow(longest_ / shortest_, random.uniform())));
  }
  return periods;
}

// A task can use g b threads at most, which must not be fewer than its utilisation: blocks are drawn among
// those that the largest grid makes wide enough, then a grid that is. False where there are none.
bool TaskSetGenerator::draw_shape(double utilisation, Stream& random, Shape& shape) const {
  const auto narrowest =
      static_cast<std::int64_t>(std::ceil(utilisation / static_cast<double>(most_blocks_)));
  const std::int64_t least = std::max(least_threads_, narrowest);
  if (least > most_threads_) return false;
  if (block_sizes_ == "any") {
    shape.b = least +
              static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(most_threads_ - least + 1)));
  } else {
    std::int64_t power = 1;
    while (power < least) power *= 2;
    if (power > most_threads_) return false;
    shape.b = power_of_two(least, most_threads_, random);
  }
  const auto fewest = static_cast<std::int64_t>(std::ceil(utilisation / static_cast<double>(shape.b)));
  shape.g = log_uniform(std::max<std::int64_t>(1, fewest), most_blocks_, random);
  return true;
}

bool TaskSetGenerator::draw_tasks(Stream& random, SporadicTasks& set) const {
  const std::vector<double> utilisations = method_->draw(tasks_, total_, most_, random);
  const std::vector<double> periods = draw_periods(random);
  for (std::size_t i = 0; i < tasks_; ++i) {
    Shape shape;
    if (!draw_shape(utilisations[i], random, shape)) return false;
    const Rational period = static_cast<std::int64_t>(periods[i]);
    // The rounded block time times the threads, so that block times are short numbers and not C.
    const Rational w = std::min(period, to_micro(utilisations[i] * periods[i] / static_cast<double>(shape.g) /
                                                 static_cast<double>(shape.b)));
    set.tasks.push_back(
        {fmt::format("t{}", i + 1), {w * shape.g * shape.b, shape.g, shape.b}, period, std::nullopt});
  }
  return true;
}

TaskSet TaskSetGenerator::draw(std::uint64_t seed, std::uint64_t number) const {
  Stream random(seed, method_->name, {number});
  for (int n = 0; n < kMostDraws; ++n) {
    SporadicTasks set = empty_;
    if (draw_tasks(random, set)) return {fmt::format("set-{}", number), "", "", std::move(set)};
  }
  throw RunError(
      fmt::format("no set in {} draws whose tasks can use as many threads as their utilisation: "
                  "allow more blocks, more threads of a block or less utilisation",
                  kMostDraws));
}

}  // namespace gangway
