// BS: prices of European call and put options by Black and Scholes (FRS paper, Table I). 20 bytes and about a
// hundred operations for each option.
#include <cmath>

#include "hw/kernels/outputs.hpp"
#include "hw/kernels/shaped_code.hpp"
#ifdef __CUDACC__
#include "hw/cuda/device_array.cuh"
#endif

namespace gangway {
namespace {

constexpr std::int64_t kThreads = 256;
constexpr float kRate = 0.02f, kVolatility = 0.3f;  // a year

struct Shape {
  std::int64_t options, per_thread;
  std::int64_t block_tasks() const { return blocks_for(options, kThreads * per_thread); }
};

// Evenly drawn between two bounds.
struct Between {
  Inputs inputs;
  float least, most;
  GANGWAY_ANYWHERE float operator()(std::uint64_t i) const {
    return least + (most - least) * (inputs.real(i) - 0.5f);
  }
};

struct Prices {
  float call, put;
};

// The normal distribution by the polynomial of Abramowitz and Stegun (26.2.17), off by at most 7.5e-8.
GANGWAY_ANYWHERE inline float normal(float d) {
  const float t = 1 / (1 + 0.2316419f * fabsf(d));
  const float series =
      t * (0.319381530f + t * (-0.356563782f + t * (1.781477937f + t * (-1.821255978f + t * 1.330274429f))));
  const float tail = 0.39894228f * expf(-0.5f * d * d) * series;
  return d > 0 ? 1 - tail : tail;
}

GANGWAY_ANYWHERE inline Prices priced(float stock, float strike, float years) {
  const float deviation = kVolatility * sqrtf(years);
  const float d1 = (logf(stock / strike) + (kRate + 0.5f * kVolatility * kVolatility) * years) / deviation;
  const float of_stock = normal(d1), of_strike = normal(d1 - deviation);
  const float discounted = strike * expf(-kRate * years);
  return {stock * of_stock - discounted * of_strike, discounted * (1 - of_strike) - stock * (1 - of_stock)};
}

class Reference {
 public:
  Reference(const Shape& shape, std::uint64_t seed)
      : stock{{seed, 0}, 5, 30},
        strike{{seed, 1}, 1, 100},
        years{{seed, 2}, 0.25f, 10},
        sample_(shape.options, 64, seed) {}

  std::string compare_calls(const float* calls, std::uint64_t first, std::uint64_t count) const {
    return compare(calls, first, count, 1);
  }
  std::string compare_puts(const float* puts, std::uint64_t first, std::uint64_t count) const {
    return compare(puts, first, count, -1);
  }

  // The inputs' bounds are of the CUDA SDK's example.
  Between stock, strike, years;

 private:
  // In doubles, with the exact distribution. The polynomial and the rounding of some ten operations in floats
  // make errors of some 2^-21 of stock and strike each, as prices are differences of the two.
  std::string compare(const float* prices, std::uint64_t first, std::uint64_t count, int sign) const {
    return sample_.compare(prices, first, count, [&](std::uint64_t i, float is) {
      const double s = static_cast<double>(stock(i)), x = static_cast<double>(strike(i)),
                   t = static_cast<double>(years(i));
      const double rate = static_cast<double>(kRate), volatility = static_cast<double>(kVolatility);
      const double d1 =
          std::log(s / x) / (volatility * std::sqrt(t)) + (rate / volatility + volatility / 2) * std::sqrt(t);
      const double d2 = d1 - volatility * std::sqrt(t);
      const auto distribution = [](double d) { return std::erfc(-d * std::sqrt(0.5)) / 2; };
      const double right =
          sign * (s * distribution(sign * d1) - x * std::exp(-rate * t) * distribution(sign * d2));
      if (std::abs(static_cast<double>(is) - right) <= (s + x) * 0x1p-19) return std::string();
      return unequal(static_cast<double>(is), right);
    });
  }

  Sample sample_;
};

#ifdef __CUDACC__

GANGWAY_KERNEL(price_options, const float* __restrict__ stock, const float* __restrict__ strike,
               const float* __restrict__ years, float* __restrict__ calls, float* __restrict__ puts,
               std::uint64_t options, std::uint32_t per_thread) {
  const std::uint64_t begin = std::uint64_t{blockIdx.x} * blockDim.x * per_thread;
  const std::uint64_t end = min(begin + blockDim.x * per_thread, options);
  for (std::uint64_t i = begin + threadIdx.x; i < end; i += blockDim.x) {
    const Prices prices = priced(stock[i], strike[i], years[i]);
    calls[i] = prices.call;
    puts[i] = prices.put;
  }
}

using Form = preemptible::Kernel<&price_options, kThreads, 8>;

class OnCuda : public FormedProblem<Form> {
 public:
  OnCuda(const Shape& shape, std::uint64_t seed)
      : FormedProblem(static_cast<unsigned>(shape.block_tasks()), static_cast<unsigned>(kThreads)),
        per_thread_(static_cast<std::uint32_t>(shape.per_thread)),
        reference_(shape, seed),
        stock_(shape.options),
        strike_(shape.options),
        years_(shape.options),
        calls_(shape.options),
        puts_(shape.options) {
    fill(stock_, reference_.stock);
    fill(strike_, reference_.strike);
    fill(years_, reference_.years);
    poison();
  }
  void launch(preemptible::Session& session, BlockRange range) const override {
    start(session, range, stock_.data(), strike_.data(), years_.data(), calls_.data(), puts_.data(),
          calls_.size(), per_thread_);
  }
  void launch_original(preemptible::Session& session) const override {
    form().launch_original(session, stock_.data(), strike_.data(), years_.data(), calls_.data(), puts_.data(),
                           calls_.size(), per_thread_);
  }
  void poison() override {
    calls_.fill_bytes(kPoison);
    puts_.fill_bytes(kPoison);
  }
  std::vector<OutputMemory> outputs() const override { return {memory_of(calls_), memory_of(puts_)}; }
  std::optional<std::vector<WrittenBytes>> written(BlockRange blocks) const override {
    return pieces_written({{calls_.size(), sizeof(float)}, {puts_.size(), sizeof(float)}},
                          kThreads * std::int64_t{per_thread_}, blocks);
  }
  std::string difference() const override {
    const std::string of_calls =
        calls_.in_parts([&](const float* prices, std::uint64_t first, std::uint64_t count) {
          return reference_.compare_calls(prices, first, count);
        });
    if (!of_calls.empty()) return "call: " + of_calls;
    const std::string of_puts =
        puts_.in_parts([&](const float* prices, std::uint64_t first, std::uint64_t count) {
          return reference_.compare_puts(prices, first, count);
        });
    return of_puts.empty() ? of_puts : "put: " + of_puts;
  }

 private:
  std::uint32_t per_thread_;
  Reference reference_;
  DeviceArray<float> stock_, strike_, years_, calls_, puts_;
};

#else

class OnCuda;

#endif

class OnHost : public HostProblem {
 public:
  OnHost(const Shape& shape, std::uint64_t seed)
      : each_(static_cast<std::size_t>(kThreads * shape.per_thread)),
        reference_(shape, seed),
        stock_(host_array<float>(shape.options)),
        strike_(host_array<float>(shape.options)),
        years_(host_array<float>(shape.options)),
        calls_(host_array<float>(shape.options)),
        puts_(host_array<float>(shape.options)) {
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      stock_[i] = reference_.stock(i);
      strike_[i] = reference_.strike(i);
      years_[i] = reference_.years(i);
    }
    poison();
  }
  void block_task(std::uint32_t index) override {
    const std::size_t end = std::min((index + std::size_t{1}) * each_, calls_.size());
    for (std::size_t i = index * each_; i < end; ++i) {
      const Prices prices = priced(stock_[i], strike_[i], years_[i]);
      calls_[i] = prices.call;
      puts_[i] = prices.put;
    }
  }
  void poison() override {
    poison_all(calls_);
    poison_all(puts_);
  }
  std::string difference() const override {
    const std::string of_calls = reference_.compare_calls(calls_.data(), 0, calls_.size());
    if (!of_calls.empty()) return "call: " + of_calls;
    const std::string of_puts = reference_.compare_puts(puts_.data(), 0, puts_.size());
    return of_puts.empty() ? of_puts : "put: " + of_puts;
  }

 private:
  std::size_t each_;
  Reference reference_;
  std::vector<float> stock_, strike_, years_, calls_, puts_;
};

class BlackScholes : public ShapedCode<Shape, OnHost, OnCuda> {
 public:
  explicit BlackScholes(const ParameterValues& values)
      : ShapedCode({values.integer("options"), values.integer("per_thread")}) {
    (void)shape_.block_tasks();
  }
  Dimensions grid() const override { return {shape_.block_tasks(), 1, 1}; }
  Dimensions block() const override { return {kThreads, 1, 1}; }
  Bytes memory() const override { return {shape_.options * 20}; }
};

const KernelRegistration<BlackScholes> registered{
    "BS",
    "prices of European options by Black and Scholes, 256 threads a block",
    // About 2.4 ms at 3.9 TB/s, in block-tasks of about 20 us.
    {{"options", "to be priced", Parameter::Integer{469'762'048, 1, std::int64_t{1} << 33}},
     {"per_thread", "options that a thread prices", Parameter::Integer{16, 1, 1024}}},
    "{options: 50021, per_thread: 3}"};

}  // namespace
}  // namespace gangway
