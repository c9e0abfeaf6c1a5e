#include "experiments/studies/study_folder.hpp"

#include <deque>
#include <nlohmann/json.hpp>
#include <string_view>

#include "experiments/studies/study_rows.hpp"

namespace gangway {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostLines = 62;  // of summary.csv that are reported

bool wanted(const StudyFile& file, const Study& study) {
  return std::string_view(file.name) != "tasks.csv" || study.write_tasks;
}

std::string write_study_tables(const Study& study, ResultParts& parts) {
  std::deque<NewFile> files;
  std::string summary = header_of(kStudyFiles[0], study);
  std::size_t lines = 1;
  for (const StudyFile& file : kStudyFiles)
    files.emplace_back(parts.path() / file.name).write(header_of(file, study));
  parts.store().each([&](std::uint64_t number, const Part& part) {
    const Json rows = Json::parse(part.rows);
    for (std::size_t f = 0; f + 1 < files.size(); ++f) files[f].write(rows[f].get<std::string>());
    if (lines++ < kMostLines) summary += rows[0].get<std::string>();
    parts.store().each_text(number, [&](std::string_view text) { files.back().write(text); });
  });
  for (std::size_t f = 0; f < files.size(); ++f)
    if (wanted(kStudyFiles[f], study)) parts.put(kStudyFiles[f].name, files[f]);
  return summary;
}

}  // namespace

std::vector<std::string> study_files(const Study& study) {
  std::vector<std::string> names;
  for (const StudyFile& file : kStudyFiles)
    if (wanted(file, study)) names.emplace_back(file.name);
  return names;
}

std::string finish_study(const Study& study, ResultParts& parts, const RunAccount& account) {
  std::string summary;
  if (parts.key().points.empty()) summary = write_study_tables(study, parts);
  parts.finish(manifest_json(study.name, parts.key(), study.seed, study.configuration, account), false);
  return summary;
}

}  // namespace gangway
