#include "experiments/results/reproduction.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "experiments/library/build.hpp"
#include "models/error.hpp"

namespace gangway {
namespace {

namespace fs = std::filesystem;

std::string program_called(const std::string& version, const std::string& commit) {
  return fmt::format("gangway {}{}", version.empty() ? "of an unknown version" : version,
                     commit.empty() ? "" : ", commit " + commit);
}

std::string counted_files(std::size_t count) {
  return fmt::format("{} file{}", count, count == 1 ? "" : "s");
}

}  // namespace

std::optional<KeptRun> read_kept_run(const std::string& given) {
  std::error_code error;
  if (!fs::is_regular_file(given, error)) return std::nullopt;
  auto manifest = read_manifest_file(given);
  if (!manifest) return std::nullopt;
  return KeptRun{given, std::move(*manifest)};
}

Reproduction reproduction_of(const KeptRun& kept, const fs::path& out) {
  const Manifest made = read_manifest_of_any(out);
  Reproduction found;
  found.other_configuration = made.key.identity != kept.manifest.key.identity ||
                              made.key.world != kept.manifest.key.world ||
                              made.key.points != kept.manifest.key.points;
  found.other_program = made.key.program != kept.manifest.key.program;
  const ResultFiles none, &was = kept.manifest.files ? *kept.manifest.files : none,
                          &is = made.files ? *made.files : none;
  for (const auto& [name, facts] : was) {
    const auto now = is.find(name);
    if (now != is.end())
      (now->second == facts ? found.same : found.different).push_back(name);
    else if (!name.starts_with("trace/"))
      found.missing.push_back(name);
    const fs::path beside = kept.file.parent_path() / name;
    if (fs::is_regular_file(beside) && facts_of(beside) != facts) found.damaged.push_back(name);
  }
  return found;
}

std::vector<std::string> described(const Reproduction& found, const KeptRun& kept) {
  std::vector<std::string> said;
  const std::string manifest = kept.file.string();
  if (found.other_configuration)
    said.push_back(
        fmt::format("the configuration is not that of {}: it was changed, or this "
                    "version reads it differently",
                    manifest));
  else if (found.holds())
    said.push_back(fmt::format("the same bytes as {} lists: {}", manifest, counted_files(found.same.size())));
  else if (found.same.size() + found.different.size() + found.missing.size() == 0)
    said.push_back(fmt::format("{} lists no files to compare with", manifest));
  if (!found.other_configuration && !found.different.empty())
    said.push_back(fmt::format("other bytes than {} lists, in {} of {}: {}", manifest, found.different.size(),
                               counted_files(found.same.size() + found.different.size()),
                               fmt::join(found.different, ", ")));
  if (!found.other_configuration && !found.missing.empty())
    said.push_back(fmt::format("listed by {} but not made: {}", manifest, fmt::join(found.missing, ", ")));
  if (found.other_program)
    said.push_back(fmt::format(
        "{} was written by {}; this is {}{}", manifest,
        program_called(kept.manifest.version, kept.manifest.commit),
        program_called(build_version(), build_commit()),
        kept.manifest.version == build_version() && kept.manifest.commit == build_commit() ? ", another build"
                                                                                           : ""));
  if (!found.damaged.empty())
    said.push_back(fmt::format("changed since {} was written: {}", manifest, fmt::join(found.damaged, ", ")));
  return said;
}

}  // namespace gangway
