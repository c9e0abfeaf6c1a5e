// VA: vector addition (FRS paper, Table I). Bound by memory bandwidth: 12 bytes an element.
#include "hw/kernels/outputs.hpp"
#include "hw/kernels/shaped_code.hpp"
#ifdef __CUDACC__
#include "hw/cuda/device_array.cuh"
#endif

namespace gangway {
namespace {

constexpr std::int64_t kThreads = 256;

struct Shape {
  std::int64_t elements, per_thread;
  std::int64_t block_tasks() const { return blocks_for(elements, kThreads * per_thread); }
};

// The reference: equal to the last bit, as one addition is rounded once everywhere.
class Reference {
 public:
  Reference(const Shape& shape, std::uint64_t seed)
      : a(seed, 0), b(seed, 1), sample_(shape.elements, 1, seed) {}

  std::string compare(const float* sums, std::uint64_t first, std::uint64_t count) const {
    return sample_.compare(sums, first, count,
                           [&](std::uint64_t i, float sum) { return unequal(sum, a.real(i) + b.real(i)); });
  }

  Inputs a, b;

 private:
  Sample sample_;
};

#ifdef __CUDACC__

GANGWAY_KERNEL(vector_add, const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c,
               std::uint64_t elements, std::uint32_t per_thread) {
  const std::uint64_t begin = std::uint64_t{blockIdx.x} * blockDim.x * per_thread;
  const std::uint64_t end = begin + blockDim.x * per_thread;
  if (end > elements) {
    for (std::uint64_t i = begin + threadIdx.x; i < elements; i += blockDim.x) c[i] = a[i] + b[i];
    return;
  }
  const auto* x = reinterpret_cast<const float4*>(a + begin) + threadIdx.x;
  const auto* y = reinterpret_cast<const float4*>(b + begin) + threadIdx.x;
  auto* z = reinterpret_cast<float4*>(c + begin) + threadIdx.x;
  for (std::uint32_t quad = 0; quad < per_thread / 4; quad += 2) {
    const std::uint32_t at = quad * blockDim.x, next = at + blockDim.x;
    const float4 x0 = x[at], x1 = x[next], y0 = y[at], y1 = y[next];
    z[at] = make_float4(x0.x + y0.x, x0.y + y0.y, x0.z + y0.z, x0.w + y0.w);
    z[next] = make_float4(x1.x + y1.x, x1.y + y1.y, x1.z + y1.z, x1.w + y1.w);
  }
}

using Form = preemptible::Kernel<&vector_add, kThreads, 8>;

class OnCuda : public FormedProblem<Form> {
 public:
  OnCuda(const Shape& shape, std::uint64_t seed)
      : FormedProblem(static_cast<unsigned>(shape.block_tasks()), static_cast<unsigned>(kThreads)),
        per_thread_(static_cast<std::uint32_t>(shape.per_thread)),
        reference_(shape, seed),
        a_(shape.elements),
        b_(shape.elements),
        c_(shape.elements) {
    fill(a_, Reals{reference_.a});
    fill(b_, Reals{reference_.b});
    poison();
  }
  void launch(preemptible::Session& session, BlockRange range) const override {
    start(session, range, a_.data(), b_.data(), c_.data(), c_.size(), per_thread_);
  }
  void launch_original(preemptible::Session& session) const override {
    form().launch_original(session, a_.data(), b_.data(), c_.data(), c_.size(), per_thread_);
  }
  void poison() override { c_.fill_bytes(kPoison); }
  std::vector<OutputMemory> outputs() const override { return {memory_of(c_)}; }
  std::optional<std::vector<WrittenBytes>> written(BlockRange blocks) const override {
    return pieces_written({{c_.size(), sizeof(float)}}, kThreads * std::int64_t{per_thread_}, blocks);
  }
  std::string difference() const override {
    return c_.in_parts([&](const float* sums, std::uint64_t first, std::uint64_t count) {
      return reference_.compare(sums, first, count);
    });
  }

 private:
  std::uint32_t per_thread_;
  Reference reference_;
  DeviceArray<float> a_, b_, c_;
};

#else

class OnCuda;

#endif

class OnHost : public HostProblem {
 public:
  OnHost(const Shape& shape, std::uint64_t seed)
      : each_(static_cast<std::size_t>(kThreads * shape.per_thread)),
        reference_(shape, seed),
        a_(host_array<float>(shape.elements)),
        b_(host_array<float>(shape.elements)),
        c_(host_array<float>(shape.elements)) {
    for (std::size_t i = 0; i < a_.size(); ++i) {
      a_[i] = reference_.a.real(i);
      b_[i] = reference_.b.real(i);
    }
    poison_all(c_);
  }
  void block_task(std::uint32_t index) override {
    const std::size_t end = std::min((index + std::size_t{1}) * each_, c_.size());
    for (std::size_t i = index * each_; i < end; ++i) c_[i] = a_[i] + b_[i];
  }
  void poison() override { poison_all(c_); }
  std::string difference() const override { return reference_.compare(c_.data(), 0, c_.size()); }

 private:
  std::size_t each_;
  Reference reference_;
  std::vector<float> a_, b_, c_;
};

class VectorAddition : public ShapedCode<Shape, OnHost, OnCuda> {
 public:
  explicit VectorAddition(const ParameterValues& values)
      : ShapedCode({values.integer("elements"), values.integer("per_thread")}) {
    if (shape_.per_thread % 8 != 0) throw std::invalid_argument("per_thread must be a multiple of 8");
    (void)shape_.block_tasks();
  }
  Dimensions grid() const override { return {shape_.block_tasks(), 1, 1}; }
  Dimensions block() const override { return {kThreads, 1, 1}; }
  Bytes memory() const override { return {shape_.elements * 12}; }
};

const KernelRegistration<VectorAddition> registered{
    "VA",
    "vector addition, 256 threads a block",
    // About 3.7 ms at 4.3 TB/s, in block-tasks of about 24 us.
    {{"elements", "of each vector", Parameter::Integer{1'342'177'280, 1, std::int64_t{1} << 34}},
     {"per_thread", "elements that a thread adds; a multiple of 8", Parameter::Integer{32, 8, 1024}}},
    "{elements: 200003, per_thread: 8}"};

}  // namespace
}  // namespace gangway
