// Request times from other programs' tables, such as traces of a service.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "models/input/field.hpp"

namespace gangway {

// Reads the keys of an `arrivals` with a `file` (experiments/README.md#arrivals): times in order, relative to
// the client's first release. Throws InputError, at the mapping's keys or with the table's file, line and
// column.
std::shared_ptr<const std::vector<Duration>> read_arrival_times(Mapping& arrivals);

struct Timestamp {
  std::int64_t ns = 0;  // since 1970, rounded to nearest
  bool zoned = false;   // it tells its offset from UTC; else it is taken for UTC
};

// ISO 8601 date and time, such as 2023-11-16 18:15:46.6805900 or 2024-05-10T00:00:00.009930+00:00. None for
// anything else.
std::optional<Timestamp> parse_timestamp(std::string_view text);

}  // namespace gangway
