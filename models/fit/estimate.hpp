// An estimate with its confidence interval.
#pragma once

namespace gangway {

// The 95% confidence interval [low, high], in the value's unit. An end that the data do not bound is
// infinite.
struct Estimate {
  double value = 0;
  double low = 0, high = 0;
};

}  // namespace gangway
