#include "hw/intercept/forms/forms.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <utility>

#include "hw/intercept/driver.hpp"
#include "hw/intercept/forms/driver_port.hpp"
#include "hw/intercept/forms/failed_launch.hpp"
#include "hw/transform/images/image_in_memory.hpp"

namespace gangway::intercept {

constinit Forms* forms = nullptr;

namespace {

// Newer than the oldest driver that forms need.
auto cuda_func_load() -> CUresult (*)(CUfunction) {
  static const auto found = reinterpret_cast<CUresult (*)(CUfunction)>(real_function("cuFuncLoad"));
  return found;
}

bool is_cluster_size(CUfunction_attribute attribute) {
  return attribute == CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH ||
         attribute == CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT ||
         attribute == CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH;
}

// What says nothing unless there are clusters, which a launch can also ask for by itself.
bool is_for_clusters_only(CUfunction_attribute attribute) {
  return attribute == CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED ||
         attribute == CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE;
}

// Dynamic shared memory that a launch of the program's kernel may have; none: the driver does not say.
std::optional<int> most_shared(void* function) {
  constexpr CUfunction_attribute kMost = CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
  int bytes = 0;
  CUdevice device = 0;
  if (cuda.cuFuncGetAttribute(&bytes, kMost, static_cast<CUfunction>(function)) == CUDA_SUCCESS) return bytes;
  if (cuda.cuCtxGetDevice(&device) == CUDA_SUCCESS &&
      cuda.cuKernelGetAttribute(&bytes, kMost, static_cast<CUkernel>(function), device) == CUDA_SUCCESS)
    return bytes;
  return std::nullopt;
}

// Lets launches in the form have the claim's bytes beside those that the program's launches may have. If a
// block cannot have so many, launches that use the last ones are refused, and the original runs.
void allow_shared(const ReadyForm& form, int bytes, std::optional<CUdevice> of_library) {
  constexpr CUfunction_attribute kMost = CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                 kStatic = CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES;
  const auto kernel = reinterpret_cast<CUkernel>(form.function);
  CUdevice device = 0;
  int most = 0, its_own = 0;
  if (of_library)
    device = *of_library;
  else
    cuda.cuCtxGetDevice(&device);
  cuda.cuDeviceGetAttribute(&most, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, device);
  of_library ? cuda.cuKernelGetAttribute(&its_own, kStatic, kernel, device)
             : cuda.cuFuncGetAttribute(&its_own, kStatic, form.function);
  const int allowed = std::min(bytes + static_cast<int>(form.form.shared_bytes), most - its_own);
  of_library ? cuda.cuKernelSetAttribute(kMost, allowed, kernel, device)
             : cuda.cuFuncSetAttribute(form.function, kMost, allowed);
}

live::Gate* gate_of_forms = nullptr;
RealDriver* driver_of_forms = nullptr;

}  // namespace

void begin_forms(live::Gate& gate, RealDriver& of) {
  const char* const wanted = std::getenv("GANGWAY_FORMS");
  if (wanted == nullptr || *wanted == '\0' || std::strcmp(wanted, "0") == 0 || !cuda.all()) return;
  gate_of_forms = &gate;
  driver_of_forms = &of;
  // The driver is called until the process ends.
  forms = new Forms(gate, of);
}

void forget_forms() {
  error_of_failed_launch.store(CUDA_SUCCESS);
  if (forms != nullptr) begin_forms(*gate_of_forms, *driver_of_forms);
}

Forms::Forms(live::Gate& gate, RealDriver& of) : gate_(gate), driver_(of), keeper_(gate, of, *this) {}

// --- Modules
// -----------------------------------------------------------------------------------------------

std::optional<transform::Architecture> Forms::gpu(bool library) const {
  const auto of = [](CUdevice device) {
    int major = 0, minor = 0;
    cuda.cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
    cuda.cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
    return static_cast<unsigned>(10 * major + minor);
  };
  CUdevice device = 0;
  if (!library)
    return cuda.cuCtxGetDevice(&device) == CUDA_SUCCESS
               ? std::optional(transform::Architecture{of(device), 0})
               : std::nullopt;
  int count = 0;
  if (cuda.cuDeviceGetCount(&count) != CUDA_SUCCESS || count == 0) return std::nullopt;
  const unsigned first = of(0);
  for (int d = 1; d < count; ++d)
    if (cuda.cuDeviceGet(&device, d) != CUDA_SUCCESS || of(device) != first) return std::nullopt;
  return transform::Architecture{first, 0};
}

std::shared_ptr<FormedModule> Forms::module_in(std::string_view image, bool library) {
  const auto target = gpu(library);
  if (!target) return nullptr;
  const std::optional<std::string> linked = links_.text_of(image);
  auto found = images_.find(linked ? std::string_view(*linked) : image, *target);
  return found ? std::make_shared<FormedModule>(std::move(*found), library) : nullptr;
}

std::shared_ptr<FormedModule> Forms::module_of(const void* image, bool library) {
  return module_in(transform::bytes_of_image(image), library);
}

std::shared_ptr<FormedModule> Forms::module_of_file(const char* file, bool library) {
  if (file == nullptr) return nullptr;
  std::ifstream in(file, std::ios::binary);
  std::ostringstream bytes;
  if (!in || !(bytes << in.rdbuf())) return nullptr;
  const std::string image = std::move(bytes).str();
  auto found = module_in(image, library);
  return found;
}

void Forms::loaded(void* handle, std::shared_ptr<FormedModule> module) {
  if (module != nullptr) {
    module->loaded(handle);
    with_forms_.fetch_add(static_cast<std::uint32_t>(module->with_forms()));
    without_.fetch_add(static_cast<std::uint32_t>(module->kernels() - module->with_forms()));
  }
  kernels_.loaded(handle, std::move(module));
}

// With the device if they are kernels of a library: the one that the program named, or the current one.
template <typename Set>
void Forms::for_each_form(const FormedKernel& formed, std::optional<CUdevice> on, const Set& set) {
  CUdevice current = 0;
  if (!formed.of_library)
    on.reset();
  else if (!on && cuda.cuCtxGetDevice(&current) == CUDA_SUCCESS)
    on = current;
  if (formed.of_library && !on) return;
  for (const ReadyForm* form : formed.all())
    if (form->function != nullptr) set(*form, on);
}

// Of the program's it may be the kernel or its function in a context, of ours it is what the module has.
void Forms::set_attribute(void* function, CUfunction_attribute attribute, int value,
                          std::optional<CUdevice> on) {
  const auto formed = kernels_.kernel(function);
  if (formed == nullptr) return;
  if (is_for_clusters_only(attribute)) return;
  // Blocks of a cluster belong together, and blocks of a form claim their indices one by one.
  if (is_cluster_size(attribute)) {
    if (value > 1) formed->clusters.store(true);
    return;
  }
  DriverPort::functions_change();
  for_each_form(*formed, on, [&](const ReadyForm& form, std::optional<CUdevice> device) {
    if (attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)
      allow_shared(form, value, device);
    else if (device)
      cuda.cuKernelSetAttribute(attribute, value, reinterpret_cast<CUkernel>(form.function), *device);
    else
      cuda.cuFuncSetAttribute(form.function, attribute, value);
  });
}

void Forms::set_cache(void* function, CUfunc_cache config, std::optional<CUdevice> on) {
  const auto formed = kernels_.kernel(function);
  if (formed == nullptr) return;
  for_each_form(*formed, on, [&](const ReadyForm& form, std::optional<CUdevice> device) {
    if (device)
      cuda.cuKernelSetCacheConfig(reinterpret_cast<CUkernel>(form.function), config, *device);
    else
      cuda.cuFuncSetCacheConfig(form.function, config);
  });
}

// --- Launches
// ------------------------------------------------------------------------------------------------

CUstream Forms::handle(const live::StreamName& stream) {
  if (stream.legacy()) return CU_STREAM_LEGACY;
  if (stream.per_thread()) return CU_STREAM_PER_THREAD;
  return reinterpret_cast<CUstream>(stream.handle);
}

// There is one from the first submission on.
void Forms::tell_page() {
  live::ClientPage* const page = gate_.page();
  if (page == nullptr || with_forms_.load(std::memory_order_relaxed) + without_.load() == 0) return;
  page->kernels_with_forms.fetch_add(with_forms_.exchange(0));
  page->kernels_without.fetch_add(without_.exchange(0));
}

std::uint64_t Forms::evictions() {
  const live::ClientPage* const page = gate_.page();
  return page == nullptr ? 0 : page->evictions.load(std::memory_order_relaxed);
}

bool Forms::begins(FormedKernel& kernel, const live::StreamName& stream) {
  return kernel.times.begins(reinterpret_cast<CUcontext>(driver_.current_context()), handle(stream),
                             evictions());
}

bool Forms::launch(FormedKernel& kernel, const LaunchCall& call, const live::StreamName& stream) {
  tell_page();
  const TakeForms take = taken();
  if ((take != TakeForms::all && take != TakeForms::worth) || kernel.waits.load() || kernel.clusters.load())
    return false;
  if (take == TakeForms::worth && !kernel.times.worth(blocks(call), evictions())) return false;
  const std::uint64_t context = driver_.current_context();
  const std::uint64_t its = stream.context != 0 ? stream.context : driver_.context(stream);
  if (context == 0 || its != context) return false;
  const bool slices = gate_.permit().slices.wanted.load(std::memory_order_relaxed) != 0;
  const ReadyForm& form = slices ? kernel.slice : kernel.form(blocks(call));
  if (form.function == nullptr) return false;
  const std::uint32_t resident = kernel.resident(form, call.block[0] * call.block[1] * call.block[2],
                                                 call.shared_bytes + form.form.shared_bytes);
  if (resident == 0 && &form != &kernel.prologue) return false;
  if (uses_.needs_much_local(form.function)) return false;
  auto formed = FormedLaunch::of(call, handle(stream), kernel, form, resident);
  if (formed == nullptr) return false;
  // One in slices is measured by them.
  const bool measured = !slices && take == TakeForms::worth && begins(kernel, stream);
  const bool launched = keeper_.launch(context, stream, std::move(formed));
  if (measured) kernel.times.ends(handle(stream), blocks(call));
  return launched;
}

void Forms::something_unloaded() {
  uses_.unloaded();
  DriverPort::functions_change();
}

void Forms::context_goes() {
  uses_.forget();
  DriverPort::functions_change();
}

void Forms::first_launch(void* function, FormedKernel* kernel) {
  const RelaxedCapture relaxed;
  const auto its = static_cast<CUfunction>(function);
  if (!uses_.note(function, its)) load(its, true);
  if (kernel == nullptr) return;
  for (const ReadyForm* form : kernel->all())
    if (form->function != nullptr) load(form->function, kernel->of_library);
  load(kernel->report, kernel->of_library);
  if (const auto bytes = most_shared(function)) {
    for_each_form(*kernel, std::nullopt, [&](const ReadyForm& form, std::optional<CUdevice> device) {
      if (form.form.shared_bytes != 0) allow_shared(form, *bytes, device);
    });
    DriverPort::functions_change();
  }
  if (taken() != TakeForms::none) keeper_.prepare(driver_.current_context());
}

// Into the current context: a later first launch would wait for all of its work, also for held streams. A
// CUkernel cannot be loaded, but its function in the context can.
void Forms::load(CUfunction handle, bool of_library) {
  CUfunction function = handle;
  if (of_library && cuda.cuKernelGetFunction(&function, reinterpret_cast<CUkernel>(handle)) != CUDA_SUCCESS)
    return;
  if (cuda_func_load() != nullptr) cuda_func_load()(function);
  uses_.note(handle, function);
}

std::unique_ptr<live::LaunchPort> Forms::open(std::uint64_t context) {
  if (most_streams() == 0) return nullptr;  // no launch of it could take a form
  return DriverPort::open(reinterpret_cast<CUcontext>(context));
}

bool Forms::blocks(const live::StreamName& stream) {
  unsigned flags = CU_STREAM_NON_BLOCKING;
  return cuda.cuStreamGetFlags(handle(stream), &flags) == CUDA_SUCCESS &&
         (flags & CU_STREAM_NON_BLOCKING) == 0;
}

void Forms::give_back(live::Driver::Event event) {
  const RelaxedCapture relaxed;
  cuda.cuEventDestroy_v2(static_cast<CUevent>(event));
}

// Measured: a stream that gets work gets the queue in which the fewest others stand, of whatever priority.
// One queue is left for a stream that waited for one in vain.
std::size_t Forms::most_streams() {
  constexpr std::size_t kUsual = 8, kUnderMps = 2, kMost = 32, kNeeded = DriverPort::kOwnQueues + 1;
  static const std::size_t queues = [] {
    const char* const set = std::getenv("CUDA_DEVICE_MAX_CONNECTIONS");
    const long number = set == nullptr ? 0 : std::strtol(set, nullptr, 10);
    if (number >= 1 && number <= static_cast<long>(kMost)) return static_cast<std::size_t>(number);
    int mps = 0;
    if (cuda.cuDeviceGetAttribute(&mps, CU_DEVICE_ATTRIBUTE_MPS_ENABLED, 0) != CUDA_SUCCESS) mps = 0;
    return mps != 0 ? kUnderMps : kUsual;
  }();
  return queues > kNeeded ? queues - kNeeded : 0;
}

void Forms::thread_begins() { driver_.helper_begins(); }

}  // namespace gangway::intercept
