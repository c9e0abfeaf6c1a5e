// The experiment that most tests of experiments start from.
#pragma once

#include <string>

namespace gangway::testing {

inline const std::string kFig4 = GANGWAY_SOURCE_DIR "/experiments/frs/fig4.yaml";

}  // namespace gangway::testing
