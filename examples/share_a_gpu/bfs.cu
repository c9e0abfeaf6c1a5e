// BFS: breadth-first search with masks, two launches and a look at a flag for each distance (Rodinia).
#include <unordered_map>

#include "table1.hpp"

namespace {

constexpr int kNever = -1;

// Five vertices have 2 to 6 edges, which lead anywhere: where a vertex's edges begin follows from its number.
__host__ __device__ inline unsigned degree(std::size_t vertex) { return 2 + vertex % 5; }
__host__ __device__ inline std::size_t first_edge(std::size_t vertex) {
  const std::size_t rest = vertex % 5;
  return vertex / 5 * 20 + 2 * rest + rest * (rest - 1) / 2;
}

struct Vertex {
  std::uint64_t first;
  std::uint32_t edges, spare;
  __host__ __device__ bool operator==(const Vertex& other) const {
    return first == other.first && edges == other.edges && spare == other.spare;
  }
};

struct Made {
  __host__ __device__ Vertex operator()(std::size_t vertex) const {
    return {first_edge(vertex), degree(vertex), 0};
  }
};

struct LeadsTo {
  std::size_t vertices;
  __host__ __device__ std::uint32_t operator()(std::size_t edge) const {
    return static_cast<std::uint32_t>(table1::mixed(edge) % vertices);
  }
};

struct AtFirst {
  std::size_t source;
  __host__ __device__ int operator()(std::size_t vertex) const { return vertex == source ? 0 : kNever; }
};
struct IsSource {
  std::size_t source;
  __host__ __device__ bool operator()(std::size_t vertex) const { return vertex == source; }
};

}  // namespace

__global__ void expand(const Vertex* graph, const std::uint32_t* edges, bool* frontier, bool* next,
                       const bool* visited, int* cost, std::size_t vertices) {
  for (std::size_t v = table1::first_index(); v < vertices; v += table1::all_threads()) {
    if (!frontier[v]) continue;
    frontier[v] = false;
    const Vertex vertex = graph[v];
    for (std::uint64_t e = vertex.first; e < vertex.first + vertex.edges; ++e) {
      const std::uint32_t to = edges[e];
      if (visited[to]) continue;
      cost[to] = cost[v] + 1;
      next[to] = true;
    }
  }
}

__global__ void advance(bool* frontier, bool* next, bool* visited, int* any, std::size_t vertices) {
  for (std::size_t v = table1::first_index(); v < vertices; v += table1::all_threads()) {
    if (!next[v]) continue;
    frontier[v] = visited[v] = true;
    next[v] = false;
    *any = 1;
  }
}

// Of each vertex that was reached: whether an edge leads on to one that is more than a step farther; and it
// vouches for those that are just that.
__global__ void vouch(const std::uint32_t* edges, const int* cost, bool* vouched, std::size_t vertices,
                      table1::Count* wrong) {
  for (std::size_t v = table1::first_index(); v < vertices; v += table1::all_threads()) {
    if (cost[v] == kNever) continue;
    for (std::size_t e = first_edge(v); e < first_edge(v) + degree(v); ++e) {
      const int there = cost[edges[e]];
      if (there == kNever || there > cost[v] + 1) atomicAdd(wrong, 1ULL);
      if (there == cost[v] + 1) vouched[edges[e]] = true;
    }
  }
}

__global__ void need_vouched(const int* cost, bool* vouched, std::size_t source, std::size_t vertices,
                             table1::Count* wrong) {
  for (std::size_t v = table1::first_index(); v < vertices; v += table1::all_threads()) {
    if (v == source ? cost[v] != 0 : cost[v] != kNever && !vouched[v]) atomicAdd(wrong, 1ULL);
    vouched[v] = false;
  }
}

namespace {

class Bfs final : public table1::Problem {
 public:
  // A vertex takes 40 bytes: 16 for itself, 16 for its edges, 3 masks, its cost; one is left for checks.
  explicit Bfs(std::size_t bytes)
      : vertices_(std::clamp<std::size_t>(bytes / 40, 5, 0xFFFFFFFF) / 5 * 5),
        graph_(vertices_),
        edges_(vertices_ * 4),
        frontier_(vertices_),
        next_(vertices_),
        visited_(vertices_),
        vouched_(vertices_),
        cost_(vertices_),
        any_(1) {
    table1::fill_all(graph_, Made());
    table1::fill_all(edges_, LeadsTo{vertices_});
  }

  void job(long rounds) override {
    for (long r = 0; r < rounds; ++r) search();
  }

  // All distances: no edge leads farther than a step, and each vertex but the source has one that leads to it
  // from a step nearer. Those near the source are found by the host, too.
  void check(table1::Sample&) override {
    table1::need_all("vertices", graph_, vertices_, Made());
    table1::need_all("edges", edges_, edges_.size(), LeadsTo{vertices_});
    table1::Buffer<table1::Count> wrong(1);
    vouch<<<table1::blocks(vertices_), table1::kThreads>>>(edges_.data(), cost_.data(), vouched_.data(),
                                                           vertices_, wrong.data());
    LAUNCHED();
    need_vouched<<<table1::blocks(vertices_), table1::kThreads>>>(cost_.data(), vouched_.data(), source_,
                                                                  vertices_, wrong.data());
    LAUNCHED();
    if (const table1::Count found = wrong.at(0); found != 0)
      table1::fail("%llu distances of %zu vertices are wrong", found, vertices_);
    std::unordered_map<std::size_t, int> near{{source_, 0}};
    std::vector<std::size_t> reached{source_};
    for (std::size_t i = 0; i < reached.size() && near.size() < 400; ++i)
      for (std::size_t e = first_edge(reached[i]); e < first_edge(reached[i]) + degree(reached[i]); ++e)
        if (const std::size_t to = LeadsTo{vertices_}(e); near.emplace(to, near[reached[i]] + 1).second)
          reached.push_back(to);
    for (const std::size_t v : reached) {
      const int found = cost_.at(v);
      table1::need(found == near[v], "distance of vertex", v, found, near[v]);
    }
  }

  std::uint64_t result() override { return table1::checksum(cost_); }

 private:
  // From another source each time.
  void search() {
    source_ = table1::mixed(searches_++) % vertices_;
    table1::fill_all(cost_, AtFirst{source_});
    table1::fill_all(frontier_, IsSource{source_});
    table1::fill_all(visited_, IsSource{source_});
    for (int any = 1; any != 0;) {
      any_.put({0});
      expand<<<table1::blocks(vertices_), table1::kThreads>>>(graph_.data(), edges_.data(), frontier_.data(),
                                                              next_.data(), visited_.data(), cost_.data(),
                                                              vertices_);
      LAUNCHED();
      advance<<<table1::blocks(vertices_), table1::kThreads>>>(frontier_.data(), next_.data(),
                                                               visited_.data(), any_.data(), vertices_);
      LAUNCHED();
      any = any_.at(0);
    }
  }

  std::size_t vertices_, source_ = 0;
  std::uint64_t searches_ = 0;
  table1::Buffer<Vertex> graph_;
  table1::Buffer<std::uint32_t> edges_;
  table1::Buffer<bool> frontier_, next_, visited_, vouched_;
  table1::Buffer<int> cost_, any_;
};

}  // namespace

int main(int argc, char** argv) { return table1::run<Bfs>("bfs", 1, argc, argv); }
