// How the implementation of a driver call ends it with an error.
#pragma once

#include <cuda.h>

namespace gangway::standin {

struct Failure {
  CUresult result;
};

[[noreturn]] inline void fail(CUresult result) { throw Failure{result}; }

inline void require(bool condition, CUresult otherwise = CUDA_ERROR_INVALID_VALUE) {
  if (!condition) fail(otherwise);
}

}  // namespace gangway::standin
