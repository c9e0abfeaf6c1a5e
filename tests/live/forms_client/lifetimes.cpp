// Modules, libraries and contexts that come and go.
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/live/forms_client/modes.hpp"

namespace gangway::forms_client {
namespace {

// A kernel between modules that come and go, whose kernels are used once: handles mean one after another.
int unloads(Gpu& gpu, const char* argument) {
  const int count = std::atoi(argument);
  const CUstream stream = new_stream();
  const std::uint32_t blocks = 48;
  std::vector<std::uint32_t> out(blocks * kThreads);
  std::uint32_t all = 0;
  CUdeviceptr p = 0;
  NEED(cuMemAlloc(&p, out.size() * 4));
  for (int round = 0; round < count; ++round) {
    CUmodule module = nullptr;
    CUfunction tally = nullptr;
    NEED(cuModuleLoadData(&module, gpu.image.c_str()));
    NEED(cuModuleGetFunction(&tally, module, "tally"));
    std::uint32_t number = static_cast<std::uint32_t>(round), rounds = 40;
    NEED(cuMemsetD32Async(p, 0, out.size(), stream));
    launch(gpu.work, stream, blocks, {&p, &number, &rounds});
    launch(tally, stream, blocks, {&p});
    NEED(cuMemcpyDtoHAsync(out.data(), p, out.size() * 4, stream));
    NEED(cuStreamSynchronize(stream));
    NEED(cuModuleUnload(module));
    for (std::uint32_t i = 0; i < out.size(); ++i)
      if (out[i] != worked(i, number, rounds) + 1) return std::printf("round %d: word %u\n", round, i), 1;
    all = all * 31 + sum(out);
  }
  std::printf("unloads %d %u\n", count, all);
  return 0;
}
const Mode unloads_mode("unloads", unloads);

const char* const kOtherWork = R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry work(.param .u64 p) {
  .reg .b64 %a, %b; .reg .b32 %t, %c, %n;
  ld.param.u64 %a, [p];
  cvta.to.global.u64 %a, %a;
  mov.u32 %t, %tid.x;
  mov.u32 %c, %ctaid.x;
  mov.u32 %n, %ntid.x;
  mad.lo.u32 %t, %c, %n, %t;
  mul.wide.u32 %b, %t, 4;
  add.s64 %a, %a, %b;
  st.global.u32 [%a], %c;
  ret;
})";

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
CUresult detach(CUcontext context) { return cuCtxDetach(context); }
#pragma GCC diagnostic pop

// Contexts that come and go with their modules, so that one kernel's handle becomes another's.
int contexts(Gpu& gpu, const char* argument) {
  const int count = std::atoi(argument);
  const std::uint32_t blocks = 48;
  std::vector<std::uint32_t> out(blocks * kThreads);
  const std::string bounded = text_of_file(std::getenv("FORMS_BOUNDED_PTX"));
  std::uint32_t all = 0;
  for (int round = 0; round < count; ++round) {
    CUcontext context = new_context();
    CUmodule module = nullptr;
    CUfunction work = nullptr, tally = nullptr;
    CUdeviceptr p = 0;
    NEED(cuModuleLoadData(&module, gpu.image.c_str()));
    for (int k = 0; k < 2; ++k)  // in either order
      (round + k) % 2 == 0 ? NEED(cuModuleGetFunction(&work, module, "work"))
                           : NEED(cuModuleGetFunction(&tally, module, "tally"));
    NEED(cuMemAlloc(&p, out.size() * 4));
    std::uint32_t number = static_cast<std::uint32_t>(round), rounds = 40;
    const CUstream stream = new_stream();
    for (std::uint32_t k = 0; k < 3; ++k) {
      NEED(cuMemsetD32Async(p, 0, out.size(), stream));
      launch(work, stream, blocks, {&p, &number, &rounds});
      launch(tally, stream, blocks, {&p});
      NEED(cuMemcpyDtoHAsync(out.data(), p, out.size() * 4, stream));
      NEED(cuStreamSynchronize(stream));
      if (!tallied(out, number, rounds)) return 1;
    }
    all = all * 31 + sum(out);
    if (round % 2 == 0)
      NEED(cuCtxDestroy(context));
    else
      NEED(detach(context));
    // Other kernels, at handles that are free now: of the same name without forms, and of other names.
    for (const auto& [image, name] :
         {std::pair(kOtherWork, "work"), std::pair(bounded.c_str(), "needs_32")}) {
      context = new_context();
      CUfunction other = nullptr;
      NEED(cuModuleLoadData(&module, image));
      NEED(cuModuleGetFunction(&other, module, name));
      NEED(cuMemAlloc(&p, out.size() * 4));
      const CUstream beside = new_stream();
      for (std::uint32_t k = 0; k < 3; ++k) {
        NEED(cuMemsetD32Async(p, 0, out.size(), beside));
        launch(other, beside, blocks, {&p});
        NEED(cuMemcpyDtoHAsync(out.data(), p, out.size() * 4, beside));
        NEED(cuStreamSynchronize(beside));
        all = all * 31 + sum(out);
      }
      NEED(cuCtxDestroy(context));
    }
  }
  std::printf("contexts %d %u\n", count, all);
  return 0;
}
const Mode contexts_mode("contexts", contexts);

// A primary context that is reset, and comes back with the same handle; so does the kernel of a library. The
// program itself uses what belongs to it only as long as it is there.
int resets(Gpu& gpu, const char* argument) {
  const int count = std::atoi(argument);
  const std::uint32_t blocks = 48;
  std::vector<std::uint32_t> out(blocks * kThreads);
  std::uint32_t all = 0;
  for (int round = 0; round < count; ++round) {
    CUdeviceptr p = 0;
    NEED(cuMemAlloc(&p, out.size() * 4));
    std::uint32_t number = static_cast<std::uint32_t>(round), rounds = 40;
    for (const CUstream stream : {new_stream(), CU_STREAM_PER_THREAD, CU_STREAM_LEGACY}) {
      for (int k = 0; k < 6; ++k) {
        NEED(cuMemsetD32Async(p, 0, out.size(), stream));
        launch(gpu.work, stream, blocks, {&p, &number, &rounds});
        launch(gpu.tally, stream, blocks, {&p});
      }
      NEED(cuMemcpyDtoHAsync(out.data(), p, out.size() * 4, stream));
      NEED(cuStreamSynchronize(stream));
      if (!tallied(out, number, rounds)) return 1;
    }
    all = all * 31 + sum(out);
    NEED(cuDevicePrimaryCtxReset(0));
    NEED(cuDevicePrimaryCtxRetain(&gpu.context, 0));
    NEED(cuCtxSetCurrent(gpu.context));
    if (gpu.library == nullptr) {
      NEED(cuModuleLoadData(&gpu.module, gpu.image.c_str()));
      gpu.work = gpu.kernel("work");
      gpu.tally = gpu.kernel("tally");
    }
  }
  std::printf("resets %d %u\n", count, all);
  return 0;
}
const Mode resets_mode("resets", resets);

// Threads, one after the other, with a kernel in the own stream of each, and in one that it destroys.
int threads(Gpu& gpu, const char* argument) {
  const int count = std::atoi(argument);
  std::vector<std::uint32_t> out(2 * kThreads);
  CUdeviceptr p = 0;
  NEED(cuMemAlloc(&p, out.size() * 4));
  bool right = true;
  for (int round = 0; right && round < count; ++round)
    std::thread([&] {
      NEED(cuCtxSetCurrent(gpu.context));
      std::uint32_t number = static_cast<std::uint32_t>(round), rounds = 1;
      CUstream stream = CU_STREAM_PER_THREAD;
      if (round % 2 != 0) NEED(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
      NEED(cuMemsetD32Async(p, 0, out.size(), stream));
      launch(gpu.work, stream, 2, {&p, &number, &rounds});
      NEED(cuStreamSynchronize(stream));
      NEED(cuMemcpyDtoH(out.data(), p, out.size() * 4));
      for (std::uint32_t i = 0; right && i < out.size(); ++i) right = out[i] == worked(i, number, rounds);
      if (round % 2 != 0) NEED(cuStreamDestroy(stream));
    }).join();
  std::printf("threads %d %s\n", count, right ? "right" : "wrong");
  return 0;
}
const Mode threads_mode("threads", threads);

// A library's kernel in this context, while another thread launches it in contexts that go at once.
int shares(Gpu& gpu, const char* argument) {
  const int count = std::atoi(argument);
  const std::uint32_t blocks = 48;
  std::atomic<bool> over{false};
  std::thread others([&] {
    for (int round = 0; round < count; ++round) {
      const CUcontext context = new_context();
      const CUstream stream = new_stream();
      CUdeviceptr p = 0;
      NEED(cuMemAlloc(&p, blocks * kThreads * 4));
      std::uint32_t number = static_cast<std::uint32_t>(round), rounds = 400;
      for (int k = 0; k <= round % 3; ++k) launch(gpu.work, stream, blocks, {&p, &number, &rounds});
      NEED(cuCtxDestroy(context));
    }
    over = true;
  });
  const CUstream stream = new_stream();
  std::vector<std::uint32_t> out(blocks * kThreads);
  CUdeviceptr p = 0;
  NEED(cuMemAlloc(&p, out.size() * 4));
  bool right = true;
  for (std::uint32_t number = 0, rounds = 40; right && !over; ++number) {
    NEED(cuMemsetD32Async(p, 0, out.size(), stream));
    launch(gpu.work, stream, blocks, {&p, &number, &rounds});
    launch(gpu.tally, stream, blocks, {&p});
    NEED(cuMemcpyDtoHAsync(out.data(), p, out.size() * 4, stream));
    NEED(cuStreamSynchronize(stream));
    right = tallied(out, number, rounds);
  }
  others.join();
  if (right) std::printf("shares %d\n", count);
  return right ? 0 : 1;
}
const Mode shares_mode("shares", shares);

}  // namespace
}  // namespace gangway::forms_client
