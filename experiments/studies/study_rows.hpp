// Reduces all task sets of a study's point and order to rows of the result files.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "experiments/studies/judged_set.hpp"

namespace gangway {

// The files of a study's result folder and their columns.
struct StudyFile {
  const char* name;
  const char* columns;  // after point, order and swept values
};
inline constexpr std::array<StudyFile, 4> kStudyFiles{
    StudyFile{"summary.csv",
              "sets,proven,proven_low,proven_high,met,met_low,met_high,growing,growing_low,growing_high,"
              "unknown"},
    StudyFile{"bounds.csv",
              "bound,sets,bounded,bounded_low,bounded_high,in_time,in_time_low,in_time_high,tasks,ratio_p5,"
              "ratio_p50,ratio_p95,ratio_max,stopped"},
    StudyFile{"tightness.csv", "bound,ratio_from,ratio_to,tasks"}, StudyFile{"tasks.csv", kTaskColumns}};

// The header of a file.
std::string header_of(const StudyFile& file, const Study& study);

// The rows of each file, in the order of kStudyFiles. Shares are of sets; `_low` and `_high` are Wilson's 95%
// interval. Cells without simulation are empty.
using StudyRows = std::array<std::string, kStudyFiles.size()>;
StudyRows rows_of(const Study& study, std::uint32_t point, const std::string& order,
                  const std::vector<JudgedSet>& sets);

}  // namespace gangway
