// A number that was estimated, and how well it is known.
#pragma once

namespace gangway {

// The 95% confidence interval [low, high] of a value, in the value's unit. An end is infinite where the data
// do not bound it.
struct Estimate {
  double value = 0;
  double low = 0, high = 0;
};

}  // namespace gangway
