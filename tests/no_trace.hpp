// For runs whose timeline no test looks at.
#pragma once

#include "models/trace.hpp"

namespace gangway::testing {

struct NoTrace : TraceSink {
  void record(const Record&) override {}
};

}  // namespace gangway::testing
