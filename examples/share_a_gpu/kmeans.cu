// Kmeans: clusters of points with whole coordinates. The points are turned feature by feature, then each
// round finds the nearest centre of every point and takes the means (Rodinia). Sums of whole numbers are
// exact, in any order.
#include "table1.hpp"

namespace {

constexpr int kFeatures = 34, kClusters = 5;
constexpr long kRounds = 10;

struct Coordinate {  // feature by feature of point after point
  __host__ __device__ float operator()(std::size_t i) const {
    return static_cast<float>(table1::mixed(i) >> 54);  // below 1024
  }
};
struct Turned {
  std::size_t points;
  __host__ __device__ float operator()(std::size_t i) const {
    return Coordinate()(i % points * kFeatures + i / points);
  }
};

struct Centres {
  float of[kClusters][kFeatures];
};

using Sums = table1::Count;  // of each cluster: its features', and how many points it has

}  // namespace

__global__ void turn(const float* features, float* by_feature, std::size_t points) {
  for (std::size_t p = table1::first_index(); p < points; p += table1::all_threads())
    for (int f = 0; f < kFeatures; ++f) by_feature[f * points + p] = features[p * kFeatures + f];
}

__global__ void assign(const float* by_feature, int* membership, Centres centres, std::size_t points) {
  for (std::size_t p = table1::first_index(); p < points; p += table1::all_threads()) {
    float distances[kClusters] = {};
    for (int f = 0; f < kFeatures; ++f) {
      const float x = by_feature[f * points + p];
#pragma unroll
      for (int c = 0; c < kClusters; ++c) distances[c] += (x - centres.of[c][f]) * (x - centres.of[c][f]);
    }
    int nearest = 0;
    float least = distances[0];
#pragma unroll
    for (int c = 1; c < kClusters; ++c)
      if (distances[c] < least) nearest = c, least = distances[c];
    membership[p] = nearest;
  }
}

// A row of blocks for each feature, and the last one to count.
__global__ void add_members(const float* by_feature, const int* membership, Sums* sums, std::size_t points) {
  __shared__ Sums of_block[kClusters];
  if (threadIdx.x < kClusters) of_block[threadIdx.x] = 0;
  __syncthreads();
  const bool counts = blockIdx.y == kFeatures;
  Sums mine[kClusters] = {};
  for (std::size_t p = table1::first_index(); p < points; p += table1::all_threads()) {
    const int cluster = membership[p];
    const Sums value = counts ? 1 : static_cast<Sums>(by_feature[blockIdx.y * points + p]);
#pragma unroll
    for (int c = 0; c < kClusters; ++c) mine[c] += cluster == c ? value : 0;
  }
#pragma unroll
  for (int c = 0; c < kClusters; ++c)
    if (mine[c] != 0) atomicAdd(of_block + c, mine[c]);
  __syncthreads();
  if (threadIdx.x < kClusters && of_block[threadIdx.x] != 0)
    atomicAdd(sums + threadIdx.x * (kFeatures + 1) + blockIdx.y, of_block[threadIdx.x]);
}

namespace {

class Kmeans final : public table1::Problem {
 public:
  explicit Kmeans(std::size_t bytes)
      : points_(std::max<std::size_t>(kClusters, bytes / (8 * kFeatures + 4))),
        features_(points_ * kFeatures),
        by_feature_(points_ * kFeatures),
        membership_(points_),
        sums_(kClusters * (kFeatures + 1)) {
    table1::fill_all(features_, Coordinate());
  }

  void job(long rounds) override {
    turn<<<table1::blocks(points_), table1::kThreads>>>(features_.data(), by_feature_.data(), points_);
    LAUNCHED();
    for (int c = 0; c < kClusters; ++c)
      for (int f = 0; f < kFeatures; ++f) centres_.of[c][f] = Coordinate()(c * kFeatures + f);
    for (long r = 0; r < rounds; ++r) {
      if (r > 0) take_means();
      sums_.put(std::vector<Sums>(sums_.size(), 0));
      assign<<<table1::blocks(points_), table1::kThreads>>>(by_feature_.data(), membership_.data(), centres_,
                                                            points_);
      LAUNCHED();
      add_members<<<dim3(std::min(table1::blocks(points_), 256U), kFeatures + 1), table1::kThreads>>>(
          by_feature_.data(), membership_.data(), sums_.data(), points_);
      LAUNCHED();
    }
  }

  void check(table1::Sample& sample) override {
    table1::need_all("features", features_, features_.size(), Coordinate());
    table1::need_all("turned features", by_feature_, by_feature_.size(), Turned{points_});
    const std::vector<Sums> sums = sums_.part(0, sums_.size());
    Sums members = 0;
    for (int c = 0; c < kClusters; ++c) members += sums[c * (kFeatures + 1) + kFeatures];
    table1::need(members == points_, "members of all clusters, of cluster", kClusters,
                 static_cast<double>(members), static_cast<double>(points_));
    for (int n = 0; n < 256; ++n) {
      const std::size_t point = table1::drawn(sample, points_);
      double distances[kClusters] = {};
      for (int c = 0; c < kClusters; ++c)
        for (int f = 0; f < kFeatures; ++f) {
          const double way = double{Coordinate()(point * kFeatures + f)} - centres_.of[c][f];
          distances[c] += way * way;
        }
      const int found = membership_.at(point);
      const double least = *std::min_element(distances, distances + kClusters);
      if (found < 0 || found >= kClusters || distances[found] > least * (1 + 1e-5))
        table1::fail("point %zu is in cluster %d, which is not the nearest", point, found);
    }
  }

  std::uint64_t result() override {
    return table1::checksum(membership_) + table1::mixed(table1::checksum(sums_));
  }

 private:
  void take_means() {
    const std::vector<Sums> sums = sums_.part(0, sums_.size());
    for (int c = 0; c < kClusters; ++c) {
      const Sums* mine = sums.data() + c * (kFeatures + 1);
      for (int f = 0; f < kFeatures && mine[kFeatures] > 0; ++f)
        centres_.of[c][f] =
            static_cast<float>(static_cast<double>(mine[f]) / static_cast<double>(mine[kFeatures]));
    }
  }

  std::size_t points_;
  Centres centres_ = {};
  table1::Buffer<float> features_, by_feature_;
  table1::Buffer<int> membership_;
  table1::Buffer<Sums> sums_;
};

}  // namespace

int main(int argc, char** argv) { return table1::run<Kmeans>("kmeans", kRounds, argc, argv); }
