// The result folder of a study.
#pragma once

#include <string>
#include <vector>

#include "experiments/results/result_parts.hpp"
#include "experiments/studies/study.hpp"

namespace gangway {

// The tables of a study beside the manifest.
std::vector<std::string> study_files(const Study& study);

// When the store has every group: writes the tables, or of a part of results the manifest alone. Returns the
// first lines of summary.csv, of a part none. RunError when something cannot be written.
std::string finish_study(const Study& study, ResultParts& parts, const RunAccount& account);

}  // namespace gangway
