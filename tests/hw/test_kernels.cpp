#include <algorithm>
#include <atomic>
#include <numeric>
#include <random>
#include <thread>

#include "hw/kernels/cuda_problem.hpp"
#include "hw/kernels/host_problem.hpp"
#include "hw/kernels/throttle.hpp"
#include "tests/catch.hpp"
#include "tests/hw/kernel_cases.hpp"

using namespace gangway;
using gangway::testing::fresh_seed;
using gangway::testing::kernel_from;
using gangway::testing::small_size;

namespace {

std::vector<std::uint32_t> shuffled(BlockCount block_tasks, std::uint32_t seed) {
  std::vector<std::uint32_t> order(static_cast<std::size_t>(block_tasks.count));
  std::iota(order.begin(), order.end(), 0u);
  std::shuffle(order.begin(), order.end(), std::mt19937(seed));
  return order;
}

void carry_out(HostProblem& problem, const std::vector<std::uint32_t>& order) {
  std::atomic<std::size_t> next = 0;
  constexpr int kWorkers = 3;
  std::vector<std::thread> workers;
  workers.reserve(kWorkers);
  for (int w = 0; w < kWorkers; ++w)
    workers.emplace_back([&] {
      for (std::size_t i = next++; i < order.size(); i = next++) problem.block_task(order[i]);
    });
  for (std::thread& worker : workers) worker.join();
}

// The small size with each integer in turn at its least, one less, one more and at some odd values.
std::vector<std::string> odd_sizes(const std::string& name) {
  const KernelEntry& entry = Kernels::named(name, "test", "kernel");
  const Node small = parse_yaml(small_size(name), "test");
  const ParameterValues values(entry.parameters, Field(small, "params"));
  std::vector<std::string> sizes;
  for (const Parameter& changed : entry.parameters) {
    const auto* integer = std::get_if<Parameter::Integer>(&changed.form);
    if (integer == nullptr) continue;
    const std::int64_t value = values.integer(changed.name);
    for (const std::int64_t other : {integer->least, integer->least + 1, std::int64_t{31}, std::int64_t{33},
                                     std::int64_t{64}, value - 1, value + 1}) {
      if (other < integer->least || other > integer->most) continue;
      std::string size;
      for (const Parameter& parameter : entry.parameters)
        size += (size.empty() ? "{" : ", ") + parameter.name + ": " +
                (parameter.name == changed.name ? std::to_string(other) : values.text(parameter.name));
      sizes.push_back(size + "}");
    }
  }
  return sizes;
}

}  // namespace

TEST_CASE("every kernel has a small size for tests") {
  REQUIRE(Kernels::all().size() >= 14);
  for (const std::string& name : Kernels::names()) CHECK(!small_size(name).empty());
}

TEST_CASE("block-tasks on CPU cores, in any order and by several threads, give the reference") {
  for (const std::string& name : Kernels::names()) {
    INFO(name);
    const auto code = kernel_from(name, small_size(name));
    const std::uint64_t seed = fresh_seed();
    INFO("input seed " << seed);
    const auto problem = code->on_host(seed);
    carry_out(*problem, shuffled(code->block_tasks(), 1));
    CHECK(problem->difference().empty());
    carry_out(*problem, shuffled(code->block_tasks(), 2));  // doing them again changes nothing
    CHECK(problem->difference().empty());
  }
}

TEST_CASE("block-tasks give the reference at sizes that fit badly") {
  for (const std::string& name : Kernels::names())
    for (const std::string& size : odd_sizes(name)) {
      std::shared_ptr<const KernelCode> code;
      try {
        code = kernel_from(name, size);
      } catch (const std::invalid_argument&) {
        continue;  // values that do not fit together
      }
      const std::uint64_t seed = fresh_seed();
      INFO(name << " " << size << ", input seed " << seed);
      const auto problem = code->on_host(seed);
      carry_out(*problem, shuffled(code->block_tasks(), 4));
      CHECK(problem->difference() == "");
    }
}

TEST_CASE("a kernel resumed at any block-task gives the reference") {
  std::mt19937 random(5);
  for (const std::string& name : Kernels::names()) {
    const auto code = kernel_from(name, small_size(name));
    const std::uint64_t seed = fresh_seed();
    const auto problem = code->on_host(seed);
    const auto block_tasks = static_cast<std::uint32_t>(code->block_tasks().count);
    for (int i = 0; i < 12; ++i) {
      const std::uint32_t left_at = i == 0   ? 1
                                    : i == 1 ? block_tasks - 1
                                             : 1 + static_cast<std::uint32_t>(random() % (block_tasks - 1));
      INFO(name << " left at " << left_at << " of " << block_tasks << ", input seed " << seed);
      problem->poison();
      for (std::uint32_t index = 0; index < left_at; ++index) problem->block_task(index);
      CHECK(problem->difference() != "");
      for (std::uint32_t index = left_at; index < block_tasks; ++index) problem->block_task(index);
      CHECK(problem->difference() == "");
    }
  }
}

TEST_CASE("each block-task writes outputs that no other one writes") {
  for (const std::string& name : Kernels::names()) {
    const auto code = kernel_from(name, small_size(name));
    const auto problem = code->on_host(fresh_seed());
    const auto block_tasks = static_cast<std::uint32_t>(code->block_tasks().count);
    for (std::uint32_t skipped = 0; skipped < block_tasks; skipped += 1 + block_tasks / 10) {
      INFO(name << " without " << skipped << " of " << block_tasks);
      problem->poison();
      for (std::uint32_t index = 0; index < block_tasks; ++index)
        if (index != skipped) problem->block_task(index);
      CHECK(problem->difference().find("was not written") != std::string::npos);
    }
  }
}

TEST_CASE("outputs that were not computed are noticed") {
  for (const std::string& name : Kernels::names()) {
    INFO(name);
    const auto code = kernel_from(name, small_size(name));
    const std::uint64_t seed = fresh_seed();
    INFO("input seed " << seed);
    const auto problem = code->on_host(seed);
    CHECK(!problem->difference().empty());  // nothing done yet
    auto order = shuffled(code->block_tasks(), 3);
    carry_out(*problem, order);
    problem->poison();
    CHECK(!problem->difference().empty());
    const std::uint32_t skipped = order.back();
    order.pop_back();
    carry_out(*problem, order);
    CHECK(!problem->difference().empty());
    problem->block_task(skipped);
    CHECK(problem->difference().empty());
  }
}

TEST_CASE("a grid has as many blocks as there are block-tasks") {
  for (const std::string& name : Kernels::names()) {
    INFO(name);
    const auto code = kernel_from(name, small_size(name));
    CHECK(code->memory().count > 0);
    const Dimensions grid = code->grid(), block = code->block();
    CHECK(grid[0] * grid[1] * grid[2] == code->block_tasks().count);
    CHECK(block[0] * block[1] * block[2] <= 1024);
  }
}

TEST_CASE("sizes that do not fit together are refused") {
  CHECK_THROWS_AS(kernel_from("VA", "{per_thread: 12}"), std::invalid_argument);
  CHECK_THROWS_AS(kernel_from("RED", "{per_thread: 24}"), std::invalid_argument);
  CHECK_THROWS_AS(kernel_from("HST256", "{per_thread: 48}"), std::invalid_argument);
  CHECK_THROWS_AS(kernel_from("SPMV", "{per_block: 12}"), std::invalid_argument);
  CHECK_THROWS_AS(kernel_from("SPMV", "{rows: 2097152, mean: 1024}"), std::invalid_argument);
  CHECK_THROWS_AS(kernel_from("conv_rows", "{rows: 12}"), std::invalid_argument);
  CHECK_THROWS_AS(kernel_from("cedd_gauss", "{rows: 48}"), std::invalid_argument);
  CHECK_THROWS_AS(kernel_from("PF", "{rows: 101}"), InputError);
  CHECK_THROWS_AS(kernel_from("VA", "{elements: 0}"), InputError);
}

TEST_CASE("a kernel without code throttles for as long as its preemptible form takes") {
  Kernel kernel;
  kernel.block_tasks = {1000};
  kernel.block = {128, 2, 1};
  kernel.time = {2'000'000};
  kernel.transformation_overhead = 1.05;
  const auto code = throttle_like(kernel, 100);  // 100 blocks, 10 block-tasks each, 2.1 ms in all
  CHECK(code->block_tasks().count == 1000);
  CHECK(code->block() == Dimensions{256, 1, 1});
  const auto problem = code->on_host(1);
  const auto begin = std::chrono::steady_clock::now();
  problem->block_task(0);
  CHECK(std::chrono::steady_clock::now() - begin >= std::chrono::microseconds(210));
}

TEST_CASE(
    "a kernel without code that says how long its block-tasks are keeps busy for so long in every form") {
  Kernel kernel;
  kernel.block_tasks = {1000};
  kernel.block = {256, 1, 1};
  kernel.time = {200'000'000};
  kernel.transformation_overhead = 1.5;
  const auto lasts = [&] {  // one of ten block-tasks of each of 100 blocks
    const auto code = throttle_like(kernel, 100);
    const auto problem = code->on_host(1);
    const auto begin = std::chrono::steady_clock::now();
    problem->block_task(0);
    return std::chrono::steady_clock::now() - begin;
  };
  CHECK(lasts() >= std::chrono::milliseconds(30));
  kernel.block_task_length = Duration{20'000'000};
  auto least = lasts();
  for (int i = 0; i < 5; ++i) least = std::min(least, lasts());
  CHECK(least >= std::chrono::milliseconds(20));
  CHECK(least < std::chrono::milliseconds(29));
}
