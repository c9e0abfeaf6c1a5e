// A result folder: parts while the run goes on, which a later call with the same configuration takes up, and
// the final files.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "experiments/experiment.hpp"
#include "experiments/files.hpp"
#include "experiments/group.hpp"
#include "experiments/manifest.hpp"
#include "experiments/result_parts.hpp"
#include "experiments/starved_cells.hpp"
#include "models/world.hpp"

namespace gangway {

class ResultFolder {
 public:
  // As ResultParts opens it.
  ResultFolder(std::filesystem::path path, const Experiment& experiment, const std::string& world,
               bool force);

  const std::filesystem::path& path() const { return parts_.path(); }
  bool complete() const { return parts_.complete(); }  // nothing is left to do

  std::optional<GroupRows> part(std::size_t group) const;
  std::filesystem::path job_part(std::size_t group) const;
  void keep(std::size_t group, const GroupRows& rows) const;

  // Writes the final files from all groups' rows (point by point, policies in order) and removes the parts.
  // Returns the verdicts on the published values.
  std::vector<Verdict> finish(const std::vector<GroupRows>& groups, const RunAccount& account);

 private:
  std::string text_of_summary(const std::vector<GroupRows>& groups) const;
  std::string text_of_clients(const std::vector<GroupRows>& groups) const;
  std::string text_of_published(const std::vector<Verdict>& verdicts, const StarvedCells& starved) const;
  std::string text_of_manifest(const RunAccount& account) const;
  template <typename Visit>
  void each_group(const std::vector<GroupRows>& groups, Visit visit) const;

  const Experiment* experiment_;
  ResultParts parts_;
};

}  // namespace gangway
