#include "hw/driver_facts.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <fstream>

#include "hw/child_process.hpp"
#include "hw/program.hpp"
#include "models/error.hpp"

namespace gangway {

namespace {

constexpr int kMostListed = 64, kLongestName = 256;

struct Listed {
  int count = 0;
  char name[kMostListed][kLongestName] = {};
};

void* driver() { return dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL); }

Listed list_of_driver() {
  Listed listed;
  void* const from = driver();
  const auto init = reinterpret_cast<int (*)(unsigned)>(dlsym(from, "cuInit"));
  const auto count_of = reinterpret_cast<int (*)(int*)>(dlsym(from, "cuDeviceGetCount"));
  const auto name_of = reinterpret_cast<int (*)(char*, int, int)>(dlsym(from, "cuDeviceGetName"));
  int count = 0;
  if (init == nullptr || count_of == nullptr || name_of == nullptr || init(0) != 0 || count_of(&count) != 0)
    return listed;
  for (int gpu = 0; gpu < std::min(count, kMostListed); ++gpu) {
    if (name_of(listed.name[gpu], kLongestName - 1, gpu) != 0) break;
    ++listed.count;
  }
  return listed;
}

}  // namespace

DriverFacts driver_facts() {
  void* const loaded = driver();
  if (loaded == nullptr) throw RunError(std::string("no CUDA driver found: ") + dlerror());
  DriverFacts facts;
  facts.library = path_of_library(loaded);
  facts.module = driver_module_version();
  const auto version_of = reinterpret_cast<int (*)(int*)>(dlsym(loaded, "cuDriverGetVersion"));
  if (version_of == nullptr || version_of(&facts.cuda) != 0) facts.cuda = 0;
  // A driver that was initialised here would be of no use to forked children.
  const auto listed = asked_in_child(list_of_driver);
  if (!listed) throw RunError("the CUDA driver does not say which GPUs there are");
  for (int gpu = 0; gpu < listed->count; ++gpu) facts.gpus.emplace_back(listed->name[gpu]);
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
