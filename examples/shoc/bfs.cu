// Breadth-first search: distances from a set of vertices, a launch for each distance. A warp looks at 32
// vertices, and goes together along the edges of each that was reached last.
#include <atomic>

#include "shoc.hpp"

namespace {

constexpr int kThreads = 256, kNever = 0x7FFFFFFF;

}  // namespace

__global__ void expand(const unsigned* begins, const int* edges, int* distances, int* any, int distance,
                       int vertices) {
  const int lane = threadIdx.x % 32;
  const int first = static_cast<int>(blockIdx.x) * kThreads + static_cast<int>(threadIdx.x) - lane;
  for (int v = first; v < min(vertices, first + 32); ++v) {
    if (distances[v] != distance) continue;
    for (unsigned i = begins[v] + lane; i < begins[v + 1]; i += 32) {
      const int to = edges[i];
      if (distances[to] == kNever) {
        distances[to] = distance + 1;
        *any = 1;
      }
    }
  }
}

namespace {

class Bfs final : public shoc::Benchmark {
 public:
  // 120 edges a nanosecond, as each takes a sector of the distances from the cache: 5.99 ms.
  explicit Bfs(double scale)
      : vertices_(static_cast<int>(shoc::scaled(11e6, scale, kThreads))),
        begins_of_(static_cast<std::size_t>(vertices_) + 1),
        edges_of_(kDegree * static_cast<std::size_t>(vertices_)),
        at_first_of_(static_cast<std::size_t>(vertices_)),
        distances_(at_first_of_.size()) {
    for (int v = 0; v <= vertices_; ++v) begins_of_[v] = static_cast<unsigned>(v) * kDegree;
    // One edge leads to the next of the layers, to a vertex that no other leads to, so that nothing may be
    // left out; the rest lead to the same layer or the one before. Each launch has as much to do.
    shoc::in_parallel(at_first_of_.size(), [&](std::size_t from, std::size_t end) {
      for (std::size_t v = from; v < end; ++v) {
        at_first_of_[v] = layer(v) == 0 ? 0 : kNever;
        for (unsigned i = begins_of_[v]; i < begins_of_[v + 1]; ++i) edges_of_[i] = leads_to(v, i);
      }
    });
    NEED(cudaMemcpy(begins_.data(), begins_of_.data(), begins_.bytes(), cudaMemcpyHostToDevice));
    NEED(cudaMemcpy(edges_.data(), edges_of_.data(), edges_.bytes(), cudaMemcpyHostToDevice));
    NEED(cudaMemcpy(at_first_.data(), at_first_of_.data(), at_first_.bytes(), cudaMemcpyHostToDevice));
  }

  void launch() override {
    NEED(cudaMemcpyAsync(distances_.data(), at_first_.data(), distances_.bytes(), cudaMemcpyDeviceToDevice));
    int any = 1;
    for (int distance = 0; any != 0; ++distance) {
      NEED(cudaMemsetAsync(any_.data(), 0, any_.bytes()));
      expand<<<vertices_ / kThreads, kThreads>>>(begins_.data(), edges_.data(), distances_.data(),
                                                 any_.data(), distance, vertices_);
      NEED(cudaMemcpy(&any, any_.data(), sizeof any, cudaMemcpyDeviceToHost));
    }
  }

  std::vector<shoc::Region> outputs() const override { return {shoc::region(distances_)}; }

  // All distances.
  void check(shoc::Sample&) override {
    if (expected_.empty()) search();
    const std::vector<int> found = distances_.all();
    for (std::size_t v = 0; v < found.size(); ++v) shoc::need_equal("distance", v, found[v], expected_[v]);
  }

 private:
  static constexpr int kLayers = 8;
  static constexpr unsigned kDegree = 64;

  static int layer(std::size_t v) { return static_cast<int>(v % kLayers); }
  int leads_to(std::size_t v, unsigned edge) const {
    const std::size_t in_layer = static_cast<std::size_t>(vertices_) / kLayers;
    const bool onward = edge == begins_of_[v] && layer(v) + 1 < kLayers;
    const std::uint64_t random = shoc::mixed(edge);
    const std::size_t place = onward ? v / kLayers + 7919 : random >> 8;
    const int to = onward ? layer(v) + 1 : std::max(0, layer(v) - static_cast<int>(random % 2));
    return static_cast<int>(place % in_layer * kLayers) + to;
  }

  // On the CPU, distance by distance.
  void search() {
    std::vector<std::atomic<int>> distances(at_first_of_.size());
    for (std::size_t v = 0; v < distances.size(); ++v) distances[v] = at_first_of_[v];
    std::atomic<bool> any{true};
    for (int distance = 0; any; ++distance) {
      any = false;
      shoc::in_parallel(distances.size(), [&](std::size_t from, std::size_t end) {
        for (std::size_t v = from; v < end; ++v) {
          if (distances[v].load(std::memory_order_relaxed) != distance) continue;
          for (unsigned i = begins_of_[v]; i < begins_of_[v + 1]; ++i) {
            std::atomic<int>& to = distances[edges_of_[i]];
            if (to.load(std::memory_order_relaxed) != kNever) continue;
            to.store(distance + 1, std::memory_order_relaxed);
            any = true;
          }
        }
      });
    }
    expected_.assign(distances.begin(), distances.end());
  }

  int vertices_;
  std::vector<unsigned> begins_of_;
  std::vector<int> edges_of_, at_first_of_, expected_;
  shoc::Buffer<int> distances_, at_first_{at_first_of_.size()}, edges_{edges_of_.size()}, any_{1};
  shoc::Buffer<unsigned> begins_{begins_of_.size()};
};

}  // namespace

int main(int argc, char** argv) { return shoc::run<Bfs>("bfs", argc, argv); }
