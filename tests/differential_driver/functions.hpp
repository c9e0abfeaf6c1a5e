// The driver's functions by each way that a program has to them: linked, by cuGetProcAddress, by dlsym, and
// those whose NULL stream is the thread's own.
#pragma once

#include <cuda.h>
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>

namespace gangway::differential {

using Random = std::mt19937_64;

inline unsigned below(Random& random, unsigned bound) { return static_cast<unsigned>(random() % bound); }

// The function of this exported name, looked up in a way drawn at random.
inline void* look_up(Random& random, const char* base, const char* exported) {
  void* found = nullptr;
  if (below(random, 2) == 0) {
    CUdriverProcAddressQueryResult status{};
    const bool own = std::string(exported).ends_with("_ptsz") || std::string(exported).ends_with("_ptds");
    const cuuint64_t flags =
        own ? CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM : CU_GET_PROC_ADDRESS_LEGACY_STREAM;
    if (cuGetProcAddress(base, &found, 13000, flags, &status) != CUDA_SUCCESS) found = nullptr;
  } else {
    found = dlsym(RTLD_DEFAULT, exported);
  }
  if (found == nullptr) {
    std::fprintf(stderr, "no %s\n", exported);
    std::exit(1);
  }
  return found;
}

}  // namespace gangway::differential
