#include "tests/conformance_driver/gpu.hpp"
#include "tests/conformance_driver/topics.hpp"
#include "tests/standin/kernels/kernels.hpp"

namespace gangway::conformance {
namespace {

CUresult launch_shape(CUstream stream, CUdeviceptr out, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                      unsigned by, unsigned bz, unsigned shared = 0) {
  void* parameters[] = {&out};
  return cuLaunchKernel(kernels().shape, gx, gy, gz, bx, by, bz, shared, stream, parameters, nullptr);
}

CUresult launch_ex(CUstream stream, CUdeviceptr out, CUlaunchAttribute* attributes, unsigned count,
                   unsigned blocks) {
  CUlaunchConfig config{};
  config.gridDimX = blocks;
  config.gridDimY = config.gridDimZ = config.blockDimX = config.blockDimY = config.blockDimZ = 1;
  config.hStream = stream;
  config.attrs = attributes;
  config.numAttrs = count;
  void* parameters[] = {&out};
  return cuLaunchKernelEx(&config, kernels().shape, parameters, nullptr);
}

void parameters(CUstream s) {
  const CUdeviceptr out = new_words(8);
  const std::uint8_t a = 200;
  const std::uint64_t b = 0x123456789abcdef0ULL;
  const std::uint16_t c = 65000;
  const Word d = 4000000000U;
  Line("parameters one by one") << launch(kernels().layout, s, {&out, &a, &b, &c, &d}) << read(out, 8);
  struct Buffer {
    CUdeviceptr out;
    std::uint8_t a;
    std::uint64_t b;
    std::uint16_t c;
    Word d;
  } buffer{out, 1, 2, 3, 4};
  std::size_t size = sizeof buffer;
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &buffer, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                   CU_LAUNCH_PARAM_END};
  Line("parameters in a buffer") << cuLaunchKernel(kernels().layout, 1, 1, 1, 1, 1, 1, 0, s, nullptr, extra)
                                 << read(out, 8);
  void* several[] = {&buffer.out, &buffer.a, &buffer.b, &buffer.c, &buffer.d};
  Line("parameters in both ways") << cuLaunchKernel(kernels().layout, 1, 1, 1, 1, 1, 1, 0, s, several, extra);
  const CUdeviceptr word = new_words();
  Hold hold(s);
  Word k = 5;
  CUdeviceptr p = word;
  const CUresult result = launch(kernels().mix, s, {&p, &k});
  k = 6;
  p = 0;
  hold.release();
  Line("parameters are copied at the launch") << result << value_of(word);
}

void shapes(CUstream s) {
  const CUdeviceptr out = new_words(6);
  Line("shape") << launch_shape(s, out, 3, 2, 1, 4, 3, 2) << read(out, 6);
  const unsigned wrong[][6] = {{0, 1, 1, 1, 1, 1},    {1, 0, 1, 1, 1, 1},     {1, 1, 1, 0, 1, 1},
                               {1, 1, 1, 1025, 1, 1}, {1, 1, 1, 1, 1025, 1},  {1, 1, 1, 1, 1, 65},
                               {1, 1, 1, 64, 64, 1},  {1, 65536, 1, 1, 1, 1}, {2147483648U, 1, 1, 1, 1, 1}};
  for (const auto& w : wrong) {
    std::string name = "shape";
    for (const unsigned value : w) name += ' ' + std::to_string(value);
    Line(name) << launch_shape(s, out, w[0], w[1], w[2], w[3], w[4], w[5]);
  }
  Line("shared memory: most, too much")
      << launch_shape(s, out, 1, 1, 1, 1, 1, 1, 49152) << launch_shape(s, out, 1, 1, 1, 1, 1, 1, 49153);
  Line("more is allowed") << cuFuncSetAttribute(kernels().shape,
                                                CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 65536)
                          << launch_shape(s, out, 1, 1, 1, 1, 1, 1, 49153)
                          << launch_shape(s, out, 1, 1, 1, 1, 1, 1, 65537);
  const CUdeviceptr sum = new_words();
  Line("threads") << launch(kernels().count, s, {&sum}, 7, 96) << value_of(sum);
}

void kinds(CUstream s) {
  const CUdeviceptr out = new_words(6);
  Line("extended") << launch_ex(s, out, nullptr, 0, 5) << read(out, 6);
  CUlaunchAttribute attributes[2] = {};
  attributes[0].id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
  attributes[0].value.cooperative = 1;
  attributes[1].id = CU_LAUNCH_ATTRIBUTE_PRIORITY;
  attributes[1].value.priority = -1;
  Line("extended, cooperative") << launch_ex(s, out, attributes, 2, 6) << read(out, 6);
  Line("extended, cooperative, too large") << launch_ex(s, out, attributes, 1, 1000000);
  CUdeviceptr to = out;
  void* parameters[] = {&to};
  Line("cooperative") << cuLaunchCooperativeKernel(kernels().shape, 7, 1, 1, 2, 1, 1, 0, s, parameters)
                      << read(out, 6);
  Line("cooperative, too large") << cuLaunchCooperativeKernel(kernels().shape, 1000000, 1, 1, 2, 1, 1, 0, s,
                                                              parameters);
}

}  // namespace

void launches() {
  const CUstream s = new_stream();
  parameters(s);
  shapes(s);
  kinds(s);
}

void modules() {
  kernels();
  const CUstream s = new_stream();
  CUmodule module = nullptr;
  Line("not an image") << cuModuleLoadData(&module, "hello") << cuModuleLoadData(&module, "");
  Line("malformed PTX") << cuModuleLoadData(
      &module, ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry e(.param .u64 p) { ret;");
  Line("PTX without a target") << cuModuleLoadData(
      &module, ".version 7.0\n.visible .entry mix(.param .u64 p, .param .u32 k) { ret; }");
  Line("PTX for a newer chip") << cuModuleLoadData(&module,
                                                   ".version 8.7\n.target sm_120\n.address_size 64\n.visible "
                                                   ".entry mix(.param .u64 p, .param .u32 k) { ret; }");
  Line("file that is not there") << cuModuleLoad(&module, "/nonexistent/module.ptx");
  CUfunction function = nullptr;
  Line("no such function") << cuModuleGetFunction(&function, kernels().module, "nothing");
  unsigned count = 0;
  Line("functions") << cuModuleGetFunctionCount(&count, kernels().module) << count;
  CUdeviceptr counter = 0;
  std::size_t size = 0;
  Line("no such variable") << cuModuleGetGlobal(&counter, &size, kernels().module, "nothing");
  Line("variable") << cuModuleGetGlobal(&counter, &size, kernels().module, "counter") << size
                   << value_of(counter);
  const Word k = 5;
  Line("a kernel changes it") << launch(kernels().bump, s, {&k}) << launch(kernels().bump, s, {&k})
                              << value_of(counter);
  Line("so does a copy") << cuMemsetD32(counter, 40, 1) << cuCtxSynchronize()
                         << launch(kernels().bump, s, {&k}) << value_of(counter);
  CUdeviceptr other_counter = 0;
  CUfunction other_bump = nullptr;
  need(cuModuleLoadDataEx(&module, standin::kernel_image, 0, nullptr, nullptr), "cuModuleLoadDataEx");
  need(cuModuleGetGlobal(&other_counter, nullptr, module, "counter"), "cuModuleGetGlobal");
  need(cuModuleGetFunction(&other_bump, module, "bump"), "cuModuleGetFunction");
  Line("a second module has its own")
      << launch(other_bump, s, {&k}) << value_of(other_counter) << value_of(counter);
  const char* name = nullptr;
  std::size_t offset = 0;
  Line("name") << cuFuncGetName(&name, other_bump) << name;
  for (std::size_t i = 0; i < 6; ++i) {
    const CUresult result = cuFuncGetParamInfo(kernels().layout, i, &offset, &size);
    Line("parameter " + std::to_string(i))
        << result << (result == CUDA_SUCCESS ? offset : 0) << (result == CUDA_SUCCESS ? size : 0);
  }
  Line("unload") << cuModuleUnload(module);
  CUlibrary library = nullptr;
  CUkernel kernel = nullptr;
  Line("library") << cuLibraryLoadData(&library, standin::kernel_image, nullptr, nullptr, 0, nullptr, nullptr,
                                       0)
                  << cuLibraryGetKernel(&kernel, library, "nothing")
                  << cuLibraryGetKernel(&kernel, library, "mix");
  const CUdeviceptr word = new_words();
  Line("kernel cast to function") << launch(reinterpret_cast<CUfunction>(kernel), s, {&word, &k})
                                  << value_of(word);
  Line("function of a kernel") << cuKernelGetFunction(&function, kernel) << launch(function, s, {&word, &k})
                               << value_of(word);
  const auto cast = reinterpret_cast<CUfunction>(kernel);
  int local = 0;
  Line("a kernel where its function is wanted")
      << cuFuncLoad(cast) << cuFuncGetAttribute(&local, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, cast)
      << cuFuncSetAttribute(cast, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1024)
      << cuFuncSetCacheConfig(cast, CU_FUNC_CACHE_PREFER_NONE) << cuFuncLoad(function)
      << cuKernelGetFunction(&function, reinterpret_cast<CUkernel>(function));
  Line("kernels") << cuLibraryGetKernelCount(&count, library) << count << cuKernelGetName(&name, kernel)
                  << name;
  Line("library's module") << cuLibraryGetModule(&module, library)
                           << cuModuleGetFunction(&function, module, "bump");
  Line("library's variable") << cuLibraryGetGlobal(&counter, &size, library, "counter") << size
                             << value_of(counter);
  Line("library unload") << cuLibraryUnload(library);
  int value = 0;
  Line("attributes") << cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, kernels().mix)
                     << value
                     << cuFuncGetAttribute(&value, static_cast<CUfunction_attribute>(30), kernels().mix);
}

}  // namespace gangway::conformance
