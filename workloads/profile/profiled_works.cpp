#include "workloads/profile/profiled_works.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <utility>

#include "workloads/profile/distinct_rows.hpp"

namespace gangway::profile {
namespace {

namespace rec = recording;
using rec::CallKind;
using rec::MemoryKind;
using rec::WorkKind;

Duration middle_of(std::vector<std::int64_t> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return Duration{*middle};
}

// A work of the profile and the recording's call that submitted it.
struct SubmittedWork {
  Index call = 0, work = 0;
};

// A graph's number, or, where there is none, its nodes or what they do.
using GraphKey = std::pair<std::uint32_t, std::vector<std::uint64_t>>;

// Of one node of a graph, in all launches in which it was timed.
struct NodeSamples {
  WorkKind kind = WorkKind::kernel;
  Index shape = 0;
  std::uint32_t stream = 0;
  std::vector<std::int64_t> after, length;
};

class WorksAdder {
 public:
  WorksAdder(ProfiledRows& rows, const ProfiledCalls& calls)
      : rows_(rows),
        calls_(calls),
        p_(rows.profile()),
        r_(rows.recording()),
        streams_of_works_(p_.works.size(), kNone) {}

  std::vector<Index> add() {
    const std::vector<SubmittedWork> submitted = submitted_works();
    for (std::size_t from = 0; from < submitted.size();) {
      std::size_t to = from + 1;
      while (to < submitted.size() && submitted[to].call == submitted[from].call) ++to;
      const std::span<const SubmittedWork> of_call(submitted.data() + from, to - from);
      if (r_.kind(r_.calls[of_call[0].call]) == CallKind::graph)
        add_graph(of_call);
      else
        for (const SubmittedWork& one : of_call) add_work(one);
      from = to;
    }
    add_nodes();
    return std::move(streams_of_works_);
  }

 private:
  // By call, then begin.
  std::vector<SubmittedWork> submitted_works() {
    std::vector<SubmittedWork> submitted;
    for (Index w = 0; w < p_.works.size(); ++w) {
      if (p_.works[w].process == kNone) ++r_.about.lost;  // it may be this one's
      if (p_.works[w].process != rows_.process()) continue;
      const Index call = calls_.of(p_.works[w].correlation);
      if (call == kNone)
        ++r_.about.lost;
      else
        submitted.push_back({call, w});
    }
    std::stable_sort(submitted.begin(), submitted.end(), [&](const SubmittedWork& a, const SubmittedWork& b) {
      return std::tie(a.call, p_.works[a.work].begin) < std::tie(b.call, p_.works[b.work].begin);
    });
    return submitted;
  }

  void add_work(const SubmittedWork& one) {
    const Work& w = p_.works[one.work];
    const Index shape = w.kind == WorkKind::graph ? graph({w.graph, {}}) : shape_of(w, one.call);
    push(w, one, w.kind, shape, w.begin, w.end);
  }
  void push(const Work& w, const SubmittedWork& one, WorkKind kind, Index shape, std::int64_t begin,
            std::int64_t end) {
    const Index in = rows_.stream(w);
    streams_of_works_[one.work] = in;
    r_.works.push_back({one.call, in, kind, shape, rows_.at(begin), Duration{end - begin}});
  }

  Index shape_of(const Work& w, Index call) {
    return w.kind == WorkKind::kernel ? rows_.launch(w.shape) : transfer(w, call);
  }
  // Whether the host waited says which kind of its memory it was, where the profile does not.
  Index transfer(const Work& w, Index of) {
    const Transfer& t = p_.transfers[w.shape];
    const rec::Call& call = r_.calls[of];
    const bool in_graph = r_.kind(call) == CallKind::graph;
    rec::Transfer out{t.bytes, t.from, t.to,
                      w.kind == WorkKind::memset || in_graph || calls_.asynchronous(call.function)};
    const bool waited = !out.asynchronous || call.end() >= rows_.at(w.end);
    const MemoryKind of_host = waited ? MemoryKind::pageable : MemoryKind::pinned;
    if (t.direction == Direction::to_device) out.from = of_host;
    if (t.direction == Direction::to_host) out.to = of_host;
    return transfers_.index(
        {out.bytes.count, static_cast<int>(out.from), static_cast<int>(out.to), out.asynchronous},
        [&] { return out; });
  }

  // --- Graphs

  Index graph(const GraphKey& key) {
    const auto [place, is_new] = graphs_.try_emplace(key, static_cast<Index>(r_.graphs.size()));
    if (is_new) {
      r_.graphs.push_back({0, key.first != 0 ? key.first : place->second});
      nodes_.emplace_back();
    }
    return place->second;
  }

  void add_graph(std::span<const SubmittedWork> of_call) {
    const Work* whole = nullptr;
    GraphKey key;
    std::int64_t end = INT64_MIN;
    const SubmittedWork* first_node = nullptr;
    for (const SubmittedWork& one : of_call) {
      const Work& w = p_.works[one.work];
      if (w.kind == WorkKind::graph) whole = &w;
      if (w.kind != WorkKind::graph && first_node == nullptr) first_node = &one;
      if (w.graph != 0) key.first = w.graph;
      end = std::max(end, w.end);
    }
    if (key.first == 0)
      for (const SubmittedWork& one : of_call) {
        const Work& w = p_.works[one.work];
        if (w.kind != WorkKind::graph)
          key.second.push_back(w.node != 0 ? w.node : static_cast<std::uint64_t>(w.kind) << 32 | w.shape);
      }
    std::sort(key.second.begin(), key.second.end());
    const Index number = graph(key);
    const Work& first = whole != nullptr ? *whole : p_.works[of_call[0].work];
    push(first, of_call[0], WorkKind::graph, number, first.begin, whole != nullptr ? whole->end : end);
    for (const SubmittedWork& one : of_call) streams_of_works_[one.work] = r_.works.back().stream;
    if (first_node != nullptr) sample(number, of_call, p_.works[first_node->work].begin);
  }

  void sample(Index graph, std::span<const SubmittedWork> of_call, std::int64_t begin) {
    std::uint64_t ordinal = 0;
    for (const SubmittedWork& one : of_call) {
      const Work& w = p_.works[one.work];
      if (w.kind == WorkKind::graph) continue;
      ++ordinal;
      NodeSamples& samples = nodes_[graph][w.node != 0 ? w.node : ordinal];
      samples.kind = w.kind;
      samples.shape = shape_of(w, one.call);
      samples.stream = w.stream;
      samples.after.push_back(w.begin - begin);
      samples.length.push_back(w.end - w.begin);
    }
  }

  void add_nodes() {
    for (Index g = 0; g < nodes_.size(); ++g) {
      const std::size_t from = r_.nodes.size();
      for (const auto& [node, s] : nodes_[g])
        r_.nodes.push_back({g, s.kind, s.shape, s.stream, middle_of(s.after), middle_of(s.length),
                            static_cast<std::uint32_t>(s.after.size())});
      const auto first = r_.nodes.begin() + static_cast<std::ptrdiff_t>(from);
      std::stable_sort(first, r_.nodes.end(),
                       [](const rec::GraphNode& a, const rec::GraphNode& b) { return a.after < b.after; });
      std::map<std::uint32_t, std::uint32_t> lanes;  // by stream
      for (auto node = first; node != r_.nodes.end(); ++node)
        node->lane = lanes.try_emplace(node->lane, static_cast<std::uint32_t>(lanes.size())).first->second;
    }
  }

  ProfiledRows& rows_;
  const ProfiledCalls& calls_;
  const Profile& p_;
  rec::Recording& r_;
  std::vector<Index> streams_of_works_;
  DistinctRows<rec::Transfer, std::array<std::int64_t, 4>> transfers_{r_.transfers};
  std::map<GraphKey, Index> graphs_;
  std::vector<std::map<std::uint64_t, NodeSamples>> nodes_;  // by graph, by node
};

}  // namespace

std::vector<Index> add_works(ProfiledRows& rows, const ProfiledCalls& calls) {
  return WorksAdder(rows, calls).add();
}

}  // namespace gangway::profile
