#include "tests/input/examples.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "experiments/published/printed.hpp"
#include "models/input/document.hpp"
#include "tests/catch.hpp"

namespace gangway::testing {
namespace {

namespace fs = std::filesystem;

std::string read_text(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

// Where the repository is, also on a machine to which the tests were carried.
fs::path repository() {
  const char* set = std::getenv("GANGWAY_DATA");
  return set != nullptr ? set : GANGWAY_SOURCE_DIR;
}

// The YAML examples on a page.
std::vector<std::string> code_blocks(const std::string& page) {
  const std::string opening = "```yaml\n";
  std::vector<std::string> blocks;
  for (std::size_t at = page.find(opening); at != std::string::npos; at = page.find(opening, at)) {
    at += opening.size();
    blocks.push_back(page.substr(at, page.find("```", at) - at));
  }
  return blocks;
}

std::vector<std::string> readme_examples() {
  return code_blocks(read_text(repository() / "experiments/README.md"));
}

// Whether it is fine only where it lies.
bool names_neighbours(const std::string& text) {
  return text.find("recording: ") != std::string::npos ||
         text.find("\nworkload: programs.yaml") != std::string::npos ||
         text.find("\nworkload: effisha-programs.yaml") != std::string::npos ||
         text.find("\nworkload: share-a-gpu-programs.yaml") != std::string::npos;
}

std::vector<std::string> read_all() {
  const fs::path root = repository();
  std::vector<fs::path> files;
  for (const char* folder : {"experiments", "workloads", "models/devices"})
    for (const auto& entry : fs::recursive_directory_iterator(root / folder))
      if (entry.path().extension() == ".yaml" &&
          entry.path().filename() != kPrintedList)  // fine only where it lies
        files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::vector<std::string> texts = readme_examples();
  for (const fs::path& file : files)
    if (std::string text = read_text(file); !names_neighbours(text)) texts.push_back(std::move(text));
  texts.push_back(whole_example());
  texts.push_back(
      "kind: taskset\nversion: 1\nname: ring\nscheduler: round-robin\nquantum: 4 ms\ntasks:\n"
      "  - {name: a, c: 10 ms, e: 1 ms, l: 1/3 ms}\n  - {name: b, c: 3 ms, e: 0 us, l: 1 ms, T: 1 s}\n");
  texts.push_back(
      "kind: workload\nversion: 1\nname: drawn\n"
      "generator: {name: log-uniform, params: {clients: 4, kernels: 2, longest: 5 ms, gap: 0 ms}}\n");
  return texts;
}

}  // namespace

std::string whole_example() {
  const auto blocks = readme_examples();
  REQUIRE(blocks.size() == 10);
  Node experiment = parse_yaml(blocks[2], "README.md");
  // Its policies own the GPU, and kernels that never end are for those that do not.
  std::string workload = blocks[0];
  const std::string endless = ", never_ends: 7";
  REQUIRE(workload.find(endless) != std::string::npos);
  workload.erase(workload.find(endless), endless.size());
  experiment.put("workload", parse_yaml(workload, "README.md"));
  experiment.put("device", parse_yaml(blocks[1], "README.md"));
  return experiment.json().dump(1);
}

const std::vector<std::string>& right_inputs() {
  static const std::vector<std::string> texts = read_all();
  return texts;
}

}  // namespace gangway::testing
