// One stay of a kernel on a GPU, from the launch order to the report that it left.
#pragma once

#include <optional>

#include "models/identity.hpp"
#include "models/quantity.hpp"
#include "models/run/client_run.hpp"

namespace gangway {

struct Launch {
  enum class Phase : std::uint8_t { ordered, running, gone };  // gone: its pending work is being read

  LaunchId id = {};
  RunningKernel kernel = {};
  DeviceId gpu = {};
  BlockRange range = {};
  Time ordered = {};
  std::optional<Time> evict_ordered = {};
  Time began = {}, ended = {};  // first and last block; valid from `running` and `gone` on
  Phase phase = Phase::ordered;
};

}  // namespace gangway
