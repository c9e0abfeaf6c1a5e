#include "experiments/running/client_programs.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>

#include "models/command.hpp"
#include "models/hash.hpp"

namespace gangway {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kMostBytes = 64U << 20U;

using Hashes = std::map<std::string, std::string>;  // by path

void add(const Command& command, const std::string& word, Hashes& hashes) {
  const fs::path file = fs::path(command.folder) / word;
  std::error_code error;
  if (!fs::is_regular_file(file, error) || fs::file_size(file, error) > kMostBytes || error) return;
  if (hashes.count(file.string()) == 0) hashes[file.string()] = facts_of(file).sha256;
}

void add(const Command& command, Hashes& hashes) {
  const auto& words = command.words;
  if (words.front().find('/') != std::string::npos) add(command, words.front(), hashes);
  const auto argument = std::find_if(words.begin() + 1, words.end(),
                                     [](const std::string& word) { return !word.starts_with('-'); });
  if (argument != words.end()) add(command, *argument, hashes);
}

}  // namespace

std::string hash_of_programs(const Points& points) {
  Hashes hashes;
  points.each_checked([&](const Point& point) {
    for (const Client& client : point.workload->sample().clients)
      if (client.command && !client.command->words.empty()) add(*client.command, hashes);
  });
  if (hashes.empty()) return "";
  Sha256 hash;
  for (const auto& [path, own] : hashes) hash.add(fs::path(path).filename().string() + " " + own + "\n");
  return hash.hex();
}

}  // namespace gangway
