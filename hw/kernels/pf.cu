// PF: pathfinder, the cheapest way down a grid by dynamic programming (FRS paper, Table I; Rodinia). A
// block-task goes down all rows in a strip of columns. Its halo, a column for each row on either side, is
// computed by its neighbours too, so no block-task needs another.
#include <array>

#include "hw/kernels/outputs.hpp"
#include "hw/kernels/shaped_code.hpp"
#ifdef __CUDACC__
#include "hw/cuda/device_array.cuh"
#endif

namespace gangway {
namespace {

constexpr std::int64_t kThreads = 256;
constexpr std::int32_t kOutside = 1 << 30;  // no way leads through the columns beside the grid

struct Shape {
  std::int64_t columns, rows;
  std::int64_t each() const { return kThreads - 2 * rows; }  // columns of a strip, without its halo
  std::int64_t block_tasks() const { return blocks_for(columns, each()); }
};

// What a cell costs, or the way to a column up to here: 0 to most - 1.
struct Costs {
  Inputs inputs;
  std::uint32_t most;
  GANGWAY_ANYWHERE std::int32_t operator()(std::uint64_t i) const {
    return static_cast<std::int32_t>(inputs.bits(i) % most);
  }
};

class Reference {
 public:
  Reference(const Shape& shape, std::uint64_t seed)
      : before{{seed, 0}, 1000}, walls{{seed, 1}, 10}, shape_(shape) {}

  // The least of all ways that end at a column, from the last row up: equal, as costs are integers.
  std::string compare(const std::int32_t* after, std::uint64_t first, std::uint64_t count,
                      const Sample& sample) const {
    const auto columns = shape_.columns;
    return sample.compare(after, first, count, [&](std::uint64_t number, std::int32_t is) {
      // rest[j]: the cheapest way from column `left + j` of the row to the end, that row's cost included.
      std::array<std::int64_t, 2 * 128 + 3> rest, next;
      const std::int64_t left = static_cast<std::int64_t>(number) - shape_.rows - 1;
      const auto wall = [&](std::int64_t row, std::int64_t column) {
        return std::int64_t{walls(static_cast<std::uint64_t>(row * columns + column))};
      };
      constexpr std::int64_t kNoWay = std::int64_t{1} << 40;
      rest.fill(kNoWay);
      rest[static_cast<std::size_t>(shape_.rows + 1)] =
          wall(shape_.rows - 1, static_cast<std::int64_t>(number));
      for (std::int64_t row = shape_.rows - 2; row >= 0; --row) {
        next.fill(kNoWay);
        for (std::int64_t j = 1; j <= 2 * shape_.rows + 1; ++j)
          if (left + j >= 0 && left + j < columns) {
            const auto at = static_cast<std::size_t>(j);
            const std::int64_t least = std::min({rest[at - 1], rest[at], rest[at + 1]});
            if (least < kNoWay) next[at] = least + wall(row, left + j);
          }
        rest = next;
      }
      std::int64_t right = kNoWay;
      for (std::int64_t j = 0; j <= 2 * shape_.rows + 2; ++j)
        if (left + j >= 0 && left + j < columns)
          for (std::int64_t to = std::max<std::int64_t>(0, j - 1); to <= std::min(j + 1, 2 * shape_.rows + 2);
               ++to)
            right = std::min(
                right, rest[static_cast<std::size_t>(to)] + before(static_cast<std::uint64_t>(left + j)));
      return unequal(std::int64_t{is}, right);
    });
  }

  Costs before, walls;

 private:
  Shape shape_;
};

Sample sample_of(const Shape& shape, std::uint64_t seed) {
  return {static_cast<std::uint64_t>(shape.columns),
          static_cast<std::uint64_t>(2 * shape.rows * (shape.rows + 1)), seed};
}

#ifdef __CUDACC__

// Threads at the ends of the window compute too little, one column more with each row: the halo. Walls do not
// depend on what is computed, so they are read some rows ahead.
constexpr int kAhead = 4;
static_assert(kAhead % 2 == 0, "a row's place in `costs` follows from its place in `wall`");

GANGWAY_KERNEL(find_paths, const std::int32_t* __restrict__ before, const std::int32_t* __restrict__ walls,
               std::int32_t* __restrict__ after, int columns, int rows) {
  __shared__ std::int32_t costs[2][kThreads];
  const int place = static_cast<int>(threadIdx.x), last = kThreads - 1;
  const int column = static_cast<int>(blockIdx.x) * (kThreads - 2 * rows) - rows + place;
  const bool inside = column >= 0 && column < columns;
  std::int32_t cost = inside ? before[column] : kOutside;
  const std::int32_t* next = walls + (inside ? column : 0);
  std::int32_t wall[kAhead];
#pragma unroll
  for (int i = 0; i < kAhead; ++i, next += columns) wall[i] = inside && i < rows ? *next : 0;
  for (int from = 0; from < rows; from += kAhead) {
#pragma unroll
    for (int i = 0; i < kAhead; ++i, next += columns) {
      if (from + i >= rows) break;
      std::int32_t* of_row = costs[i % 2];
      of_row[place] = cost;
      const std::int32_t here = wall[i];
      if (inside && from + i + kAhead < rows) wall[i] = *next;
      __syncthreads();
      const std::int32_t least = min(min(of_row[max(place - 1, 0)], cost), of_row[min(place + 1, last)]);
      cost = inside ? least + here : kOutside;
    }
  }
  if (inside && place >= rows && place < kThreads - rows) after[column] = cost;
}

using Form = preemptible::Kernel<&find_paths, kThreads, 8>;

class OnCuda : public FormedProblem<Form> {
 public:
  OnCuda(const Shape& shape, std::uint64_t seed)
      : FormedProblem(static_cast<unsigned>(shape.block_tasks()), static_cast<unsigned>(kThreads)),
        columns_(static_cast<int>(shape.columns)),
        rows_(static_cast<int>(shape.rows)),
        reference_(shape, seed),
        sample_(sample_of(shape, seed)),
        before_(shape.columns),
        walls_(shape.columns * shape.rows),
        after_(shape.columns) {
    fill(before_, reference_.before);
    fill(walls_, reference_.walls);
    poison();
  }
  void launch(preemptible::Session& session, BlockRange range) const override {
    start(session, range, before_.data(), walls_.data(), after_.data(), columns_, rows_);
  }
  void launch_original(preemptible::Session& session) const override {
    form().launch_original(session, before_.data(), walls_.data(), after_.data(), columns_, rows_);
  }
  void poison() override { after_.fill_bytes(kPoison); }
  std::vector<OutputMemory> outputs() const override { return {memory_of(after_)}; }
  std::string difference() const override {
    return after_.in_parts([&](const std::int32_t* after, std::uint64_t first, std::uint64_t count) {
      return reference_.compare(after, first, count, sample_);
    });
  }

 private:
  int columns_, rows_;
  Reference reference_;
  Sample sample_;
  DeviceArray<std::int32_t> before_, walls_, after_;
};

#else

class OnCuda;

#endif

class OnHost : public HostProblem {
 public:
  OnHost(const Shape& shape, std::uint64_t seed)
      : shape_(shape),
        reference_(shape, seed),
        sample_(sample_of(shape, seed)),
        before_(host_array<std::int32_t>(shape.columns)),
        walls_(host_array<std::int32_t>(shape.columns * shape.rows)),
        after_(host_array<std::int32_t>(shape.columns)) {
    for (std::size_t i = 0; i < before_.size(); ++i) before_[i] = reference_.before(i);
    for (std::size_t i = 0; i < walls_.size(); ++i) walls_[i] = reference_.walls(i);
    poison_all(after_);
  }
  void block_task(std::uint32_t index) override {
    const std::int64_t begin = index * shape_.each(), end = std::min(begin + shape_.each(), shape_.columns);
    // One column more on either side than the halo, always outside.
    std::array<std::int32_t, kThreads + 2> costs, next;
    const std::int64_t left = begin - shape_.rows - 1;
    costs.fill(kOutside);
    const std::int64_t from = std::max<std::int64_t>(begin - shape_.rows, 0),
                       to = std::min(end + shape_.rows, shape_.columns);
    for (std::int64_t column = from; column < to; ++column)
      costs[static_cast<std::size_t>(column - left)] = before_[static_cast<std::size_t>(column)];
    for (std::int64_t row = 0; row < shape_.rows; ++row) {
      next.fill(kOutside);
      for (std::int64_t column = from; column < to; ++column) {
        const auto at = static_cast<std::size_t>(column - left);
        next[at] = std::min({costs[at - 1], costs[at], costs[at + 1]}) +
                   walls_[static_cast<std::size_t>(row * shape_.columns + column)];
      }
      costs = next;
    }
    for (std::int64_t column = begin; column < end; ++column)
      after_[static_cast<std::size_t>(column)] = costs[static_cast<std::size_t>(column - left)];
  }
  void poison() override { poison_all(after_); }
  std::string difference() const override {
    return reference_.compare(after_.data(), 0, after_.size(), sample_);
  }

 private:
  Shape shape_;
  Reference reference_;
  Sample sample_;
  std::vector<std::int32_t> before_, walls_, after_;
};

class Pathfinder : public ShapedCode<Shape, OnHost, OnCuda> {
 public:
  explicit Pathfinder(const ParameterValues& values)
      : ShapedCode({values.integer("columns"), values.integer("rows")}) {
    (void)shape_.block_tasks();
  }
  Dimensions grid() const override { return {shape_.block_tasks(), 1, 1}; }
  Dimensions block() const override { return {kThreads, 1, 1}; }
  Bytes memory() const override { return {4 * shape_.columns * (shape_.rows + 2)}; }
};

const KernelRegistration<Pathfinder> registered{
    "PF",
    "pathfinder: cheapest ways down a grid, strips of 256 columns with their halos",
    // 1.64 ms on an H200, block-tasks of 9 us.
    {{"columns", "of the grid", Parameter::Integer{41'943'040, 1, std::int64_t{1} << 30}},
     {"rows", "that a launch goes down", Parameter::Integer{20, 1, 100}}},
    "{columns: 10007, rows: 13}"};

}  // namespace
}  // namespace gangway
