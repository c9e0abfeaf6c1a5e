// Rows of two folders, matched by their keys.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "experiments/comparing/compare.hpp"

namespace gangway::compared {

inline constexpr std::size_t kMostNamed = 5;

// Counts rows of one folder only, and keeps the first few.
class UnmatchedRows {
 public:
  UnmatchedRows(std::string file, bool in_prediction) {
    unmatched_ = {std::move(file), in_prediction, 0, {}};
  }
  template <typename Name>
  void add(Name name) {
    if (++unmatched_.count <= kMostNamed) unmatched_.first.push_back(name());
  }
  void report(std::vector<Unmatched>& to) const {
    if (unmatched_.count > 0) to.push_back(unmatched_);
  }

 private:
  Unmatched unmatched_;
};

// Walks two ranges sorted by a key: pairs of equal key, and unmatched rows.
template <typename Rows, typename Key, typename Both, typename First, typename Second>
void merge(const Rows& a, const Rows& b, Key key, Both both, First only_a, Second only_b) {
  auto i = a.begin();
  auto j = b.begin();
  while (i != a.end() || j != b.end()) {
    if (j == b.end() || (i != a.end() && key(*i) < key(*j)))
      only_a(*i++);
    else if (i == a.end() || key(*j) < key(*i))
      only_b(*j++);
    else
      both(*i++, *j++);
  }
}

}  // namespace gangway::compared
