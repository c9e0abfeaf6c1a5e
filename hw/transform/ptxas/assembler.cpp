#include "hw/transform/ptxas/assembler.hpp"

#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "hw/program.hpp"
#include "hw/scratch_folder.hpp"
#include "hw/transform/ptxas/captured_program.hpp"
#include "models/error.hpp"

namespace gangway::transform {
namespace {

namespace fs = std::filesystem;

bool is_this_program(const fs::path& file) {
  std::error_code none;
  return fs::equivalent(file, "/proc/self/exe", none);
}

bool is_executable(const fs::path& file) {
  return !path_of_program(file.string()).empty() && !is_this_program(file);
}

std::vector<fs::path> folders_of_path() {
  const char* const path = std::getenv("PATH");
  std::istringstream folders(path != nullptr ? path : "/bin:/usr/bin");
  std::vector<fs::path> out;
  for (std::string each; std::getline(folders, each, ':');) out.emplace_back(each.empty() ? "." : each);
  return out;
}

// Where packages of a Python environment keep it; `prefix` is the environment's folder.
void add_python(const fs::path& prefix, std::vector<fs::path>& out) {
  std::error_code none;
  std::set<fs::path> versions;
  for (const auto& each : fs::directory_iterator(prefix / "lib", none))
    if (each.path().filename().string().starts_with("python3")) versions.insert(each.path());
  for (const fs::path& version : versions)
    for (const char* packages : {"site-packages", "dist-packages"})
      for (const char* place : {"triton/backends/nvidia/bin", "nvidia/cu13/bin", "nvidia/cuda_nvcc/bin"})
        out.push_back(version / packages / place / "ptxas");
}

std::vector<fs::path> places() {
  std::vector<fs::path> out;
  for (const fs::path& folder : folders_of_path()) out.push_back(folder / "ptxas");
  out.emplace_back("/usr/local/cuda/bin/ptxas");
  if (const char* const environment = std::getenv("VIRTUAL_ENV")) add_python(environment, out);
  const std::string python = path_of_program("python3");
  if (!python.empty()) add_python(fs::path(python).parent_path().parent_path(), out);
  return out;
}

// "Cuda compilation tools, release 13.0, V13.0.88, Build cuda_13.0...": its last two lines.
std::string identity_of(const std::string& program) {
  std::istringstream lines(output_of_program({program, "--version"}));
  std::string all;
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("Cuda compilation") || line.starts_with("Build"))
      all += (all.empty() ? "" : ", ") + line;
  return all;
}

std::string first_complaint(const std::string& text) {
  std::istringstream lines(text);
  std::string first;
  for (std::string line; std::getline(lines, line);) {
    if (first.empty() && !line.empty()) first = line;
    if (line.find("error") != std::string::npos || line.find("fatal") != std::string::npos) return line;
  }
  return first;
}

}  // namespace

std::optional<Assembler> find_assembler() {
  if (const char* const chosen = std::getenv("GANGWAY_PTXAS"); chosen != nullptr && *chosen != '\0') {
    const std::string identity = is_executable(chosen) ? identity_of(chosen) : std::string();
    if (identity.empty())
      throw InputError({"GANGWAY_PTXAS", 0}, "GANGWAY_PTXAS", quote(chosen), "NVIDIA's ptxas");
    return Assembler{path_of_program(chosen), identity};
  }
  for (const fs::path& place : places()) {
    if (!is_executable(place)) continue;
    const std::string identity = identity_of(place.string());
    if (!identity.empty()) return Assembler{place.string(), identity};
  }
  return std::nullopt;
}

Assembled assemble(const Assembler& assembler, std::string_view ptx, Architecture architecture,
                   const std::vector<std::string>& options, const std::atomic<bool>* interrupted) {
  const ScratchFolder folder;
  const std::string in = folder.path() + "/module.ptx", out = folder.path() + "/module.cubin";
  std::ofstream(in, std::ios::binary) << ptx;
  std::vector<std::string> command{assembler.program, "-arch=" + architecture.name(), in, "-o", out};
  command.insert(command.end(), options.begin(), options.end());
  const Captured done = run_captured(command, interrupted);
  Assembled result;
  result.interrupted = done.interrupted;
  if (done.started && WIFEXITED(done.status) && WEXITSTATUS(done.status) == 0) {
    std::ostringstream cubin;
    cubin << std::ifstream(out, std::ios::binary).rdbuf();
    result.cubin = std::move(cubin).str();
  }
  if (!result.cubin.empty()) return result;
  result.rejected = done.started && WIFEXITED(done.status) && WEXITSTATUS(done.status) != 0;
  result.said = done.error + done.out;
  std::string text = first_complaint(result.said);
  const std::size_t at = text.find(in);
  if (at != std::string::npos) text.replace(at, in.size(), "the rewritten text");
  result.trouble = !text.empty() ? text : assembler.program + " did not make a cubin";
  return result;
}

}  // namespace gangway::transform
