// What the kernels of image.cpp do, for the stand-in, which finds these by name in the program.
#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include "tests/standin/standin.h"

namespace {

template <class T>
T parameter(const StandinLaunch* launch, int index) {
  T value;
  std::memcpy(&value, launch->params[index], sizeof value);
  return value;
}

std::uint32_t* words(const StandinLaunch* launch, int index) {
  return reinterpret_cast<std::uint32_t*>(parameter<std::uint64_t>(launch, index));
}

unsigned threads(const StandinLaunch* launch) {
  return launch->grid[0] * launch->grid[1] * launch->grid[2] * launch->block[0] * launch->block[1] *
         launch->block[2];
}

}  // namespace

extern "C" {

void standin_kernel_mix(const StandinLaunch* launch) {
  std::uint32_t* p = words(launch, 0);
  *p = *p * 31 + parameter<std::uint32_t>(launch, 1);
}

void standin_kernel_fill(const StandinLaunch* launch) {
  const auto n = parameter<std::uint32_t>(launch, 1), value = parameter<std::uint32_t>(launch, 2);
  for (unsigned i = 0; i < n && i < threads(launch); ++i) words(launch, 0)[i] = value;
}

void standin_kernel_hold(const StandinLaunch* launch) {
  const std::atomic_ref<std::uint32_t> flag(*words(launch, 0));
  const auto start = std::chrono::steady_clock::now();
  while (flag.load(std::memory_order_acquire) < parameter<std::uint32_t>(launch, 1) &&
         std::chrono::steady_clock::now() - start < std::chrono::seconds(60))
    std::this_thread::sleep_for(std::chrono::microseconds(10));
}

void standin_kernel_spin(const StandinLaunch* launch) {
  launch->sleep_ns(parameter<std::uint64_t>(launch, 0));
}

void standin_kernel_layout(const StandinLaunch* launch) {
  auto* out = reinterpret_cast<std::uint64_t*>(parameter<std::uint64_t>(launch, 0));
  out[0] = parameter<std::uint8_t>(launch, 1);
  out[1] = parameter<std::uint64_t>(launch, 2);
  out[2] = parameter<std::uint16_t>(launch, 3);
  out[3] = parameter<std::uint32_t>(launch, 4);
}

void standin_kernel_shape(const StandinLaunch* launch) {
  std::memcpy(words(launch, 0), launch->grid, sizeof launch->grid);
  std::memcpy(words(launch, 0) + 3, launch->block, sizeof launch->block);
}

void standin_kernel_count(const StandinLaunch* launch) { *words(launch, 0) += threads(launch); }

void standin_kernel_bump(const StandinLaunch* launch) {
  *static_cast<std::uint32_t*>(launch->global(launch, "counter")) += parameter<std::uint32_t>(launch, 0);
}

void standin_kernel_fault(const StandinLaunch* launch) {
  if (words(launch, 0) == nullptr) launch->fault(CUDA_ERROR_ILLEGAL_ADDRESS);
  *words(launch, 0) = 1;
}
}
