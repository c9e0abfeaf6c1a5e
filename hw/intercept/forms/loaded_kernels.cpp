#include "hw/intercept/forms/loaded_kernels.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace gangway::intercept {
namespace {

const transform::Form* form_of(const transform::KernelForms& kernel, std::string_view name) {
  for (const transform::Form& form : kernel.forms)
    if (form.form == name) return &form;
  return nullptr;
}

bool leaves(const transform::KernelForms& kernel) {
  return form_of(kernel, "slice") != nullptr || form_of(kernel, "prologue") != nullptr ||
         form_of(kernel, "loop") != nullptr;
}

}  // namespace

FormedModule::FormedModule(FoundForms found, bool library) : found_(std::move(found)), library_(library) {
  for (const transform::KernelForms& kernel : found_.kernels) {
    if (leaves(kernel)) ++with_forms_;
    for (const transform::Form& form : kernel.forms) hidden_.insert(form.entry);
    if (!kernel.report.empty()) hidden_.insert(kernel.report);
  }
}

// Or the CUkernel of that; null: there is none of that name.
CUfunction FormedModule::entry(const std::string& name) const {
  CUkernel kernel = nullptr;
  CUfunction function = nullptr;
  if (library_)
    return cuda.cuLibraryGetKernel(&kernel, static_cast<CUlibrary>(handle_), name.c_str()) == CUDA_SUCCESS
               ? reinterpret_cast<CUfunction>(kernel)
               : nullptr;
  return cuda.cuModuleGetFunction(&function, static_cast<CUmodule>(handle_), name.c_str()) == CUDA_SUCCESS
             ? function
             : nullptr;
}

ReadyForm FormedModule::ready(const transform::KernelForms& kernel, std::string_view name) const {
  const transform::Form* const form = form_of(kernel, name);
  if (form == nullptr) return {};
  return {*form, entry(form->entry)};
}

std::shared_ptr<FormedKernel> FormedModule::kernel(const std::string& name) {
  const std::lock_guard lock(mutex_);
  if (const auto known = kernels_.find(name); known != kernels_.end()) return known->second;
  std::shared_ptr<FormedKernel>& made = kernels_[name];
  for (const transform::KernelForms& kernel : found_.kernels) {
    if (kernel.kernel != name || !leaves(kernel)) continue;
    auto formed = std::make_shared<FormedKernel>();
    formed->kernel = kernel;
    formed->slice = ready(kernel, "slice");
    formed->prologue = ready(kernel, "prologue");
    formed->loop = ready(kernel, "loop");
    formed->report = entry(kernel.report);
    formed->of_library = library_;
    const auto all = formed->all();
    if (formed->report != nullptr &&
        std::any_of(all.begin(), all.end(), [](const ReadyForm* f) { return f->function != nullptr; }))
      made = std::move(formed);
    break;
  }
  return made;
}

std::uint64_t FormedKernel::many() {
  constexpr std::uint64_t kMany = 50'000;
#ifdef GANGWAY_POINTS  // test builds: the stand-in cannot carry out so many
  static const char* const set = std::getenv("GANGWAY_LOOPS_ABOVE");
  if (set != nullptr) return std::strtoull(set, nullptr, 10);
#endif
  return kMany;
}

std::uint32_t FormedKernel::resident(const ReadyForm& form, unsigned threads, std::size_t shared_bytes) {
  const std::lock_guard lock(mutex_);
  const auto known = resident_.find({form.function, threads, shared_bytes});
  if (known != resident_.end()) return known->second;
  int on_one = 0, multiprocessors = 0;
  CUdevice device = 0;
  const bool asked = cuda.cuCtxGetDevice(&device) == CUDA_SUCCESS &&
                     cuda.cuDeviceGetAttribute(&multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT,
                                               device) == CUDA_SUCCESS &&
                     cuda.cuOccupancyMaxActiveBlocksPerMultiprocessor(
                         &on_one, form.function, static_cast<int>(threads), shared_bytes) == CUDA_SUCCESS;
  return resident_[{form.function, threads, shared_bytes}] =
             asked ? static_cast<std::uint32_t>(on_one * multiprocessors) : 0;
}

// --- Handles
// -----------------------------------------------------------------------------------------------

void LoadedKernels::loaded(void* handle, std::shared_ptr<FormedModule> module) {
  const std::lock_guard lock(mutex_);
  if (const auto known = modules_.find(handle); known != modules_.end() && known->second != module)
    forget(handle);  // of a context that is gone
  if (module != nullptr) modules_[handle] = std::move(module);
}

std::shared_ptr<FormedModule> LoadedKernels::module(void* handle) {
  const std::lock_guard lock(mutex_);
  const auto found = modules_.find(handle);
  return found == modules_.end() ? nullptr : found->second;
}

void LoadedKernels::unloaded(void* handle) {
  const std::lock_guard lock(mutex_);
  const auto found = modules_.find(handle);
  if (found == modules_.end()) return;
  const std::shared_ptr<FormedModule> gone = found->second;
  for (auto at = modules_.begin(); at != modules_.end();) {
    void* const its = at->first;
    const bool goes = at->second == gone;
    ++at;
    if (goes) forget(its);
  }
}

void LoadedKernels::forget(void* handle) {
  for (void* function : functions_of_[handle]) {
    if (const auto kernel = kernels_.find(function)) kernel->times.end();
    kernels_.remove(function);
    module_of_.erase(function);
  }
  functions_of_.erase(handle);
  modules_.erase(handle);
}

// The lock is held. A handle of a context that is gone may have meant another kernel.
void LoadedKernels::mean(void* function, std::shared_ptr<FormedKernel> kernel, void* module) {
  if (const auto known = module_of_.find(function); known != module_of_.end()) {
    if (known->second == module && kernels_.find(function) == kernel) return;
    kernels_.remove(function);
    std::erase(functions_of_[known->second], function);
    module_of_.erase(known);
  }
  if (kernel == nullptr) return;
  kernels_.put(function, std::move(kernel));
  functions_of_[module].push_back(function);
  module_of_[function] = module;
}

void LoadedKernels::found(void* module, const char* name, void* function) {
  const std::shared_ptr<FormedModule> its = this->module(module);
  std::shared_ptr<FormedKernel> kernel = its != nullptr ? its->kernel(name) : nullptr;
  const std::lock_guard lock(mutex_);
  mean(function, std::move(kernel), module);
}

void LoadedKernels::is_the_same(void* kernel, void* function) {
  std::shared_ptr<FormedKernel> its = this->kernel(kernel);
  const std::lock_guard lock(mutex_);
  const auto module = module_of_.find(kernel);
  const bool has_forms = its != nullptr && module != module_of_.end();
  mean(function, has_forms ? std::move(its) : nullptr, has_forms ? module->second : nullptr);
}

}  // namespace gangway::intercept
