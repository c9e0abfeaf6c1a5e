// The modules of a program that have kernels in forms, and what each of the program's handles means.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "hw/intercept/forms/handle_table.hpp"
#include "hw/intercept/forms/image_lookup.hpp"
#include "hw/intercept/forms/kernel_times.hpp"
#include "hw/intercept/forms/sliced_shapes.hpp"

namespace gangway::intercept {

// A form of a kernel, ready to be launched.
struct ReadyForm {
  transform::Form form;
  CUfunction function = nullptr;  // its entry, or the CUkernel of that; null: the kernel has no such form
};

// A kernel that has a form: of a module, or of a library in all contexts.
struct FormedKernel {
  transform::KernelForms kernel;
  ReadyForm slice, prologue, loop;
  CUfunction report = nullptr;  // the module's entry that reports a launch's progress, or the CUkernel
  bool of_library = false;      // so all of these are CUkernels
  KernelTimes times;
  SlicedShapes shapes;
  std::atomic<bool> waits{false};     // for later blocks of its grid, as a launch showed: the original runs
  std::atomic<bool> clusters{false};  // its blocks form clusters, as the program set: the original runs

  // The form for a launch of so many blocks. When a prologue leaves, each refused block costs about a
  // nanosecond.
  const ReadyForm& form(std::uint64_t blocks) const {
    return prologue.function == nullptr || (blocks > many() && loop.function != nullptr) ? loop : prologue;
  }
  // Blocks of a form that the GPU has room for at once; 0: not known.
  std::uint32_t resident(const ReadyForm& form, unsigned threads, std::size_t shared_bytes);
  std::array<const ReadyForm*, 3> all() const { return {&slice, &prologue, &loop}; }

 private:
  static std::uint64_t many();  // blocks

  std::mutex mutex_;
  std::map<std::tuple<CUfunction, unsigned, std::size_t>, std::uint32_t> resident_;
};

// A module or library that was loaded.
class FormedModule {
 public:
  FormedModule(FoundForms found, bool library);
  // Whether the program must not see the entry.
  bool hides(std::string_view entry) const { return hidden_.count(entry) != 0; }
  void loaded(void* handle) { handle_ = handle; }  // the module, or the library
  // Null: the kernel has no form.
  std::shared_ptr<FormedKernel> kernel(const std::string& name);
  std::size_t with_forms() const { return with_forms_; }
  std::size_t kernels() const { return found_.kernels.size(); }
  std::size_t hidden() const { return hidden_.size(); }
  const std::string& cubin() const { return found_.cubin; }

 private:
  FoundForms found_;
  CUfunction entry(const std::string& name) const;
  ReadyForm ready(const transform::KernelForms& kernel, std::string_view form) const;

  const bool library_;
  void* handle_ = nullptr;
  std::size_t with_forms_ = 0;
  std::set<std::string, std::less<>> hidden_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<FormedKernel>> kernels_;
};

class LoadedKernels {
 public:
  // Modules, and libraries (and a library's modules in contexts), by handle. Null: none of its kernels has a
  // form.
  void loaded(void* handle, std::shared_ptr<FormedModule> module);
  void unloaded(void* handle);
  std::shared_ptr<FormedModule> module(void* handle);
  // The program got a function (or CUkernel) by name; or the function of a CUkernel.
  void found(void* module, const char* name, void* function);
  void is_the_same(void* kernel, void* function);
  // The kernel of a CUfunction or CUkernel; null: it has no form. Called at each launch by any thread; takes
  // no lock.
  std::shared_ptr<FormedKernel> kernel(void* function) const { return kernels_.find(function); }

 private:
  void mean(void* function, std::shared_ptr<FormedKernel> kernel, void* module);
  void forget(void* handle);

  std::mutex mutex_;
  std::map<void*, std::shared_ptr<FormedModule>> modules_;
  std::map<void*, std::vector<void*>> functions_of_;
  std::map<void*, void*> module_of_;
  HandleTable<FormedKernel> kernels_;
};

}  // namespace gangway::intercept
