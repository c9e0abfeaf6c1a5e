#include "hw/driver_facts.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>

#include "hw/child_process.hpp"
#include "hw/program.hpp"
#include "models/error.hpp"
#include "models/gpu_set.hpp"

namespace gangway {
namespace {

struct Told {
  char why_not[256] = {}, library[1024] = {};
  int cuda = 0, gpus = 0;
  struct {
    char name[256] = {};
    unsigned char uuid[16] = {};
    std::uint64_t memory = 0;
  } gpu[kMostGpus];
};

template <std::size_t size>
void copy(char (&to)[size], const std::string& text) {
  std::strncpy(to, text.c_str(), size - 1);
}

template <typename... A>
bool ask_driver(void* driver, const char* symbol, A... arguments) {
  const auto function = reinterpret_cast<int (*)(A...)>(dlsym(driver, symbol));
  return function != nullptr && function(arguments...) == 0;
}

Told told_by_driver() {
  Told told;
  void* const driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
  if (driver == nullptr) {
    copy(told.why_not, std::string("no CUDA driver found: ") + dlerror());
    return told;
  }
  copy(told.library, path_of_library(driver));
  if (!ask_driver(driver, "cuDriverGetVersion", &told.cuda)) told.cuda = 0;
  int count = 0;
  if (!ask_driver(driver, "cuInit", 0U) || !ask_driver(driver, "cuDeviceGetCount", &count)) return told;
  for (; told.gpus < std::min<int>(count, kMostGpus); ++told.gpus) {
    auto& gpu = told.gpu[told.gpus];
    if (!ask_driver(driver, "cuDeviceGetName", static_cast<char*>(gpu.name),
                    static_cast<int>(sizeof gpu.name) - 1, told.gpus))
      break;
    std::size_t memory = 0;
    if (ask_driver(driver, "cuDeviceTotalMem_v2", &memory, told.gpus)) gpu.memory = memory;
    if (!ask_driver(driver, "cuDeviceGetUuid_v2", static_cast<unsigned char*>(gpu.uuid), told.gpus))
      std::memset(gpu.uuid, 0, sizeof gpu.uuid);
  }
  return told;
}

}  // namespace

DriverFacts driver_facts() {
  const auto told = asked_in_child(told_by_driver);
  if (!told) throw RunError("the CUDA driver does not say which GPUs there are");
  if (told->why_not[0] != '\0') throw RunError(told->why_not);
  DriverFacts facts{told->library, told->cuda, driver_module_version(), {}};
  for (int g = 0; g < told->gpus; ++g) {
    DriverGpu& gpu = facts.gpus.emplace_back(DriverGpu{told->gpu[g].name, {}, told->gpu[g].memory});
    std::copy(std::begin(told->gpu[g].uuid), std::end(told->gpu[g].uuid), gpu.uuid.begin());
  }
  return facts;
}

std::string driver_module_version() {
  std::ifstream module("/sys/module/nvidia/version");
  if (std::string number; module >> number) return number;
  std::ifstream in("/proc/driver/nvidia/version");
  std::string line;
  std::getline(in, line);
  // "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build ..."
  for (std::size_t from = 0; from < line.size();) {
    const std::size_t to = std::min(line.find(' ', from), line.size());
    const std::string part = line.substr(from, to - from);
    if (part.find('.') != std::string::npos && part.find_first_not_of("0123456789.") == std::string::npos)
      return part;
    from = to + 1;
  }
  return {};
}

std::string cuda_version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

}  // namespace gangway
