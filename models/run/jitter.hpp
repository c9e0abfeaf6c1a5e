// Random variation of nominal times.
#pragma once

#include "models/quantity.hpp"
#include "models/random.hpp"

namespace gangway {

// A factor around 1: uniform within `width`, or normal with that sigma, cut at 3 sigma. Draws one (uniform)
// or two (normal) numbers.
double drawn_factor(Stream& random, double width, bool normal);

// The nominal time times the factor, to the nearest ns, at least 1 ns.
Duration drawn_time(Duration nominal, double factor);

}  // namespace gangway
