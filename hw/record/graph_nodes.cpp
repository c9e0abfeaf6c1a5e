#include "hw/record/graph_nodes.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

#include "hw/record/shapes.hpp"

namespace gangway::spool {
namespace {

namespace rec = recording;
using rec::Index;

// One node of one launch.
struct Timed {
  rec::WorkKind kind;
  Index shape;
  std::uint32_t stream;
  std::uint64_t begin, end;
};

struct TimedGraph {
  std::uint64_t first = UINT64_MAX;  // when it was launched first
  // By launch, by node.
  std::map<std::uint32_t, std::map<std::uint64_t, Timed>> launches;
};

Duration median(std::vector<std::int64_t> values) {
  const std::size_t middle = (values.size() - 1) / 2;
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(middle), values.end());
  return Duration{values[middle]};
}

// The graphs of a process in the order of their first launches.
std::vector<TimedGraph> timed_graphs(const Contents& p, Shapes& shapes) {
  std::map<std::uint32_t, TimedGraph> graphs;
  const auto add = [&](const Work& w, rec::WorkKind kind, auto shape) {
    if (w.node == 0 && w.graph == 0) return;
    TimedGraph& graph = graphs[w.graph];
    graph.first = std::min(graph.first, w.begin);
    graph.launches[w.correlation][w.node] = {kind, shape(), w.stream, w.begin, w.end};
  };
  for (const Kernel& k : p.kernels)
    if (k.shape > 0 && k.shape <= p.shapes.size())
      add(k.work, rec::WorkKind::kernel, [&] { return shapes.launch(p, p.shapes[k.shape - 1]); });
  for (const Copy& c : p.copies) add(c.work, rec::WorkKind::copy, [&] { return shapes.copy(c); });
  for (const Memset& m : p.memsets) add(m.work, rec::WorkKind::memset, [&] { return shapes.memset(m); });
  std::vector<TimedGraph> out;
  for (auto& [number, graph] : graphs) out.push_back(std::move(graph));
  std::stable_sort(out.begin(), out.end(),
                   [](const TimedGraph& a, const TimedGraph& b) { return a.first < b.first; });
  return out;
}

std::vector<rec::GraphNode> nodes_of(const TimedGraph& graph, Index index) {
  struct Samples {
    std::vector<std::int64_t> after, length;
    Timed last;
  };
  std::map<std::uint64_t, Samples> nodes;
  for (const auto& [launch, timed] : graph.launches) {
    std::uint64_t first = UINT64_MAX;
    for (const auto& [node, t] : timed) first = std::min(first, t.begin);
    for (const auto& [node, t] : timed) {
      Samples& samples = nodes[node];
      samples.after.push_back(static_cast<std::int64_t>(t.begin - first));
      samples.length.push_back(static_cast<std::int64_t>(t.end - t.begin));
      samples.last = t;
    }
  }
  std::map<std::uint32_t, std::uint32_t> lanes;  // by stream
  std::vector<rec::GraphNode> out;
  for (const auto& [node, s] : nodes)
    out.push_back({index, s.last.kind, s.last.shape, s.last.stream, median(s.after), median(s.length),
                   static_cast<std::uint32_t>(s.after.size())});
  std::stable_sort(out.begin(), out.end(),
                   [](const rec::GraphNode& a, const rec::GraphNode& b) { return a.after < b.after; });
  for (rec::GraphNode& n : out)
    n.lane = lanes.try_emplace(n.lane, static_cast<std::uint32_t>(lanes.size())).first->second;
  return out;
}

}  // namespace

std::size_t add_nodes(rec::Recording& r, const std::vector<Contents>& second_pass) {
  Shapes shapes(r);
  std::vector<std::vector<TimedGraph>> timed;
  for (const Contents& process : second_pass) timed.push_back(timed_graphs(process, shapes));
  std::vector<std::size_t> seen(r.processes.size());
  std::size_t without = 0;
  for (Index g = 0; g < r.graphs.size(); ++g) {
    const Index process = r.graphs[g].process;
    const std::size_t number = seen[process]++;
    if (process >= timed.size() || number >= timed[process].size()) {
      ++without;
      continue;
    }
    for (const rec::GraphNode& node : nodes_of(timed[process][number], g)) r.nodes.push_back(node);
  }
  return without;
}

}  // namespace gangway::spool
