// Distinct rows of a profile, each stored once.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "models/recording/call_kind.hpp"
#include "workloads/profile/profile.hpp"

namespace gangway::profile {

template <typename Row, typename Key>
class DistinctRows {
 public:
  explicit DistinctRows(std::vector<Row>& rows) : rows_(rows) {}
  template <typename Make>
  Index index(const Key& key, Make make) {
    const auto [place, is_new] = known_.try_emplace(key, static_cast<Index>(rows_.size()));
    if (is_new) rows_.push_back(make());
    return place->second;
  }

 private:
  std::vector<Row>& rows_;
  std::map<Key, Index> known_;
};

// Functions by name; kNone for those not in recordings.
class Functions {
 public:
  explicit Functions(std::vector<recording::Function>& rows) : rows_(rows) {}
  Index index(const std::string& name) {
    const auto [place, is_new] = known_.try_emplace(name, kNone);
    if (!is_new) return place->second;
    if (const auto kind = recording::call_kind(name)) {
      place->second = static_cast<Index>(rows_.size());
      rows_.push_back({name, *kind});
    }
    return place->second;
  }

 private:
  std::vector<recording::Function>& rows_;
  std::unordered_map<std::string, Index> known_;
};

// Launches and transfers.
class DistinctShapes {
 public:
  explicit DistinctShapes(Profile& profile) : launches_(profile.launches), transfers_(profile.transfers) {}

  Index launch(const recording::Launch& l) {
    const auto [name, is_new] = names_.try_emplace(l.kernel, static_cast<Index>(names_.size()));
    return launches_.index({name->second, l.grid.x, l.grid.y, l.grid.z, l.block.x, l.block.y, l.block.z,
                            l.cluster.x, l.cluster.y, l.cluster.z, l.registers, l.static_shared.count,
                            l.dynamic_shared.count, l.local.count, l.cooperative},
                           [&] { return l; });
  }
  Index transfer(const Transfer& t) {
    return transfers_.index(
        {t.bytes.count, static_cast<int>(t.from), static_cast<int>(t.to), static_cast<int>(t.direction)},
        [&] { return t; });
  }

 private:
  std::unordered_map<std::string, Index> names_;
  DistinctRows<recording::Launch, std::array<std::int64_t, 15>> launches_;
  DistinctRows<Transfer, std::array<std::int64_t, 4>> transfers_;
};

}  // namespace gangway::profile
