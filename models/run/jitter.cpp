#include "models/run/jitter.hpp"

#include <algorithm>

namespace gangway {

double drawn_factor(Stream& random, double width, bool normal) {
  const double draw = normal ? std::clamp(random.normal(), -3.0, 3.0) : 2 * random.uniform() - 1;
  return 1 + width * draw;
}

Duration drawn_time(Duration nominal, double factor) {
  // Cut as by floor: what is below 0 is 1 in the end.
  const double ns = static_cast<double>(nominal.ns) * factor + 0.5;
  return {std::max<std::int64_t>(1, static_cast<std::int64_t>(ns))};
}

}  // namespace gangway
