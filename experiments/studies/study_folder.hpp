// The result folder of a study.
#pragma once

#include <string>
#include <vector>

#include "experiments/results/result_parts.hpp"
#include "experiments/studies/study.hpp"

namespace gangway {

// The tables of a study, without the manifest.
std::vector<std::string> study_files(const Study& study);

// When the store has every group: writes the tables, or for a part of results only the manifest. Returns the
// first lines of summary.csv; empty for a part. RunError if writing fails.
std::string finish_study(const Study& study, ResultParts& parts, const RunAccount& account);

}  // namespace gangway
