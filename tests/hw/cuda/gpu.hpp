// Whether there is a GPU; says once, in one line, when there is none and these tests are skipped.
#pragma once

#include <cstdio>

#include "hw/cuda/device_facts.hpp"
#include "models/error.hpp"

namespace gangway::testing {

inline bool have_gpu() {
  static const bool have = [] {
    try {
      describe_cuda_device(0);
      return true;
    } catch (const RunError& error) {
      std::printf("skipped: %s\n", error.what());
      return false;
    }
  }();
  return have;
}

}  // namespace gangway::testing
