// Differences for people.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "experiments/comparing/differences.hpp"

namespace gangway {
namespace {

std::string plural(std::size_t count, const std::string& noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

// Of replications without a partner.
std::string left_out(const Differences& d) {
  const std::uint32_t a = d.a.replications, b = d.b.replications;
  if (!d.paired || a == b) return "";
  const std::uint32_t more = a > b ? a - b : b - a;
  return fmt::format(" {} has {} more, which {} left out.", a > b ? "A" : "B", plural(more, "replication"),
                     more == 1 ? "is" : "are");
}

std::string how_compared(const Differences& d) {
  const auto seed = [](const ReplicatedFolder& folder) {
    return folder.seed ? fmt::format("seed {}", *folder.seed) : std::string("the same seeds");
  };
  const std::uint32_t a = d.a.replications, b = d.b.replications;
  if (!d.paired)
    return fmt::format("Independent samples ({} and {}): Welch's t-test of {} and {} replications.",
                       seed(d.a), seed(d.b), a, b);
  std::string text = fmt::format("Paired by replication, because both drew the same random numbers ({}): {}.",
                                 seed(d.a), plural(std::min(a, b), "pair"));
  return text + left_out(d);
}

bool has_sample(const ReplicatedFolder& side) { return side.replications > 1 && side.kept; }

// Why a side has no sample, and how to get one.
std::string how_to_sample(const ReplicatedFolder& side) {
  const std::string run = fmt::format("`gangway run {}/manifest.json", side.folder.path);
  if (!side.kept)
    return fmt::format("{} was written by a version without replications.csv: {} --out NEW` makes it.",
                       side.folder.path, run);
  return fmt::format("{} has one replication: {} --set replications=20 --out NEW` plays more.",
                     side.folder.path, run);
}

// "3 differences are", "1 difference is"
std::string some_are(std::size_t count, const std::string& noun) {
  return plural(count, noun) + (count == 1 ? " is" : " are");
}

void tell_understated(const Differences& d, std::vector<std::string>& said) {
  for (const auto& [policy, clients] : d.understated)
    said.push_back(fmt::format("{}: unfinished or killed jobs of {} make its averages bounds.", policy,
                               fmt::join(clients, ", ")));
}

// But 99.6 is not 100, and no number has an exponent for it.
std::string two_digits(double value) {
  if (value >= 100) return fmt::format("{:.0f}", value);
  return value < 99.5 ? fmt::format("{:.2g}", value) : fmt::format("{:.3g}", value);
}

// Of a difference that is none of chance.
std::string direction(const MetricDifference& row, const Differences& differences) {
  const std::string who = differences.baseline.empty() ? "B" : row.policy;
  if (!row.difference || *row.difference == 0) return "no difference";
  const char* const way = *row.difference > 0 ? "higher" : "lower";
  const auto relative = row.relative();
  const char* const bound = row.at_least ? "at least " : "";
  return relative ? fmt::format("{} is {}{} % {}", who, bound, two_digits(100 * std::abs(*relative)), way)
                  : fmt::format("{} is {}", who, way);
}

}  // namespace

std::string in_words(const MetricDifference& row, const Differences& differences) {
  switch (row.finding) {
    case Finding::significant:
      return direction(row, differences);
    case Finding::not_significant:
      return "may be chance";
    case Finding::exact:
      return direction(row, differences) + ", in every replication";
    case Finding::equal:
      return "equal in every replication";
    case Finding::untested:
      return "not tested: " + row.reason;
  }
  return "";
}

Certainty certainty_of_difference(const MetricDifference& row) {
  if (!row.at_least || !row.difference) return Certainty::exact;
  return *row.difference < 0 ? Certainty::at_most : Certainty::at_least;
}

const char* name_of(Finding finding) {
  switch (finding) {
    case Finding::significant:
      return "significant";
    case Finding::not_significant:
      return "not significant";
    case Finding::exact:
      return "exact";
    case Finding::equal:
      return "equal";
    case Finding::untested:
      return "untested";
  }
  return "";
}

std::vector<std::string> conclusions(const Differences& d) {
  if (!has_sample(d.a) || !has_sample(d.b)) {
    std::vector<std::string> said{"Chance cannot be judged: these differences may or may not be real." +
                                  left_out(d)};
    for (const ReplicatedFolder* side : {&d.a, &d.b})
      if (!has_sample(*side) && (side == &d.a || d.baseline.empty())) said.push_back(how_to_sample(*side));
    tell_understated(d, said);
    return said;
  }
  std::vector<std::string> said{how_compared(d)};
  if (const std::size_t tests = d.tests(); tests > 0)
    said.push_back(fmt::format("{} of {} significant (p below 0.05 after Holm's correction for {}).",
                               d.count(Finding::significant), some_are(tests, "tested difference"),
                               plural(tests, "test")));
  if (const std::size_t exact = d.count(Finding::exact); exact > 0)
    said.push_back(some_are(exact, "difference") +
                   " the same in every replication; without variation there is nothing to test.");
  if (const std::size_t equal = d.count(Finding::equal); equal > 0)
    said.push_back(some_are(equal, "value") + " equal in every replication.");
  if (const std::size_t untested = d.count(Finding::untested); untested > 0)
    said.push_back(some_are(untested, "difference") + " not tested, for the reasons given.");
  tell_understated(d, said);
  return said;
}

}  // namespace gangway
