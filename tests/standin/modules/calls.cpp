// The driver's functions about modules, libraries, kernels and functions.
#include <fstream>
#include <sstream>

#include "api.hpp"
#include "tests/standin/graphs/capture.hpp"
#include "tests/standin/modules/module.hpp"

namespace gangway::standin::api {
namespace {

template <class Handle>
std::map<Handle, std::shared_ptr<Module>>& loaded() {
  static auto* const all = new std::map<Handle, std::shared_ptr<Module>>;
  return *all;
}

template <class Handle>
Module& found(Handle handle) {
  const auto at = loaded<Handle>().find(handle);
  require(at != loaded<Handle>().end(), CUDA_ERROR_INVALID_HANDLE);
  return *at->second;
}

std::string file_text(const char* name) {
  require(name != nullptr);
  std::ifstream file(name, std::ios::binary);
  require(file.good(), CUDA_ERROR_FILE_NOT_FOUND);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

template <class Handle>
Handle keep(std::shared_ptr<Module> module, Kind kind) {
  const auto handle = reinterpret_cast<Handle>(module.get());
  enter(handle, kind);
  loaded<Handle>()[handle] = std::move(module);
  return handle;
}

std::shared_ptr<Function> named(const Module& module, const char* name) {
  require(name != nullptr);
  const auto at = module.functions.find(name);
  require(at != module.functions.end(), CUDA_ERROR_NOT_FOUND);
  return at->second;
}

CUresult global(const Module& module, CUdeviceptr* address, std::size_t* bytes, const char* name) {
  require(name != nullptr);
  const auto at = module.variables.find(name);
  require(at != module.variables.end(), CUDA_ERROR_NOT_FOUND);
  if (address != nullptr) *address = at->second.first;
  if (bytes != nullptr) *bytes = at->second.second;
  return CUDA_SUCCESS;
}

CUresult attribute(const Function& function, int* value, CUfunction_attribute attribute) {
  require(value != nullptr && attribute >= 0 && attribute < CU_FUNC_ATTRIBUTE_MAX);
  const int most_threads = static_cast<int>(function.entry.most_threads);
  const std::map<CUfunction_attribute, int> usual{{CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, most_threads},
                                                  {CU_FUNC_ATTRIBUTE_NUM_REGS, 16},
                                                  {CU_FUNC_ATTRIBUTE_PTX_VERSION, 90},
                                                  {CU_FUNC_ATTRIBUTE_BINARY_VERSION, 90},
                                                  {CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 49152},
                                                  {CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, -1}};
  const auto set = function.attributes.find(attribute);
  const auto fixed = usual.find(attribute);
  *value = set != function.attributes.end() ? set->second : fixed != usual.end() ? fixed->second : 0;
  return CUDA_SUCCESS;
}

// An H100's driver refuses a CUkernel.
std::shared_ptr<Function> function_of_a_context(CUfunction handle) {
  require(alive(handle, Kind::function), CUDA_ERROR_INVALID_HANDLE);
  return function(handle);
}

CUresult set_attribute(Function& function, CUfunction_attribute attribute, int value) {
  require(attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES ||
          attribute == CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT ||
          attribute == CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED ||
          attribute == CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH ||
          attribute == CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT ||
          attribute == CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH);
  require(attribute == CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT || value >= 0);
  require(attribute != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES || value <= 232448);
  function.attributes[attribute] = value;
  return CUDA_SUCCESS;
}

}  // namespace

// Waits for what runs: the code goes to the device behind it.
CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  Lock lock = lock_driver();
  const auto context = current();
  require(module != nullptr);
  auto made = load(image, Kind::function);
  made->context = context;
  synchronize(lock, *context);
  const std::weak_ptr<Module> known = made;
  const CUmodule handle = *module = keep<CUmodule>(std::move(made), Kind::module);
  context->at_end.push_back([known, handle] {
    const auto at = loaded<CUmodule>().find(handle);
    if (at == loaded<CUmodule>().end() || at->second != known.lock()) return;
    loaded<CUmodule>().erase(at);
    remove(handle);
  });
  return CUDA_SUCCESS;
}

CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned, CUjit_option*, void**) {
  return api::cuModuleLoadData(module, image);
}

CUresult cuModuleLoadFatBinary(CUmodule* module, const void* fatCubin) {
  return api::cuModuleLoadData(module, fatCubin);
}

CUresult cuModuleLoad(CUmodule* module, const char* fname) {
  return api::cuModuleLoadData(module, file_text(fname).c_str());
}

CUresult cuModuleUnload(CUmodule hmod) {
  Lock lock = lock_driver();
  const auto context = current();
  found(hmod);
  refuse_unsafe();
  synchronize(lock, *context);
  loaded<CUmodule>().erase(hmod);
  remove(hmod);
  return CUDA_SUCCESS;
}

CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode* mode) {
  require(mode != nullptr);
  *mode = CU_MODULE_EAGER_LOADING;
  return CUDA_SUCCESS;
}

CUresult cuModuleGetFunction(CUfunction* hfunc, CUmodule hmod, const char* name) {
  const Lock lock = lock_driver();
  require(hfunc != nullptr);
  current();
  *hfunc = reinterpret_cast<CUfunction>(named(found(hmod), name).get());
  return CUDA_SUCCESS;
}

CUresult cuModuleGetFunctionCount(unsigned* count, CUmodule mod) {
  const Lock lock = lock_driver();
  require(count != nullptr);
  *count = static_cast<unsigned>(found(mod).functions.size());
  return CUDA_SUCCESS;
}

CUresult cuModuleGetGlobal_v2(CUdeviceptr* dptr, size_t* bytes, CUmodule hmod, const char* name) {
  const Lock lock = lock_driver();
  return global(found(hmod), dptr, bytes, name);
}

CUresult cuLibraryLoadData(CUlibrary* library, const void* code, CUjit_option*, void**, unsigned,
                           CUlibraryOption*, void**, unsigned) {
  Lock lock = lock_driver();
  require(library != nullptr);
  if (const auto context = current_or_none()) synchronize(lock, *context);
  *library = keep<CUlibrary>(load(code, Kind::kernel), Kind::library);
  return CUDA_SUCCESS;
}

CUresult cuLibraryLoadFromFile(CUlibrary* library, const char* fileName, CUjit_option*, void**, unsigned,
                               CUlibraryOption*, void**, unsigned) {
  return api::cuLibraryLoadData(library, file_text(fileName).c_str(), nullptr, nullptr, 0, nullptr, nullptr,
                                0);
}

CUresult cuLibraryUnload(CUlibrary library) {
  Lock lock = lock_driver();
  found(library);
  if (const auto context = current_or_none()) synchronize(lock, *context);
  loaded<CUmodule>().erase(reinterpret_cast<CUmodule>(library));
  loaded<CUlibrary>().erase(library);
  remove(library);
  return CUDA_SUCCESS;
}

CUresult cuLibraryGetKernel(CUkernel* pKernel, CUlibrary library, const char* name) {
  const Lock lock = lock_driver();
  require(pKernel != nullptr);
  *pKernel = reinterpret_cast<CUkernel>(named(found(library), name).get());
  return CUDA_SUCCESS;
}

CUresult cuLibraryGetKernelCount(unsigned* count, CUlibrary lib) {
  const Lock lock = lock_driver();
  require(count != nullptr);
  *count = static_cast<unsigned>(found(lib).functions.size());
  return CUDA_SUCCESS;
}

CUresult cuLibraryGetModule(CUmodule* pMod, CUlibrary library) {
  const Lock lock = lock_driver();
  require(pMod != nullptr);
  current();
  found(library);
  const auto module = reinterpret_cast<CUmodule>(library);
  loaded<CUmodule>()[module] = loaded<CUlibrary>().at(library);
  *pMod = module;
  return CUDA_SUCCESS;
}

CUresult cuLibraryGetGlobal(CUdeviceptr* dptr, size_t* bytes, CUlibrary library, const char* name) {
  const Lock lock = lock_driver();
  current();
  return global(found(library), dptr, bytes, name);
}

CUresult cuKernelGetFunction(CUfunction* pFunc, CUkernel kernel) {
  Lock lock = lock_driver();
  require(pFunc != nullptr);
  require(alive(kernel, Kind::kernel), CUDA_ERROR_INVALID_HANDLE);
  *pFunc = function_in(lock, reinterpret_cast<CUfunction>(kernel), *current());
  return CUDA_SUCCESS;
}

CUresult cuFuncGetModule(CUmodule* hmod, CUfunction hfunc) {
  const Lock lock = lock_driver();
  require(hmod != nullptr);
  *hmod = reinterpret_cast<CUmodule>(function(hfunc)->module);
  return CUDA_SUCCESS;
}

CUresult cuFuncGetName(const char** name, CUfunction hfunc) {
  const Lock lock = lock_driver();
  require(name != nullptr);
  *name = function(hfunc)->entry.name.c_str();
  return CUDA_SUCCESS;
}

CUresult cuKernelGetName(const char** name, CUkernel hfunc) {
  return api::cuFuncGetName(name, reinterpret_cast<CUfunction>(hfunc));
}

CUresult cuFuncGetParamInfo(CUfunction func, size_t paramIndex, size_t* paramOffset, size_t* paramSize) {
  const Lock lock = lock_driver();
  const auto which = function(func);
  require(paramOffset != nullptr && paramIndex < which->entry.parameters.size());
  *paramOffset = which->entry.parameters[paramIndex].offset;
  if (paramSize != nullptr) *paramSize = which->entry.parameters[paramIndex].size;
  return CUDA_SUCCESS;
}

CUresult cuKernelGetParamInfo(CUkernel kernel, size_t paramIndex, size_t* paramOffset, size_t* paramSize) {
  return api::cuFuncGetParamInfo(reinterpret_cast<CUfunction>(kernel), paramIndex, paramOffset, paramSize);
}

CUresult cuFuncGetAttribute(int* pi, CUfunction_attribute attrib, CUfunction hfunc) {
  const Lock lock = lock_driver();
  return attribute(*function_of_a_context(hfunc), pi, attrib);
}

CUresult cuFuncSetAttribute(CUfunction hfunc, CUfunction_attribute attrib, int value) {
  const Lock lock = lock_driver();
  return set_attribute(*function_of_a_context(hfunc), attrib, value);
}

CUresult cuKernelGetAttribute(int* pi, CUfunction_attribute attrib, CUkernel kernel, CUdevice dev) {
  const Lock lock = lock_driver();
  device(dev);
  return attribute(*function(reinterpret_cast<CUfunction>(kernel)), pi, attrib);
}

CUresult cuKernelSetAttribute(CUfunction_attribute attrib, int val, CUkernel kernel, CUdevice dev) {
  const Lock lock = lock_driver();
  device(dev);
  const auto all = function(reinterpret_cast<CUfunction>(kernel));
  const CUresult result = set_attribute(*all, attrib, val);
  for (const auto& [where, loaded] : all->in_contexts)
    if (loaded.device == dev) set_attribute(*loaded.function, attrib, val);
  return result;
}

CUresult cuFuncSetCacheConfig(CUfunction hfunc, CUfunc_cache) {
  const Lock lock = lock_driver();
  function_of_a_context(hfunc);
  return CUDA_SUCCESS;
}

CUresult cuFuncLoad(CUfunction hfunc) { return api::cuFuncSetCacheConfig(hfunc, CU_FUNC_CACHE_PREFER_NONE); }

CUresult cuFuncIsLoaded(CUfunctionLoadingState* state, CUfunction hfunc) {
  const Lock lock = lock_driver();
  require(state != nullptr);
  function_of_a_context(hfunc);
  *state = CU_FUNCTION_LOADING_STATE_LOADED;
  return CUDA_SUCCESS;
}

}  // namespace gangway::standin::api
