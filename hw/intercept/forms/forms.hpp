// Kernels in forms, in a program: modules are looked up when they are loaded, and launches of kernels that
// last long enough take a form. What the program sees of its modules is what it would see without.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "hw/intercept/driver.hpp"
#include "hw/intercept/forms/first_uses.hpp"
#include "hw/intercept/forms/formed_launch.hpp"
#include "hw/intercept/forms/image_lookup.hpp"
#include "hw/intercept/forms/loaded_kernels.hpp"
#include "hw/live/launch_keeper.hpp"
#include "models/take_forms.hpp"

namespace gangway::intercept {

class Forms : private live::Contexts {
 public:
  Forms(live::Gate& gate, RealDriver& of);

  // Which launches take a form, as the daemon wants it now.
  TakeForms taken() const {
    return static_cast<TakeForms>(gate_.permit().forms.load(std::memory_order_relaxed));
  }
  live::LaunchKeeper& keeper() { return keeper_; }
  LoadedKernels& kernels() { return kernels_; }
  FirstUses& uses() { return uses_; }
  void forget_functions();  // a module is gone, and its handles may come again
  // A kernel's first launch in a context, by a thread that is alone. The forms are loaded with it.
  void first_launch(void* function, FormedKernel* kernel);

  // What is to be loaded in place of an image, for the current context's GPU, or for all that a library may
  // be used on. Null: the image itself, of which nothing is in a form.
  std::shared_ptr<FormedModule> module_of(const void* image, bool library);
  std::shared_ptr<FormedModule> module_of_file(const char* file, bool library);
  void loaded(void* handle, std::shared_ptr<FormedModule> module);

  // By a thread that passed the gate. False: the launch has to be made as it is.
  bool launch(FormedKernel& kernel, const LaunchCall& call, const live::StreamName& stream);
  // The launch as it is: measured where that tells something.
  template <typename Original>
  CUresult original(FormedKernel& kernel, const LaunchCall& call, const live::StreamName& stream,
                    const Original& made) {
    const bool measured = taken() == TakeForms::worth && begins(kernel, stream);
    const CUresult result = made();
    if (measured) kernel.times.ends(handle(stream), blocks(call));
    return result;
  }
  // What the program sets of a kernel holds for its form, too.
  void set_attribute(void* function, CUfunction_attribute attribute, int value, std::optional<CUdevice> on);
  void set_cache(void* function, CUfunc_cache config, std::optional<CUdevice> on);

 private:
  std::unique_ptr<live::LaunchPort> open(std::uint64_t context) override;
  bool blocks(const live::StreamName& stream) override;
  void give_back(live::Driver::Event event) override;
  void thread_begins() override;
  std::size_t most_held() override;

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
  LoadedKernels kernels_;
  FirstUses uses_;
  std::atomic<std::uint32_t> with_forms_{0}, without_{0};  // kernels that the client page does not count yet
  live::LaunchKeeper keeper_;
};

// Null: kernels run as they are.
extern Forms* forms;
inline live::LaunchKeeper* keeper() { return forms == nullptr ? nullptr : &forms->keeper(); }
// Launches in forms are under way, so the keeper has to hear what else is submitted.
inline bool kept() { return forms != nullptr && forms->keeper().any(); }

// As `gangway exec` left it in the environment (GANGWAY_FORMS); before any other thread.
void begin_forms(live::Gate& gate, RealDriver& of);
void forget_forms();  // in the child of a fork

}  // namespace gangway::intercept
