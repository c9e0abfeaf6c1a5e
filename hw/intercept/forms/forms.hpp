// Forms of a program's kernels: modules are looked up when they are loaded, and launches of kernels that last
// long enough take a form. The program sees its modules as if they had no forms.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "hw/intercept/driver.hpp"
#include "hw/intercept/forms/first_uses.hpp"
#include "hw/intercept/forms/formed_launch.hpp"
#include "hw/intercept/forms/image_lookup.hpp"
#include "hw/intercept/forms/linked_modules.hpp"
#include "hw/intercept/forms/loaded_kernels.hpp"
#include "hw/live/launch_keeper.hpp"
#include "models/take_forms.hpp"

namespace gangway::intercept {

class Forms : private live::Contexts {
 public:
  Forms(live::Gate& gate, RealDriver& of);

  // Which launches take a form, as the daemon now orders.
  TakeForms taken() const {
    return static_cast<TakeForms>(gate_.permit().forms.load(std::memory_order_relaxed));
  }
  live::LaunchKeeper& keeper() { return keeper_; }
  LoadedKernels& kernels() { return kernels_; }
  FirstUses& uses() { return uses_; }
  LinkedModules& links() { return links_; }
  // Call these before and after the driver's call, since handles may be used again from then on. A context
  // that goes may stay after all.
  void something_unloaded();
  void context_goes();
  // Call it at a kernel's first launch in a context, in a call that is made alone. Loads the forms, too, and
  // lets them have the claim's shared memory beside their original's.
  void first_launch(void* function, FormedKernel* kernel);

  // The module to load in place of an image, for the current context's GPU or, if a `library`, for all GPUs
  // that it may be used on. Null: the image itself, since none of its kernels has a form.
  std::shared_ptr<FormedModule> module_of(const void* image, bool library);
  std::shared_ptr<FormedModule> module_of_file(const char* file, bool library);
  void loaded(void* handle, std::shared_ptr<FormedModule> module);

  // Call it in a thread that has passed the gate. False: launch the original kernel.
  bool launch(FormedKernel& kernel, const LaunchCall& call, const live::StreamName& stream);
  // Launches the original kernel by `made`; measures it if its time is of use.
  template <typename Original>
  CUresult original(FormedKernel& kernel, const LaunchCall& call, const live::StreamName& stream,
                    const Original& made) {
    const bool measured = taken() == TakeForms::worth && begins(kernel, stream);
    const CUresult result = made();
    if (measured) kernel.times.ends(handle(stream), blocks(call));
    return result;
  }
  // Apply what the program sets for a kernel to its forms, too.
  void set_attribute(void* function, CUfunction_attribute attribute, int value, std::optional<CUdevice> on);
  void set_cache(void* function, CUfunc_cache config, std::optional<CUdevice> on);

 private:
  std::unique_ptr<live::LaunchPort> open(std::uint64_t context) override;
  bool blocks(const live::StreamName& stream) override;
  void give_back(live::Driver::Event event) override;
  void thread_begins() override;
  std::size_t most_streams() override;

  static CUstream handle(const live::StreamName& stream);
  static std::uint64_t blocks(const LaunchCall& call) {
    return std::uint64_t{call.grid[0]} * call.grid[1] * call.grid[2];
  }
  std::optional<transform::Architecture> gpu(bool library) const;
  std::shared_ptr<FormedModule> module_in(std::string_view image, bool library);
  void load(CUfunction handle, bool of_library);
  template <typename Set>
  static void for_each_form(const FormedKernel& formed, std::optional<CUdevice> on, const Set& set);
  bool begins(FormedKernel& kernel, const live::StreamName& stream);
  std::uint64_t evictions();
  void tell_page();

  live::Gate& gate_;
  RealDriver& driver_;
  ImageLookup images_;
  LinkedModules links_;
  LoadedKernels kernels_;
  FirstUses uses_;
  std::atomic<std::uint32_t> with_forms_{0}, without_{0};  // kernels that the client page does not count yet
  live::LaunchKeeper keeper_;
};

// Null: original kernels run.
extern Forms* forms;
inline live::LaunchKeeper* keeper() { return forms == nullptr ? nullptr : &forms->keeper(); }
// Whether launches in forms are under way, so that the keeper must be told of other submissions.
inline bool kept() { return forms != nullptr && forms->keeper().any(); }

// Follows the environment of `gangway exec` (GANGWAY_FORMS). Call it before there are other threads.
void begin_forms(live::Gate& gate, RealDriver& of);
void forget_forms();  // in the child of a fork

}  // namespace gangway::intercept
