#include "hw/intercept/forms/loaded_kernels.hpp"

#include <utility>

namespace gangway::intercept {
namespace {

constexpr std::size_t kFirstPlaces = 1024;  // places for handles
constexpr std::string_view kForm = "prologue";

const transform::Form* form_of(const transform::KernelForms& kernel) {
  for (const transform::Form& form : kernel.forms)
    if (form.form == kForm) return &form;
  return nullptr;
}

}  // namespace

FormedModule::FormedModule(FoundForms found, bool library) : found_(std::move(found)), library_(library) {
  for (const transform::KernelForms& kernel : found_.kernels) {
    if (form_of(kernel) != nullptr) ++with_forms_;
    for (const transform::Form& form : kernel.forms) hidden_.insert(form.entry);
  }
}

std::shared_ptr<FormedKernel> FormedModule::kernel(const std::string& name) {
  const std::lock_guard lock(mutex_);
  if (const auto known = kernels_.find(name); known != kernels_.end()) return known->second;
  std::shared_ptr<FormedKernel>& made = kernels_[name];
  for (const transform::KernelForms& kernel : found_.kernels) {
    const transform::Form* const form = kernel.kernel == name ? form_of(kernel) : nullptr;
    if (form == nullptr) continue;
    CUfunction function = nullptr;
    CUresult result = CUDA_ERROR_NOT_FOUND;
    if (library_) {
      CUkernel entry = nullptr;
      result = cuda.cuLibraryGetKernel(&entry, static_cast<CUlibrary>(handle_), form->entry.c_str());
      function = reinterpret_cast<CUfunction>(entry);
    } else {
      result = cuda.cuModuleGetFunction(&function, static_cast<CUmodule>(handle_), form->entry.c_str());
    }
    if (result != CUDA_SUCCESS) break;
    made = std::make_shared<FormedKernel>();
    made->kernel = kernel;
    made->form = *form;
    made->function = function;
    break;
  }
  return made;
}

// --- Handles
// -----------------------------------------------------------------------------------------------

void LoadedKernels::loaded(void* handle, std::shared_ptr<FormedModule> module) {
  const std::lock_guard lock(mutex_);
  modules_[handle] = std::move(module);
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
    if (at->second != gone) {
      ++at;
      continue;
    }
    for (void* function : functions_of_[at->first]) {
      const auto* const kernel = slot(*tables_.back(), function).kernel.exchange(nullptr);
      if (kernel != nullptr) (*kernel)->times.end();
      module_of_.erase(function);
    }
    functions_of_.erase(at->first);
    at = modules_.erase(at);
  }
}

LoadedKernels::Slot& LoadedKernels::slot(Table& table, void* function) const {
  const std::size_t mask = table.slots.size() - 1;
  std::size_t at = (reinterpret_cast<std::uintptr_t>(function) >> 4) * 0x9E3779B97F4A7C15ULL >> 20 & mask;
  for (;; at = (at + 1) & mask) {
    void* const is = table.slots[at].function.load(std::memory_order_acquire);
    if (is == function || is == nullptr) return table.slots[at];
  }
}

// The lock is held.
void LoadedKernels::put(void* function, std::shared_ptr<FormedKernel> kernel, void* module) {
  if (tables_.empty() || tables_.back()->used * 2 > tables_.back()->slots.size()) {
    auto larger = std::make_unique<Table>(tables_.empty() ? kFirstPlaces : tables_.back()->slots.size() * 2);
    if (!tables_.empty())
      for (Slot& each : tables_.back()->slots)
        if (void* const is = each.function.load(); is != nullptr && each.kernel.load() != nullptr) {
          Slot& place = slot(*larger, is);
          place.kernel.store(each.kernel.load());
          place.function.store(is);
          ++larger->used;
        }
    tables_.push_back(std::move(larger));
    table_.store(tables_.back().get(), std::memory_order_release);
  }
  Slot& place = slot(*tables_.back(), function);
  kept_.push_back(std::make_unique<const std::shared_ptr<FormedKernel>>(std::move(kernel)));
  place.kernel.store(kept_.back().get(), std::memory_order_release);
  if (place.function.load() == nullptr) {
    ++tables_.back()->used;
    place.function.store(function, std::memory_order_release);
  }
  functions_of_[module].push_back(function);
  module_of_[function] = module;
}

void LoadedKernels::found(void* module, const char* name, void* function) {
  const std::shared_ptr<FormedModule> its = this->module(module);
  if (its == nullptr) return;
  std::shared_ptr<FormedKernel> kernel = its->kernel(name);
  const std::lock_guard lock(mutex_);
  if (kernel != nullptr && module_of_.count(function) == 0) put(function, std::move(kernel), module);
}

void LoadedKernels::is_the_same(void* kernel, void* function) {
  std::shared_ptr<FormedKernel> its = this->kernel(kernel);
  const std::lock_guard lock(mutex_);
  const auto module = module_of_.find(kernel);
  if (its == nullptr || module == module_of_.end() || module_of_.count(function) != 0) return;
  put(function, std::move(its), module->second);
}

std::shared_ptr<FormedKernel> LoadedKernels::kernel(void* function) const {
  Table* const table = table_.load(std::memory_order_acquire);
  if (table == nullptr) return nullptr;
  const Slot& place = slot(*table, function);
  const auto* const kernel = place.kernel.load(std::memory_order_acquire);
  return kernel == nullptr || place.function.load(std::memory_order_acquire) != function ? nullptr : *kernel;
}

}  // namespace gangway::intercept
