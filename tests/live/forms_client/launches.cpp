// Launches of all kinds, and what the program is told of them.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "tests/live/forms_client/modes.hpp"

namespace gangway::forms_client {
namespace {

// What the program is told while a long kernel is under way: it is not over before its last block.
int asks(Gpu& gpu, const char* argument) {
  const int count = std::atoi(argument);
  const CUstream stream = new_stream();
  const std::uint32_t blocks = 64;
  std::vector<std::uint32_t> out(blocks * kThreads);
  for (int round = 0; round < count; ++round) {
    CUdeviceptr p = 0;
    CUevent event = nullptr;
    NEED(cuMemAlloc(&p, out.size() * 4));
    NEED(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    std::uint32_t number = static_cast<std::uint32_t>(round), rounds = 100;
    CUstream of_its_own = round % 3 == 2 ? new_stream() : stream;
    NEED(cuMemsetD32Async(p, 0, out.size(), of_its_own));  // cuMemsetD32 would go on beside the kernel
    launch(gpu.work, of_its_own, blocks, {&p, &number, &rounds});
    NEED(cuEventRecord(event, of_its_own));
    if (round % 3 == 0) {
      while (cuStreamQuery(stream) == CUDA_ERROR_NOT_READY)
        std::this_thread::sleep_for(std::chrono::microseconds(100));
    } else if (round % 3 == 1) {
      while (cuEventQuery(event) == CUDA_ERROR_NOT_READY)
        std::this_thread::sleep_for(std::chrono::microseconds(100));
    } else {
      NEED(cuStreamDestroy(of_its_own));  // what is in it goes on
    }
    if (round % 3 == 2) NEED(cuCtxSynchronize());
    NEED(cuMemcpyDtoH(out.data(), p, out.size() * 4));
    for (std::uint32_t i = 0; i < out.size(); ++i)
      if (out[i] != worked(i, number, rounds)) return std::printf("round %d: word %u\n", round, i), 1;
    // Freed while it is under way: all of it is done all the same.
    launch(gpu.work, stream, blocks, {&p, &number, &rounds});
    NEED(cuMemFree(p));
    NEED(cuEventDestroy(event));
  }
  CUmodule module = nullptr;
  CUfunction work = nullptr;
  CUdeviceptr p = 0;
  NEED(cuMemAlloc(&p, out.size() * 4));
  NEED(cuMemsetD32(p, 0, out.size()));
  NEED(cuModuleLoadData(&module, gpu.image.c_str()));
  NEED(cuModuleGetFunction(&work, module, "work"));
  std::uint32_t number = 5, rounds = 100;
  launch(work, nullptr, blocks, {&p, &number, &rounds});
  NEED(cuModuleUnload(module));
  NEED(cuMemcpyDtoH(out.data(), p, out.size() * 4));
  for (std::uint32_t i = 0; i < out.size(); ++i)
    if (out[i] != worked(i, number, rounds)) return std::printf("unloaded: word %u\n", i), 1;
  std::printf("asks %d\n", count);
  return 0;
}
const Mode asks_mode("asks", asks);

// Kernels in several dimensions, by `extra`, with a variable, in default streams and with dynamic memory.
int kinds(Gpu& gpu, const char* argument) {
  const int count = std::atoi(argument);
  const std::uint32_t width = 6, height = 5, depth = 4, blocks = width * height * depth;
  std::vector<std::uint32_t> out(blocks * kThreads);
  CUdeviceptr p = 0;
  NEED(cuMemAlloc(&p, out.size() * 4));
  std::uint32_t all = 0;
  for (int round = 0; round < count; ++round) {
    NEED(cuMemsetD32(p, 0, out.size()));
    struct {
      CUdeviceptr p;
      std::uint32_t rounds;
    } parameters{p, 40};
    std::size_t bytes = 12;
    void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &parameters, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                     CU_LAUNCH_PARAM_END};
    const CUstream stream = round % 3 == 0   ? nullptr
                            : round % 3 == 1 ? CU_STREAM_PER_THREAD
                                             : CU_STREAM_LEGACY;
    if (round % 2 == 0) {
      NEED(cuLaunchKernel(gpu.plane, width, height, depth, kThreads, 1, 1, 256, stream, nullptr, extra));
    } else {
      CUlaunchConfig config{};
      config.gridDimX = width;
      config.gridDimY = height;
      config.gridDimZ = depth;
      config.blockDimX = kThreads;
      config.blockDimY = config.blockDimZ = 1;
      config.hStream = stream;
      void* list[] = {&parameters.p, &parameters.rounds};
      NEED(cuLaunchKernelEx(&config, gpu.plane, list, nullptr));
    }
    NEED(cuStreamSynchronize(stream));
    NEED(cuMemcpyDtoH(out.data(), p, out.size() * 4));
    all = all * 31 + sum(out);
  }
  CUdeviceptr counter = 0;
  std::size_t bytes = 0;
  std::uint32_t counted = 0;
  NEED(cuModuleGetGlobal(&counter, &bytes, gpu.module, "launched"));
  NEED(cuMemcpyDtoH(&counted, counter, 4));
  unsigned functions = 0;
  NEED(cuModuleGetFunctionCount(&functions, gpu.module));
  std::printf("kinds %d %u, %zu bytes: %u, %u functions\n", count, all, bytes, counted, functions);
  return 0;
}
const Mode kinds_mode("kinds", kinds);

// Launches of blocks that a kernel cannot have (bounded_kernels.ptx), between others.
int refused(Gpu&, const char* argument) {
  const int count = std::atoi(argument);
  const std::string image = text_of_file(std::getenv("FORMS_BOUNDED_PTX"));
  CUmodule module = nullptr;
  CUfunction kernels[2] = {};
  NEED(cuModuleLoadData(&module, image.c_str()));
  NEED(cuModuleGetFunction(&kernels[0], module, "needs_32"));
  NEED(cuModuleGetFunction(&kernels[1], module, "at_most_32"));
  const CUstream stream = new_stream();
  const std::uint32_t blocks = 40;
  constexpr unsigned kShapes[][3] = {{64, 1, 1}, {16, 4, 1}, {1, 1, 128},
                                     {8, 8, 1},  {16, 1, 1}, {2048, 1, 1}};
  std::vector<std::uint32_t> out(blocks * kThreads);
  CUdeviceptr p = 0;
  NEED(cuMemAlloc(&p, out.size() * 4));
  for (int round = 0; round < count; ++round) {
    const CUfunction kernel = kernels[round / 2 % 2];
    void* list[] = {&p};
    NEED(cuMemsetD32Async(p, 0, out.size(), stream));
    NEED(cuLaunchKernel(kernel, blocks, 1, 1, kThreads, 1, 1, 0, stream, list, nullptr));
    const auto& shape = kShapes[round % std::size(kShapes)];
    std::printf("%d ", static_cast<int>(cuLaunchKernel(kernel, blocks, 1, 1, shape[0], shape[1], shape[2], 0,
                                                       stream, list, nullptr)));
    NEED(cuMemcpyDtoHAsync(out.data(), p, out.size() * 4, stream));
    NEED(cuStreamSynchronize(stream));
    std::printf("%u\n", sum(out));
  }
  return 0;
}
const Mode refused_mode("refused", refused);

}  // namespace
}  // namespace gangway::forms_client
