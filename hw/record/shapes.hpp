// Rows that describe submissions: kernels with their launches, and transfers.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "hw/record/spool_reader.hpp"
#include "models/recording/recording.hpp"

namespace gangway::spool {

// Launch types by CUPTI's numbers (cupti_activity.h).
inline constexpr std::uint32_t kCooperative = 1;

// Numbers rows, keeping each distinct row once.
template <typename Row, typename Key>
class Distinct {
 public:
  explicit Distinct(std::vector<Row>& rows) : rows_(rows) {}
  template <typename Make>
  recording::Index index(const Key& key, Make make) {
    const auto [place, is_new] = known_.try_emplace(key, static_cast<recording::Index>(rows_.size()));
    if (is_new) rows_.push_back(make());
    return place->second;
  }

 private:
  std::vector<Row>& rows_;
  std::map<Key, recording::Index> known_;
};

using LaunchKey = std::tuple<std::string, std::array<std::uint32_t, 14>>;
using TransferKey = std::tuple<std::uint64_t, std::uint8_t, std::uint8_t, bool>;

// Kernels and transfers as submitted, each distinct one once.
class Shapes {
 public:
  explicit Shapes(recording::Recording& r) : launches_(r.launches), transfers_(r.transfers) {
    for (const recording::Launch& launch : std::vector(std::exchange(r.launches, {}))) put(launch);
    for (const recording::Transfer& t : std::vector(std::exchange(r.transfers, {}))) put(t);
  }

  recording::Index launch(const Contents& process, const Shape& s) {
    recording::Launch launch;
    launch.kernel = s.name < process.texts.size() ? process.texts[s.name] : "";
    launch.grid = {s.grid[0], s.grid[1], s.grid[2]};
    launch.block = {s.block[0], s.block[1], s.block[2]};
    launch.cluster = {s.cluster[0], s.cluster[1], s.cluster[2]};
    launch.registers = s.registers;
    launch.static_shared = Bytes{s.static_shared};
    launch.dynamic_shared = Bytes{s.dynamic_shared};
    launch.local = Bytes{s.local};
    launch.cooperative = s.launch_type == kCooperative;
    return put(launch);
  }
  recording::Index copy(const Copy& c) {
    return put(
        {Bytes{static_cast<std::int64_t>(c.bytes)}, memory(c.from), memory(c.to), c.asynchronous != 0});
  }
  recording::Index memset(const Memset& m) {
    return put({Bytes{static_cast<std::int64_t>(m.bytes)}, memory(m.memory), memory(m.memory), true});
  }

  static recording::MemoryKind memory(std::uint32_t kind) {
    return kind < recording::kMemoryKinds ? static_cast<recording::MemoryKind>(kind)
                                          : recording::MemoryKind::unknown;
  }

 private:
  recording::Index put(const recording::Launch& l) {
    const std::array<std::uint32_t, 14> numbers{l.grid.x,
                                                l.grid.y,
                                                l.grid.z,
                                                l.block.x,
                                                l.block.y,
                                                l.block.z,
                                                l.cluster.x,
                                                l.cluster.y,
                                                l.cluster.z,
                                                l.registers,
                                                static_cast<std::uint32_t>(l.static_shared.count),
                                                static_cast<std::uint32_t>(l.dynamic_shared.count),
                                                static_cast<std::uint32_t>(l.local.count),
                                                l.cooperative};
    return launches_.index({l.kernel, numbers}, [&] { return l; });
  }
  recording::Index put(const recording::Transfer& t) {
    return transfers_.index({static_cast<std::uint64_t>(t.bytes.count), static_cast<std::uint8_t>(t.from),
                             static_cast<std::uint8_t>(t.to), t.asynchronous},
                            [&] { return t; });
  }

  Distinct<recording::Launch, LaunchKey> launches_;
  Distinct<recording::Transfer, TransferKey> transfers_;
};

}  // namespace gangway::spool
