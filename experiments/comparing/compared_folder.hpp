// A result folder read for comparison.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "experiments/comparing/compare.hpp"

namespace gangway::compared {

using GroupKey = std::pair<std::uint32_t, std::string>;  // point, policy
using ClientKey = std::tuple<std::uint32_t, std::string, std::string>;

struct SummaryRow {
  int line = 0;
  std::vector<std::string> swept;
  std::vector<Compared> values;  // of one side
  std::vector<std::string> starved;
  std::string error;

  bool has_result() const;
};

struct Folder {
  std::filesystem::path path;
  ComparedFolder about;
  std::vector<std::string> swept;  // columns
  std::map<GroupKey, SummaryRow> summary;
  std::map<ClientKey, std::vector<Compared>> clients;  // of one side
};

// Throws InputError like compare_folders().
Folder read_folder(const std::filesystem::path& path);

// Combines both sides of a row.
std::vector<Compared> both_sides(const std::vector<Compared>& predicted,
                                 const std::vector<Compared>& measured);

}  // namespace gangway::compared
