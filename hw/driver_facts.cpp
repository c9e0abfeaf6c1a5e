#include "hw/driver_facts.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <fstream>

#include "hw/program.hpp"
#include "models/error.hpp"

namespace gangway {

DriverFacts driver_facts() {
  void* driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
  if (driver == nullptr) throw RunError(std::string("no CUDA driver found: ") + dlerror());
  DriverFacts facts;
  facts.library = path_of_library(driver);
  facts.module = driver_module_version();
  const auto version_of = reinterpret_cast<int (*)(int*)>(dlsym(driver, "cuDriverGetVersion"));
  if (version_of == nullptr || version_of(&facts.cuda) != 0) facts.cuda = 0;
  const auto init = reinterpret_cast<int (*)(unsigned)>(dlsym(driver, "cuInit"));
  const auto count_of = reinterpret_cast<int (*)(int*)>(dlsym(driver, "cuDeviceGetCount"));
  const auto name_of = reinterpret_cast<int (*)(char*, int, int)>(dlsym(driver, "cuDeviceGetName"));
  int count = 0;
  if (init == nullptr || count_of == nullptr || name_of == nullptr || init(0) != 0 || count_of(&count) != 0)
    return facts;
  for (int gpu = 0; gpu < count; ++gpu) {
    char name[256] = {};
    if (name_of(name, sizeof name - 1, gpu) != 0) break;
    facts.gpus.emplace_back(name);
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
