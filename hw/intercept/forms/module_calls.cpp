#include "hw/intercept/forms/module_calls.hpp"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "hw/intercept/driver.hpp"

namespace gangway::intercept {
namespace {

using live::LaunchKeeper;

// Options that say nothing of the code.
bool same_code(const Options* options, unsigned count) {
  if (count != 0 && options == nullptr) return false;
  return std::all_of(options, options + count, [](Options option) {
    return option == CU_JIT_WALL_TIME || option == CU_JIT_INFO_LOG_BUFFER ||
           option == CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES || option == CU_JIT_ERROR_LOG_BUFFER ||
           option == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES || option == CU_JIT_TARGET_FROM_CUCONTEXT ||
           option == CU_JIT_LOG_VERBOSE || option == CU_JIT_CACHE_MODE || option == CU_JIT_FALLBACK_STRATEGY;
  });
}

// What was prepared is loaded, else the image: if the one is refused, the other one decides.
template <typename Handle, typename Prepared, typename Original>
CUresult loaded(std::shared_ptr<FormedModule> module, Handle* handle, const Prepared& prepared,
                const Original& original) {
  const LaunchKeeper::Alone alone(keeper());
  if (handle == nullptr) return original();
  const bool is_prepared = module != nullptr && !module->cubin().empty();
  CUresult result = is_prepared ? prepared(module->cubin().data()) : original();
  if (result != CUDA_SUCCESS && is_prepared) {
    module = nullptr;
    result = original();
  }
  if (result == CUDA_SUCCESS) forms->loaded(*handle, std::move(module));
  return result;
}

std::optional<std::string> content_of(const char* file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream bytes;
  if (!in || !(bytes << in.rdbuf())) return std::nullopt;
  return std::move(bytes).str();
}

CUresult found(CUresult result, void* module, const char* name, void* function) {
  if (result != CUDA_SUCCESS) return result;
  forms->uses().given(function);
  forms->kernels().found(module, name, function);
  return result;
}

bool hidden(void* module, const char* name) {
  const auto its = name == nullptr ? nullptr : forms->kernels().module(module);
  return its != nullptr && its->hides(name);
}

template <typename Handle>
CUresult counted(CUresult result, unsigned* count, Handle module) {
  const auto its = result == CUDA_SUCCESS ? forms->kernels().module(module) : nullptr;
  if (its != nullptr) *count -= static_cast<unsigned>(std::min<std::size_t>(its->hidden(), *count));
  return result;
}

const char* name_of(CUfunction function) {
  static const auto ask =
      reinterpret_cast<CUresult (*)(const char**, CUfunction)>(real_function("cuFuncGetName"));
  const char* name = nullptr;
  return ask != nullptr && ask(&name, function) == CUDA_SUCCESS ? name : nullptr;
}

const char* name_of(CUkernel kernel) {
  static const auto ask =
      reinterpret_cast<CUresult (*)(const char**, CUkernel)>(real_function("cuKernelGetName"));
  const char* name = nullptr;
  return ask != nullptr && ask(&name, kernel) == CUDA_SUCCESS ? name : nullptr;
}

// All are asked for, since hidden ones may stand anywhere among them.
template <typename Handle, typename Module>
CUresult listed(CUresult (*real)(Handle*, unsigned, Module), Handle* out, unsigned count, Module module) {
  if (out == nullptr || count == 0) return real(out, count, module);
  const auto its = forms->kernels().module(module);
  std::vector<Handle> all(count + (its != nullptr ? its->hidden() : 0), nullptr);
  const CUresult result = real(all.data(), static_cast<unsigned>(all.size()), module);
  if (result != CUDA_SUCCESS) return result;
  unsigned given = 0;
  for (Handle each : all) {
    if (each == nullptr || given == count) continue;
    const char* const name = its != nullptr ? name_of(each) : "";
    if (name != nullptr && its != nullptr && its->hides(name)) continue;
    if (name != nullptr) forms->kernels().found(module, name, each);
    forms->uses().given(each);
    out[given++] = each;
  }
  return result;
}

}  // namespace

CUresult load(CUresult (*real)(CUmodule*, const void*), CUmodule* module, const void* image) {
  const auto original = [&] { return real(module, image); };
  if (forms == nullptr) return original();
  return loaded(
      forms->module_of(image, false), module,
      [&](const char* cubin) { return cuda.cuModuleLoadData(module, cubin); }, original);
}

CUresult load(CUresult (*real)(CUmodule*, const char*), CUmodule* module, const char* file) {
  const auto original = [&] { return real(module, file); };
  if (forms == nullptr) return original();
  return loaded(
      forms->module_of_file(file, false), module,
      [&](const char* cubin) { return cuda.cuModuleLoadData(module, cubin); }, original);
}

CUresult load(CUresult (*real)(CUmodule*, const void*, unsigned, Options*, void**), CUmodule* module,
              const void* image, unsigned count, Options* options, void** values) {
  const auto original = [&] { return real(module, image, count, options, values); };
  if (forms == nullptr) return original();
  return loaded(
      same_code(options, count) ? forms->module_of(image, false) : nullptr, module,
      [&](const char* cubin) { return real(module, cubin, count, options, values); }, original);
}

CUresult load(CUresult (*real)(CUlibrary*, const void*, Options*, void**, unsigned, CUlibraryOption*, void**,
                               unsigned),
              CUlibrary* library, const void* image, Options* options, void** values, unsigned count,
              CUlibraryOption* library_options, void** library_values, unsigned library_count) {
  const auto made = [&](const void* code) {
    return real(library, code, options, values, count, library_options, library_values, library_count);
  };
  const auto original = [&] { return made(image); };
  if (forms == nullptr) return original();
  return loaded(same_code(options, count) ? forms->module_of(image, true) : nullptr, library, made, original);
}

CUresult load(CUresult (*real)(CUlibrary*, const char*, Options*, void**, unsigned, CUlibraryOption*, void**,
                               unsigned),
              CUlibrary* library, const char* file, Options* options, void** values, unsigned count,
              CUlibraryOption* library_options, void** library_values, unsigned library_count) {
  const auto original = [&] {
    return real(library, file, options, values, count, library_options, library_values, library_count);
  };
  if (forms == nullptr) return original();
  return loaded(
      same_code(options, count) ? forms->module_of_file(file, true) : nullptr, library,
      [&](const char* cubin) {
        return cuda.cuLibraryLoadData(library, cubin, options, values, count, library_options, library_values,
                                      library_count);
      },
      original);
}

CUresult find(CUresult (*real)(CUfunction*, CUmodule, const char*), CUfunction* function, CUmodule module,
              const char* name) {
  if (forms == nullptr) return real(function, module, name);
  if (hidden(module, name)) return CUDA_ERROR_NOT_FOUND;
  const CUresult result = real(function, module, name);
  return found(result, module, name, result == CUDA_SUCCESS ? *function : nullptr);
}

CUresult find(CUresult (*real)(CUkernel*, CUlibrary, const char*), CUkernel* kernel, CUlibrary library,
              const char* name) {
  if (forms == nullptr) return real(kernel, library, name);
  if (hidden(library, name)) return CUDA_ERROR_NOT_FOUND;
  const CUresult result = real(kernel, library, name);
  return found(result, library, name, result == CUDA_SUCCESS ? *kernel : nullptr);
}

CUresult find(CUresult (*real)(CUfunction*, CUkernel), CUfunction* function, CUkernel kernel) {
  const CUresult result = real(function, kernel);
  if (forms == nullptr || result != CUDA_SUCCESS) return result;
  forms->uses().given(*function);
  forms->kernels().is_the_same(kernel, *function);
  return result;
}

CUresult find(CUresult (*real)(CUmodule*, CUlibrary), CUmodule* module, CUlibrary library) {
  const CUresult result = real(module, library);
  if (forms == nullptr || result != CUDA_SUCCESS) return result;
  forms->kernels().loaded(*module, forms->kernels().module(library));
  return result;
}

CUresult list(CUresult (*real)(unsigned*, CUmodule), unsigned* count, CUmodule module) {
  const CUresult result = real(count, module);
  return forms == nullptr ? result : counted(result, count, module);
}

CUresult list(CUresult (*real)(unsigned*, CUlibrary), unsigned* count, CUlibrary library) {
  const CUresult result = real(count, library);
  return forms == nullptr ? result : counted(result, count, library);
}

CUresult list(CUresult (*real)(CUfunction*, unsigned, CUmodule), CUfunction* functions, unsigned count,
              CUmodule module) {
  return forms == nullptr ? real(functions, count, module) : listed(real, functions, count, module);
}

CUresult list(CUresult (*real)(CUkernel*, unsigned, CUlibrary), CUkernel* kernels, unsigned count,
              CUlibrary library) {
  return forms == nullptr ? real(kernels, count, library) : listed(real, kernels, count, library);
}

CUresult link(CUresult (*real)(unsigned, Options*, void**, CUlinkState*), unsigned count, Options* options,
              void** values, CUlinkState* state) {
  const CUresult result = real(count, options, values, state);
  if (forms != nullptr && result == CUDA_SUCCESS) forms->links().begun(*state, same_code(options, count));
  return result;
}

CUresult link(CUresult (*real)(CUlinkState, CUjitInputType, void*, std::size_t, const char*, unsigned,
                               Options*, void**),
              CUlinkState state, CUjitInputType type, void* data, std::size_t bytes, const char* name,
              unsigned count, Options* options, void** values) {
  const CUresult result = real(state, type, data, bytes, name, count, options, values);
  if (forms == nullptr || result != CUDA_SUCCESS) return result;
  std::optional<std::string> ptx;
  if (type == CU_JIT_INPUT_PTX) ptx.emplace(static_cast<const char*>(data), bytes);
  forms->links().added(state, std::move(ptx), same_code(options, count));
  return result;
}

CUresult link(CUresult (*real)(CUlinkState, CUjitInputType, const char*, unsigned, Options*, void**),
              CUlinkState state, CUjitInputType type, const char* file, unsigned count, Options* options,
              void** values) {
  const CUresult result = real(state, type, file, count, options, values);
  if (forms == nullptr || result != CUDA_SUCCESS) return result;
  forms->links().added(state, type == CU_JIT_INPUT_PTX ? content_of(file) : std::nullopt,
                       same_code(options, count));
  return result;
}

CUresult link(CUresult (*real)(CUlinkState, void**, std::size_t*), CUlinkState state, void** image,
              std::size_t* bytes) {
  const CUresult result = real(state, image, bytes);
  if (forms != nullptr && result == CUDA_SUCCESS && image != nullptr) forms->links().made(state, *image);
  return result;
}

CUresult link(CUresult (*real)(CUlinkState), CUlinkState state) {
  if (forms != nullptr) forms->links().gone(state);
  return real(state);
}

CUresult set(CUresult (*real)(CUfunction, CUfunction_attribute, int), CUfunction function,
             CUfunction_attribute attribute, int value) {
  const CUresult result = real(function, attribute, value);
  if (forms != nullptr && result == CUDA_SUCCESS)
    forms->set_attribute(function, attribute, value, std::nullopt);
  return result;
}

CUresult set(CUresult (*real)(CUfunction_attribute, int, CUkernel, CUdevice), CUfunction_attribute attribute,
             int value, CUkernel kernel, CUdevice device) {
  const CUresult result = real(attribute, value, kernel, device);
  if (forms != nullptr && result == CUDA_SUCCESS) forms->set_attribute(kernel, attribute, value, device);
  return result;
}

CUresult set(CUresult (*real)(CUfunction, CUfunc_cache), CUfunction function, CUfunc_cache config) {
  const CUresult result = real(function, config);
  if (forms != nullptr && result == CUDA_SUCCESS) forms->set_cache(function, config, std::nullopt);
  return result;
}

CUresult set(CUresult (*real)(CUkernel, CUfunc_cache, CUdevice), CUkernel kernel, CUfunc_cache config,
             CUdevice device) {
  const CUresult result = real(kernel, config, device);
  if (forms != nullptr && result == CUDA_SUCCESS) forms->set_cache(kernel, config, device);
  return result;
}

}  // namespace gangway::intercept
