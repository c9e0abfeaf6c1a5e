// T6: T1 and T2 for kernels that are submitted once.
#include <algorithm>

#include "models/bounds/one_shot.hpp"

namespace gangway {
namespace {

// The sums of the 0, 1, 2, ... largest works of a stream.
std::vector<Rational> largest_works(const OneShotStream& stream) {
  std::vector<Rational> works;
  for (const OneShotKernel& kernel : stream.kernels) works.push_back(kernel.grid.work);
  std::sort(works.begin(), works.end(), std::greater<>());
  std::vector<Rational> sums{Rational(0)};
  for (const Rational& work : works) sums.push_back(sums.back() + work);
  return sums;
}

// While the first p kernels of a stream wait, at most p kernels of each other stream are ahead of them.
BoundResult any_order(const OneShotAnalysis& set) {
  const auto& streams = set.set().streams;
  for (const OneShotStream& stream : streams)
    if (const Rational& at = stream.kernels.front().at; at > Rational(0))
      return nowhere(set.kernels(),
                     {"every stream is submitted at 0", {{"at", at, stream.kernels.front().name, true}}});
  std::size_t longest = 0;
  for (const OneShotStream& stream : streams) longest = std::max(longest, stream.kernels.size());
  std::vector<Rational> all(longest + 1);  // of every stream the p largest
  std::vector<std::vector<Rational>> largest;
  for (const OneShotStream& stream : streams) {
    largest.push_back(largest_works(stream));
    for (std::size_t p = 1; p <= longest; ++p) all[p] += largest.back()[std::min(p, stream.kernels.size())];
  }
  BoundResult result;
  for (std::size_t i = 0; i < streams.size(); ++i) {
    Rational own, alone;
    for (std::size_t p = 1; p <= streams[i].kernels.size(); ++p) {
      const Grid& grid = streams[i].kernels[p - 1].grid;
      own += grid.work + set.tail(grid);
      alone += grid.block_time();
      result.tasks.emplace_back(
          set.least_busy() ? (own + all[p] - largest[i][p]) / Rational(*set.least_busy()) : alone);
    }
  }
  return result;
}

// First kernels in the file's order: only those before are ahead, unless they are surely complete.
BoundResult listed(const OneShotAnalysis& set) {
  const auto& streams = set.set().streams;
  if (!set.set().listed) return nowhere(set.kernels(), {"submitted: listed", {}});
  for (const OneShotStream& stream : streams)
    if (stream.kernels.size() > 1 && streams.back().kernels.front().at > Rational(0))
      return nowhere(
          set.kernels(),
          {"one kernel per stream, or every stream submitted at 0",
           {{"kernels", Rational(static_cast<std::int64_t>(stream.kernels.size())), stream.name}}});
  BoundResult result;
  std::vector<Rational> complete;  // bounds of the first kernels so far
  for (std::size_t k = 0; k < streams.size(); ++k) {
    const OneShotKernel& first = streams[k].kernels.front();
    Rational work = first.grid.work + set.tail(first.grid);
    for (std::size_t l = 0; l < k; ++l)
      if (complete[l] > first.at) work += streams[l].kernels.front().grid.work;
    complete.push_back(first.at +
                       (set.least_busy() ? work / Rational(*set.least_busy()) : first.grid.block_time()));
    result.tasks.emplace_back(complete.back());
    for (std::size_t later = 1; later < streams[k].kernels.size(); ++later)
      result.tasks.emplace_back(Unmet{"the first kernel of its stream", {}});
  }
  return result;
}

const BoundRegistration registered_t6{
    "T6", "one-shot kernels whose streams are submitted at once, in any order", any_order};
const BoundRegistration registered_t6_listed{
    "T6-listed", "one-shot kernels, the first of each stream in the file's order", listed};

}  // namespace
}  // namespace gangway
