// Gaussian: elimination of a dense system, two launches for each pivot (Rodinia). The memory holds many
// systems; a round is one of them.
#include "table1.hpp"

namespace {

constexpr std::size_t kMost = 10'240;  // unknowns, as in Table I
constexpr unsigned kSide = 16;         // of a block

// Systems of which the diagonal dominates, so that no pivot has to be looked for.
struct Coefficient {
  std::size_t unknowns, system;
  __host__ __device__ float operator()(std::size_t i) const {
    const bool diagonal = i / unknowns == i % unknowns;
    const auto random = static_cast<float>(table1::mixed(system << 40 | i) >> 54);  // below 1024
    return diagonal ? 1024.0F * static_cast<float>(unknowns) : random;
  }
};

}  // namespace

// What each row below the pivot's is to lose of it.
__global__ void factors(const float* matrix, float* multipliers, std::size_t unknowns, std::size_t pivot) {
  for (std::size_t row = pivot + 1 + table1::first_index(); row < unknowns; row += table1::all_threads())
    multipliers[row * unknowns + pivot] = matrix[row * unknowns + pivot] / matrix[pivot * unknowns + pivot];
}

__global__ void eliminate(float* matrix, const float* multipliers, std::size_t unknowns, std::size_t pivot) {
  for (std::size_t row = pivot + 1 + blockIdx.y * kSide + threadIdx.y; row < unknowns;
       row += std::size_t{gridDim.y} * kSide)
    for (std::size_t column = pivot + blockIdx.x * kSide + threadIdx.x; column < unknowns;
         column += std::size_t{gridDim.x} * kSide)
      matrix[row * unknowns + column] -=
          multipliers[row * unknowns + pivot] * matrix[pivot * unknowns + column];
}

namespace {

class Gaussian final : public table1::Problem {
 public:
  explicit Gaussian(std::size_t bytes)
      : unknowns_(std::clamp<std::size_t>(std::sqrt(bytes / 8.0), 2, kMost)),
        systems_(std::max<std::size_t>(1, bytes / 8 / (unknowns_ * unknowns_))),
        matrices_(systems_ * unknowns_ * unknowns_),
        multipliers_(matrices_.size()) {}

  void job(long rounds) override {
    for (long r = 0; r < rounds; ++r) {
      solve(next_);
      done_ = std::max(done_, next_ + 1);
      next_ = (next_ + 1) % systems_;
    }
  }

  // The multipliers, with ones on the diagonal, times what the matrix has become are what it was.
  void check(table1::Sample& sample) override {
    for (int n = 0; n < 64 && done_ > 0; ++n) {
      const std::size_t system = table1::drawn(sample, done_), at = system * unknowns_ * unknowns_;
      const std::size_t row = table1::drawn(sample, unknowns_), column = table1::drawn(sample, unknowns_);
      const std::vector<float> left = multipliers_.part(at + row * unknowns_, unknowns_);
      std::vector<float> right(unknowns_);
      NEED(cudaMemcpy2D(right.data(), sizeof(float), matrices_.data() + at + column,
                        unknowns_ * sizeof(float), sizeof(float), unknowns_, cudaMemcpyDeviceToHost));
      double found = row <= column ? right[row] : 0;
      for (std::size_t i = 0; i < std::min(row, column + 1); ++i) found += double{left[i]} * right[i];
      const double expected = Coefficient{unknowns_, system}(row * unknowns_ + column);
      table1::need(std::abs(found - expected) <= 1e-3 * std::max(1024.0, expected), "coefficient",
                   at + row * unknowns_ + column, found, expected);
    }
  }

  std::uint64_t result() override {
    return table1::checksum(matrices_) + table1::mixed(table1::checksum(multipliers_));
  }

 private:
  void solve(std::size_t system) {
    const std::size_t entries = unknowns_ * unknowns_;
    float *matrix = matrices_.data() + system * entries,
          *multipliers = multipliers_.data() + system * entries;
    table1::fill<<<table1::blocks(entries), table1::kThreads>>>(matrix, entries,
                                                                Coefficient{unknowns_, system});
    LAUNCHED();
    for (std::size_t pivot = 0; pivot + 1 < unknowns_; ++pivot) {
      const std::size_t left = unknowns_ - pivot;
      const auto side = static_cast<unsigned>((left + kSide - 1) / kSide);
      factors<<<table1::blocks(left), table1::kThreads>>>(matrix, multipliers, unknowns_, pivot);
      LAUNCHED();
      eliminate<<<dim3(side, side), dim3(kSide, kSide)>>>(matrix, multipliers, unknowns_, pivot);
      LAUNCHED();
    }
  }

  std::size_t unknowns_, systems_, next_ = 0, done_ = 0;
  table1::Buffer<float> matrices_, multipliers_;
};

}  // namespace

int main(int argc, char** argv) { return table1::run<Gaussian>("gaussian", 1, argc, argv); }
