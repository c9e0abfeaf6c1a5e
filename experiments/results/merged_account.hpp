// Combined times and machines of merged parts.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "experiments/results/manifest.hpp"

namespace gangway {

class MergedAccount {
 public:
  // Continues from a previous text(); from nothing if that is empty.
  explicit MergedAccount(const std::string& text);

  void add(const nlohmann::ordered_json& manifest_of_part);
  std::string text() const { return json_.dump(); }
  // Earliest start, latest end, sum of seconds, most threads, and all processors.
  RunAccount run() const;

 private:
  nlohmann::ordered_json json_;
};

// The real world's machine in a manifest.
Machine machine_of(const nlohmann::ordered_json& manifest);

}  // namespace gangway
