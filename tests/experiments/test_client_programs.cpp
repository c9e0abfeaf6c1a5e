#include <nlohmann/json.hpp>

#include "experiments/results/files.hpp"
#include "experiments/results/manifest.hpp"
#include "experiments/running/client_programs.hpp"
#include "tests/catch.hpp"
#include "tests/scratch_folder.hpp"

using namespace gangway;
using testing::ScratchFolder;
namespace fs = std::filesystem;

namespace {

// Of an experiment with one client of this command.
std::string hash_of(const fs::path& folder, const std::string& command) {
  const fs::path file = folder / "live.yaml";
  write_file(file, R"(kind: experiment
version: 1
name: live
workload:
  kind: workload
  version: 1
  name: one
  clients:
    - {name: a, command: )" +
                       command + R"(, repeat: {jobs: 3, think: 1 ms}}
device: h100
mechanism: ideal
policies: [{name: piv, grant: job}]
)");
  return hash_of_programs(read_experiment(file.string(), {}).points);
}

}  // namespace

TEST_CASE("a client's program and its script are known by their content", "[programs]") {
  const ScratchFolder scratch;
  const fs::path folder = scratch / "in";
  make_folder(folder / "bin");
  const std::string command =
      GENERATE("[python3, serve.py]", "[python3, -u, serve.py, --batch, 8]", "{run: [bin/serve, 3]}",
               "{run: [./serve], folder: bin}", "[bin/wait, serve.py]");
  CAPTURE(command);
  CHECK(hash_of(folder, command).empty());
  const fs::path program = command.find(".py") != std::string::npos ? "serve.py" : "bin/serve";
  write_file(folder / program, "one");
  const std::string one = hash_of(folder, command);
  CHECK_FALSE(one.empty());
  CHECK(hash_of(folder, command) == one);
  write_file(folder / program, "two");
  CHECK(hash_of(folder, command) != one);
}

TEST_CASE("what a program is called in a path, its options and its output are no programs", "[programs]") {
  const ScratchFolder scratch;
  const fs::path folder = scratch / "in";
  make_folder(folder);
  for (const char* name : {"python3", "-u", "out.log", "serve"}) write_file(folder / name, "text");
  for (const char* command : {"[python3]", "[python3, -u]", "[python3, -m, serving, out.log]"}) {
    CAPTURE(command);
    CHECK(hash_of(folder, command).empty());
  }
}

TEST_CASE("results of programs that have changed are refused, those of a simulation know none",
          "[programs]") {
  ResultKey before{"i", "live", "p", "m", ""}, now = before;
  CHECK_FALSE(before.difference(now));
  CHECK_FALSE(before.json().contains("client_programs"));
  now.client_programs = "h";
  CHECK(before.difference(now) == "results of clients' programs that have changed");
  CHECK_FALSE(ResultKey::from_json(now.json()).difference(now));
}
