// What the CUDA driver of this machine says of itself and its GPUs. It is loaded when it is asked for, so
// that nothing needs one to start.
#pragma once

#include <string>
#include <vector>

namespace gangway {

struct DriverFacts {
  std::string library;  // its file
  int cuda = 0;         // the newest CUDA that it knows, as CUDA writes it: 13000; 0: it does not say
  std::string module;   // the kernel module's version: "580.159.04"; empty: not known
  std::vector<std::string> gpus;  // names, by number
};

// RunError where there is no driver to load. A driver that does not start, as there is no GPU, has none.
DriverFacts driver_facts();

// Of the kernel module alone: "580.159.04"; empty where there is none.
std::string driver_module_version();

// 13000 as people write it: "13.0".
std::string cuda_version_text(int version);

}  // namespace gangway
