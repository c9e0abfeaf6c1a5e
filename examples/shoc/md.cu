// Molecular dynamics: the Lennard-Jones forces on atoms from a list of 128 neighbours each, in several frames
// of a trajectory, a launch for each.
#include "shoc.hpp"

namespace {

constexpr int kThreads = 256, kNeighbours = 128;
constexpr float kCut = 13.0F, kAttraction = 2.0F,
                kRepulsion = 1.5F;  // of squared distances; the pair's constants

}  // namespace

// list[j * atoms + i] is neighbour j of atom i.
__global__ void lj_forces(const float4* positions, const int* list, float4* forces, int atoms) {
  const int i = static_cast<int>(blockIdx.x) * kThreads + static_cast<int>(threadIdx.x);
  if (i >= atoms) return;
  const float4 own = positions[i];
  float4 force = {0, 0, 0, 0};
  for (int j = 0; j < kNeighbours; ++j) {
    const float4 other = positions[list[static_cast<std::size_t>(j) * atoms + i]];
    const float dx = own.x - other.x, dy = own.y - other.y, dz = own.z - other.z;
    const float r2 = dx * dx + dy * dy + dz * dz;
    if (r2 >= kCut) continue;
    const float inverse = 1.0F / r2, inverse6 = inverse * inverse * inverse;
    const float strength = inverse * inverse6 * (kRepulsion * inverse6 - kAttraction);
    force.x += dx * strength;
    force.y += dy * strength;
    force.z += dz * strength;
  }
  forces[i] = force;
}

namespace {

// Atoms near the points of a grid of unit length, numbered in no order.
class Md final : public shoc::Benchmark {
 public:
  // 110 pairs a nanosecond, as each takes a sector of the positions from the cache: 13.8 ms in six frames.
  explicit Md(double scale)
      : side_z_(static_cast<int>(shoc::scaled(120, scale, 8))),
        atoms_(kSide * kSide * side_z_),
        number_of_(atoms_),
        point_of_(atoms_),
        list_of_(static_cast<std::size_t>(atoms_) * kNeighbours) {
    for (int i = 0; i < atoms_; ++i) number_of_[i] = i;
    std::shuffle(number_of_.begin(), number_of_.end(), std::mt19937_64(9));
    for (int i = 0; i < atoms_; ++i) point_of_[number_of_[i]] = i;
    const std::vector<Offset> nearest = offsets();
    shoc::in_parallel(static_cast<std::size_t>(atoms_), [&](std::size_t from, std::size_t end) {
      for (std::size_t i = from; i < end; ++i)
        for (int j = 0; j < kNeighbours; ++j)
          list_of_[static_cast<std::size_t>(j) * atoms_ + i] = number_of_[beside(point_of_[i], nearest[j])];
    });
    NEED(cudaMemcpy(list_.data(), list_of_.data(), list_.bytes(), cudaMemcpyHostToDevice));
    std::vector<float4> frame(atoms_);
    for (int f = 0; f < kFrames; ++f) {
      for (int i = 0; i < atoms_; ++i) frame[i] = position(f, i);
      NEED(cudaMemcpy(positions_.data() + static_cast<std::size_t>(f) * atoms_, frame.data(),
                      sizeof(float4) * frame.size(), cudaMemcpyHostToDevice));
    }
  }

  void launch() override {
    const auto blocks = static_cast<unsigned>((atoms_ + kThreads - 1) / kThreads);
    for (int f = 0; f < kFrames; ++f) {
      const std::size_t first = static_cast<std::size_t>(f) * atoms_;
      lj_forces<<<blocks, kThreads>>>(positions_.data() + first, list_.data(), forces_.data() + first,
                                      atoms_);
    }
  }

  std::vector<shoc::Region> outputs() const override { return {shoc::region(forces_)}; }

  void check(shoc::Sample& sample) override {
    for (int samples = 0; samples < 4096; ++samples) {
      const int f = static_cast<int>(shoc::drawn(sample, kFrames)),
                i = static_cast<int>(shoc::drawn(sample, atoms_));
      const std::size_t at = static_cast<std::size_t>(f) * atoms_ + i;
      const float4 found = forces_.part(at, 1)[0];
      double x = 0, y = 0, z = 0;
      for (int j = 0; j < kNeighbours; ++j) {
        const float4 own = position(f, i),
                     other = position(f, list_of_[static_cast<std::size_t>(j) * atoms_ + i]);
        const double dx = double{own.x} - other.x, dy = double{own.y} - other.y, dz = double{own.z} - other.z;
        const double r2 = dx * dx + dy * dy + dz * dz;
        if (r2 >= kCut) continue;
        const double strength = (kRepulsion / (r2 * r2 * r2) - kAttraction) / (r2 * r2 * r2 * r2);
        x += dx * strength, y += dy * strength, z += dz * strength;
      }
      shoc::need_close("force along x of", at, found.x, x, 1e-4);
      shoc::need_close("force along y of", at, found.y, y, 1e-4);
      shoc::need_close("force along z of", at, found.z, z, 1e-4);
    }
  }

 private:
  static constexpr int kSide = 128, kFrames = 6;
  struct Offset {
    int x, y, z;
  };

  // The nearest points of the grid, at most sqrt(10) away, which is well within the cut.
  static std::vector<Offset> offsets() {
    std::vector<Offset> all;
    for (int z = -4; z <= 4; ++z)
      for (int y = -4; y <= 4; ++y)
        for (int x = -4; x <= 4; ++x)
          if (x != 0 || y != 0 || z != 0) all.push_back({x, y, z});
    const auto far = [](const Offset& o) { return o.x * o.x + o.y * o.y + o.z * o.z; };
    std::stable_sort(all.begin(), all.end(),
                     [&](const Offset& a, const Offset& b) { return far(a) < far(b); });
    all.resize(kNeighbours);
    return all;
  }

  // Beyond the last point comes the first.
  int beside(int point, const Offset& by) const {
    const int x = (point + by.x + kSide) % kSide;
    const int y = (point / kSide + by.y + kSide) % kSide;
    const int z = (point / (kSide * kSide) + by.z + 4 * side_z_) % side_z_;
    return (z * kSide + y) * kSide + x;
  }

  float4 position(int frame, int atom) const {
    const int point = point_of_[atom];
    const std::uint64_t drawn =
        shoc::mixed(static_cast<std::uint64_t>(frame) << 32 | static_cast<std::uint32_t>(atom));
    const auto moved = [&](int by) {
      return (static_cast<float>(drawn >> by & 0xFFFF) / 65536 - 0.5F) * 0.25F;
    };
    return {static_cast<float>(point % kSide) + moved(0),
            static_cast<float>(point / kSide % kSide) + moved(16),
            static_cast<float>(point / (kSide * kSide)) + moved(32), 0};
  }

  int side_z_, atoms_;
  std::vector<int> number_of_, point_of_, list_of_;  // atoms at points, points of atoms, and the neighbours
  shoc::Buffer<int> list_{list_of_.size()};
  shoc::Buffer<float4> positions_{static_cast<std::size_t>(kFrames) * atoms_}, forces_{positions_.size()};
};

}  // namespace

int main(int argc, char** argv) { return shoc::run<Md>("md", argc, argv); }
