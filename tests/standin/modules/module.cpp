#include "tests/standin/modules/module.hpp"

#include <dlfcn.h>

#include <cctype>
#include <cstring>

#include "hw/transform/images/fatbin.hpp"
#include "tests/standin/contexts/context.hpp"
#include "tests/standin/engine/environment.hpp"
#include "tests/standin/memory/arena.hpp"
#include "tests/standin/standin.h"

namespace gangway::standin {
namespace {

std::map<const void*, std::weak_ptr<Function>>& functions() {
  static auto* const all = new std::map<const void*, std::weak_ptr<Function>>;
  return *all;
}

void* open_twins() {
  const std::string path = environment_text("STANDIN_KERNELS", "");
  if (path.empty()) return nullptr;
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) environment_error("STANDIN_KERNELS", path, dlerror());
  return library;
}

StandinKernel find_twin(const std::string& entry) {
  static void* const library = open_twins();
  const std::string symbol = "standin_kernel_" + entry;
  void* found = dlsym(RTLD_DEFAULT, symbol.c_str());
  if (found == nullptr && library != nullptr) found = dlsym(library, symbol.c_str());
  require(found != nullptr || interprets(), CUDA_ERROR_NO_BINARY_FOR_GPU);
  return reinterpret_cast<StandinKernel>(found);
}

constexpr std::uint32_t kWrapped = 0x466243b1, kFatbin = 0xba55ed50;
constexpr unsigned kGpu = 90;

template <typename T>
T field(const void* image, std::size_t offset) {
  T value;
  std::memcpy(&value, static_cast<const char*>(image) + offset, sizeof value);
  return value;
}

// Byte by byte: a text may be shorter.
bool begins_with(const void* image, std::uint32_t number) {
  for (std::size_t byte = 0; byte < sizeof number; ++byte)
    if (field<std::uint8_t>(image, byte) != static_cast<std::uint8_t>(number >> 8 * byte)) return false;
  return true;
}

// PTX of the newest target that the device can run. Machine code is none of the stand-in's.
std::string text_in_fatbin(const char* fatbin) {
  const std::size_t bytes = field<std::uint16_t>(fatbin, 6) + field<std::uint64_t>(fatbin, 8);
  std::string found;
  unsigned newest = 0;
  for (const auto& container : transform::containers_in({fatbin, bytes}))
    for (const auto& entry : container.entries) {
      if (entry.kind != transform::EntryKind::ptx || entry.architecture.number < newest ||
          entry.architecture.number > kGpu)
        continue;
      if (auto text = entry.content()) {
        found = std::move(*text);
        newest = entry.architecture.number;
      }
    }
  require(!found.empty(), CUDA_ERROR_NO_BINARY_FOR_GPU);
  return found;
}

std::string text_of(const void* image) {
  require(image != nullptr);
  if (begins_with(image, kWrapped)) image = field<const void*>(image, 8);
  const auto* bytes = static_cast<const char*>(image);
  if (begins_with(image, kFatbin)) return text_in_fatbin(bytes);
  std::size_t start = 0;
  while (std::isspace(static_cast<unsigned char>(bytes[start]))) ++start;
  require(bytes[start] == '.' || bytes[start] == '/', CUDA_ERROR_INVALID_IMAGE);
  return bytes;
}

}  // namespace

Module::~Module() {
  const auto gone = [](const Function* function) {
    remove(function);
    standin::functions().erase(function);
  };
  for (const auto& [name, function] : functions) {
    for (const auto& [where, loaded] : function->in_contexts) gone(loaded.function.get());
    gone(function.get());
  }
  for (const auto& [name, variable] : variables) Arena::get().release(variable.first);
}

std::shared_ptr<Module> load(const void* image, Kind functions_are) {
  const std::string text = text_of(image);
  const auto ptx = read_ptx(text);
  require(ptx.has_value(), CUDA_ERROR_INVALID_PTX);
  require(ptx->target <= kGpu, CUDA_ERROR_INVALID_PTX);
  auto module = std::make_shared<Module>();
  for (const Entry& entry : ptx->entries) {
    auto function = std::make_shared<Function>();
    function->entry = entry;
    function->twin = find_twin(entry.name);
    if (function->twin == nullptr && module->interpreted == nullptr)
      module->interpreted = std::make_unique<Interpreted>(text);
    function->module = module.get();
    enter(function.get(), functions_are);
    functions()[function.get()] = function;
    module->functions[entry.name] = std::move(function);
  }
  const auto on = current_or_none();
  for (const Variable& variable : ptx->variables) {
    const CUdeviceptr address = Arena::get().take(variable.size, on != nullptr ? on->device->ordinal : 0);
    std::memset(reinterpret_cast<void*>(address), 0, variable.size);
    module->variables[variable.name] = {address, variable.size};
  }
  if (module->interpreted != nullptr) {
    std::vector<Interpreted::Variable> placed;
    for (const auto& [name, variable] : module->variables)
      placed.push_back({name, variable.first, variable.second});
    module->interpreted->place(std::move(placed));
  }
  return module;
}

std::shared_ptr<Function> function(CUfunction handle) {
  const auto found = functions().find(handle);
  auto which = found == functions().end() ? nullptr : found->second.lock();
  require(which != nullptr, CUDA_ERROR_INVALID_HANDLE);
  return which;
}

CUfunction function_in(Lock& lock, CUfunction handle, Context& context) {
  static const bool lazy = !environment_text("STANDIN_LAZY", "").empty();
  const std::shared_ptr<Function> kernel = function(handle);
  if (!alive(handle, Kind::kernel)) return handle;
  if (lazy && kernel->in_contexts.count(context.number) == 0) synchronize(lock, context);
  auto& [device, loaded] = kernel->in_contexts[context.number];
  device = context.device->ordinal;
  if (loaded == nullptr) {
    loaded = std::make_shared<Function>();
    loaded->entry = kernel->entry;
    loaded->twin = kernel->twin;
    loaded->module = kernel->module;
    loaded->attributes = kernel->attributes;
    enter(loaded.get(), Kind::function);
    functions()[loaded.get()] = loaded;
  }
  return reinterpret_cast<CUfunction>(loaded.get());
}

}  // namespace gangway::standin
