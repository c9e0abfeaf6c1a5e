// How merged results came about: the times and machines of their parts, all together.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "experiments/results/manifest.hpp"

namespace gangway {

class MergedAccount {
 public:
  // Goes on from what text() returned; from nothing where that is empty.
  explicit MergedAccount(const std::string& text);

  void add(const nlohmann::ordered_json& manifest_of_part);
  std::string text() const { return json_.dump(); }
  // The earliest start, the latest end, the sum of seconds, the most threads, and all processors.
  RunAccount run() const;

 private:
  nlohmann::ordered_json json_;
};

// What a manifest says of a real world's machine.
Machine machine_of(const nlohmann::ordered_json& manifest);

}  // namespace gangway
