#include "hw/live/gpus/gpu_list.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <sstream>

#include "hw/child_process.hpp"
#include "models/error.hpp"
#include "models/gpu_set.hpp"

namespace gangway::live {
namespace {

struct Listed {
  char why_not[128] = {};
  std::uint32_t count = 0;
  struct {
    GpuUuid uuid;
    std::uint64_t memory = 0;
    char name[64] = {};
  } gpu[kMostGpus];
};

template <typename... A>
bool ask_driver(void* driver, const char* symbol, A... arguments) {
  const auto function = reinterpret_cast<int (*)(A...)>(dlsym(driver, symbol));
  return function != nullptr && function(arguments...) == 0;
}

Listed list_of_driver() {
  Listed listed;
  const auto fails = [&](const std::string& why) {
    std::strncpy(listed.why_not, why.c_str(), sizeof listed.why_not - 1);
    return listed;
  };
  void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (driver == nullptr) return fails(std::string("no CUDA driver found: ") + dlerror());
  int count = 0;
  if (!ask_driver(driver, "cuInit", 0U) || !ask_driver(driver, "cuDeviceGetCount", &count) || count == 0)
    return fails("the CUDA driver has no GPU");
  listed.count = static_cast<std::uint32_t>(std::min<int>(count, kMostGpus));
  for (int g = 0; g < static_cast<int>(listed.count); ++g) {
    auto& gpu = listed.gpu[g];
    std::size_t memory = 0;
    if (!ask_driver(driver, "cuDeviceGetUuid_v2", gpu.uuid.data(), g) ||
        !ask_driver(driver, "cuDeviceTotalMem_v2", &memory, g) ||
        !ask_driver(driver, "cuDeviceGetName", static_cast<char*>(gpu.name),
                    static_cast<int>(sizeof gpu.name) - 1, g))
      return fails(fmt::format("the CUDA driver does not say what GPU {} is", g));
    gpu.memory = memory;
  }
  return listed;
}

}  // namespace

std::string text_of(const GpuUuid& uuid) {
  if (uuid == kNoGpu) return {};
  std::string text = "GPU-";
  for (std::size_t b = 0; b < uuid.size(); ++b)
    text += fmt::format("{}{:02x}", b == 4 || b == 6 || b == 8 || b == 10 ? "-" : "", uuid[b]);
  return text;
}

std::vector<GpuFacts> gpus_of_driver() {
  std::optional<Listed> told = asked_in_child(list_of_driver);
  if (!told) throw RunError("the CUDA driver does not say which GPUs there are");
  Listed& listed = *told;
  listed.why_not[sizeof listed.why_not - 1] = '\0';
  if (listed.why_not[0] != '\0') throw RunError(listed.why_not);
  std::vector<GpuFacts> all;
  for (std::uint32_t g = 0; g < std::min<std::uint32_t>(listed.count, kMostGpus); ++g)
    all.push_back({g, listed.gpu[g].uuid, listed.gpu[g].name, listed.gpu[g].memory});
  return all;
}

bool one_gpu(const std::string& list) { return list.find(',') == std::string::npos && list != "all"; }

std::vector<GpuFacts> chosen_gpus(const std::string& option, const std::string& list,
                                  const std::vector<GpuFacts>& all) {
  if (list == "all") return all;
  const auto refuse = [&](const std::string& found) {
    throw InputError(
        {option, 0}, "gpu", found,
        fmt::format("all, or different numbers from 0 to {} with commas between them", all.size() - 1));
  };
  std::vector<GpuFacts> chosen;
  std::istringstream parts(list + ",");
  for (std::string part; std::getline(parts, part, ',');) {
    unsigned number = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), number);
    if (error != std::errc() || end != part.data() + part.size() || number >= all.size()) refuse(quote(part));
    if (std::any_of(chosen.begin(), chosen.end(), [&](const GpuFacts& g) { return g.number == number; }))
      refuse(fmt::format("GPU {} a second time", number));
    chosen.push_back(all[number]);
  }
  return chosen;
}

}  // namespace gangway::live
