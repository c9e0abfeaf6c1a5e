#include "models/bounds/blocking.hpp"

#include <algorithm>
#include <numeric>

namespace gangway {
namespace {

// The sums of running blocks' threads that can be reached, as bits 0 to `most`, in units of a divisor common
// to all blocks.
class Sums {
 public:
  explicit Sums(std::int64_t most) : most_(most), words_(static_cast<std::size_t>(most / 64 + 1)) {
    words_[0] = 1;
  }

  // Adds from 0 to `blocks` blocks of `threads` to every sum.
  void add(std::int64_t threads, std::int64_t blocks) {
    std::int64_t left = std::min(blocks, most_ / threads);
    for (std::int64_t part = 1; left > 0; part *= 2) {  // every count is a sum of these parts
      part = std::min(part, left);
      shift_or(part * threads);
      left -= part;
    }
  }

  void unite(const Sums& other) {
    for (std::size_t i = 0; i < words_.size(); ++i) words_[i] |= other.words_[i];
  }

  // The least sum that is at least `from`.
  std::optional<std::int64_t> least(std::int64_t from) const {
    auto word = static_cast<std::size_t>(from / 64);
    std::uint64_t bits = words_[word] & (~std::uint64_t{0} << (from % 64));
    while (bits == 0) {
      if (++word == words_.size()) return std::nullopt;
      bits = words_[word];
    }
    const std::int64_t sum = static_cast<std::int64_t>(word) * 64 + __builtin_ctzll(bits);
    return sum <= most_ ? std::optional(sum) : std::nullopt;
  }

 private:
  void shift_or(std::int64_t by) {
    const auto whole = static_cast<std::size_t>(by / 64);
    const auto bits = static_cast<unsigned>(by % 64);
    for (std::size_t i = words_.size(); i-- > whole;) {  // from above: reads what was not shifted yet
      std::uint64_t moved = words_[i - whole] << bits;
      if (bits > 0 && i > whole) moved |= words_[i - whole - 1] >> (64 - bits);
      words_[i] |= moved;
    }
  }

  std::int64_t most_;
  std::vector<std::uint64_t> words_;
};

class Search {
 public:
  Search(std::int64_t threads, const std::vector<StreamGrids>& streams)
      : threads_(threads), streams_(streams) {
    for (const StreamGrids& stream : streams)
      for (const Grid& grid : stream) unit_ = std::gcd(unit_, grid.threads);
    for (const StreamGrids& stream : streams) result_.emplace_back(stream.size());
  }

  std::vector<std::vector<std::optional<std::int64_t>>> run() {
    without_each(0, streams_.size(), Sums(threads_ / unit_));
    return std::move(result_);
  }

 private:
  void add(Sums& sums, const StreamGrids& stream) const {
    if (stream.size() == 1) {
      sums.add(stream[0].threads / unit_, stream[0].blocks);
      return;
    }
    const Sums before = sums;
    for (const Grid& grid : stream) {
      Sums with = before;
      with.add(grid.threads / unit_, grid.blocks);
      sums.unite(with);
    }
  }

  // `others` has all streams but those from `begin` to `end`.
  void without_each(std::size_t begin, std::size_t end, const Sums& others) {
    if (end - begin == 1) {
      for (std::size_t k = 0; k < streams_[begin].size(); ++k)
        result_[begin][k] = blocked(streams_[begin][k], others);
      return;
    }
    const std::size_t middle = begin + (end - begin) / 2;
    Sums more = others;
    for (std::size_t i = middle; i < end; ++i) add(more, streams_[i]);
    without_each(begin, middle, more);
    more = others;
    for (std::size_t i = begin; i < middle; ++i) add(more, streams_[i]);
    without_each(middle, end, more);
  }

  std::optional<std::int64_t> blocked(const Grid& grid, Sums sums) const {
    sums.add(grid.threads / unit_, grid.blocks - 1);  // one block at least is still to be assigned
    const std::int64_t from = threads_ - grid.threads + 1;
    const auto sum = sums.least((from + unit_ - 1) / unit_);
    return sum ? std::optional(*sum * unit_) : std::nullopt;
  }

  std::int64_t threads_;
  std::int64_t unit_ = 0;
  const std::vector<StreamGrids>& streams_;
  std::vector<std::vector<std::optional<std::int64_t>>> result_;
};

}  // namespace

std::vector<std::vector<std::optional<std::int64_t>>> threads_busy_while_blocked(
    const ThreadLayout& layout, const std::vector<StreamGrids>& streams) {
  auto result = Search(layout.threads, streams).run();
  for (auto& stream : result)
    for (auto& threads : stream)
      if (threads) *threads *= layout.sms;
  return result;
}

}  // namespace gangway
