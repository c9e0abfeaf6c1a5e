#include "experiments/library/doctor.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>
#include <utility>

#include "experiments/library/build.hpp"
#include "experiments/library/library.hpp"
#include "hw/cuda/device_facts.hpp"
#include "hw/driver_facts.hpp"
#include "hw/intercept/known_driver.hpp"
#include "hw/live/exec.hpp"
#include "hw/live/runtime_folder.hpp"
#include "hw/live/socket.hpp"
#include "hw/live/status.hpp"
#include "hw/program.hpp"
#include "hw/record/record.hpp"
#include "models/error.hpp"

namespace gangway {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* kInstallDriver = "install NVIDIA's driver, or give this container access to the GPU";

Examined present(std::string what, std::string found) {
  return {std::move(what), true, std::move(found), {}, true};
}
Examined missing(std::string what, std::string found, std::string advice) {
  return {std::move(what), false, std::move(found), std::move(advice), true};
}
Examined optional_part(Examined part) {
  part.needed = false;
  return part;
}

// What `look` returns; or, where it throws, why.
template <typename Look>
Examined tried(const std::string& what, const std::string& advice, Look look) {
  try {
    return present(what, look());
  } catch (const std::exception& error) {
    return missing(what, error.what(), advice);
  }
}

Area simulation() {
  const auto files = [] {
    return fmt::format("{} devices, {} workloads, {} experiments", library("devices").size(),
                       library("workloads").size(), library("experiments").size());
  };
  return {"simulate",
          {present("program", build_version() + " " + build_commit()),
           tried("data files", "set GANGWAY_DATA to Gangway's sources", files),
           present("world host", fmt::format("{} CPU cores", std::thread::hardware_concurrency()))}};
}

// --- Python

// Versions as the packages tell them, without importing what takes long; of the package `gangway` that of its
// compiled half, which has to load.
constexpr const char* kAskPython = R"(
import importlib.metadata, json, sys
sys.path = [folder for folder in sys.path if folder]
found = {'python': '.'.join(map(str, sys.version_info[:3]))}
for name in ('matplotlib', 'numpy', 'pandas', 'tqdm', 'jinja2'):
    try:
        found[name] = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        found[name] = None
try:
    import gangway._core
    found['gangway'] = gangway._core.version
    found['where'] = gangway.__path__[0]
except Exception as error:
    found['gangway'], found['error'] = None, (str(error) or type(error).__name__).splitlines()[0]
print(json.dumps(found))
)";

class Python {
 public:
  Python() : program_(python_program()) {
    found_ = Json::parse(output_of_program({program_, "-c", kAskPython}), nullptr, false);
  }

  Examined itself() const {
    const std::string version = text("python");
    if (version.empty())
      return missing("Python", program_ + " does not run", "apt install python3, or set GANGWAY_PYTHON");
    if (!at_least(version, 3, 11))
      return missing("Python", version + ", " + program_, "set GANGWAY_PYTHON to Python 3.11 or newer");
    return present("Python", version + ", " + program_);
  }
  // A package of PyPI's, with its Debian name.
  Examined package(const std::string& name, int major, int minor, const std::string& debian) const {
    const std::string version = text(name);
    const std::string advice = fmt::format("apt install {}, or pip install {}", debian, name);
    if (version.empty()) return missing(name, "not known to " + program_, advice);
    if (!at_least(version, major, minor))
      return missing(name, version, fmt::format("{}.{} or newer: {}", major, minor, advice));
    return present(name, version);
  }
  Examined gangway() const {
    const std::string version = text("gangway");
    if (version.empty())
      return missing(
          "package gangway", text("error").empty() ? "no Python" : text("error"),
          "in Gangway's sources: python3 -m venv ENV && ENV/bin/pip install .; GANGWAY_PYTHON=ENV/bin/python "
          "makes gangway use it");
    return present("package gangway", version + ", " + text("where"));
  }

 private:
  std::string text(const char* key) const { return text(std::string(key)); }
  std::string text(const std::string& key) const {
    if (!found_.is_object() || !found_.contains(key) || !found_[key].is_string()) return {};
    return found_[key].get<std::string>();
  }
  static bool at_least(const std::string& version, int major, int minor) {
    int a = 0, b = 0;
    if (std::sscanf(version.c_str(), "%d.%d", &a, &b) < 1) return false;
    return std::pair(a, b) >= std::pair(major, minor);
  }

  std::string program_;
  Json found_;
};

Area figures(const Python& python) {
  return {"draw figures",
          {python.itself(), python.package("matplotlib", 3, 6, "python3-matplotlib"),
           optional_part(python.package("jinja2", 3, 1, "python3-jinja2"))}};
}

Area package(const Python& python) {
  return {"use from Python",
          {python.gangway(), python.package("numpy", 1, 24, "python3-numpy"),
           python.package("pandas", 1, 5, "python3-pandas"), python.package("tqdm", 4, 64, "python3-tqdm")}};
}

// --- GPUs

// The driver, where it loads, and otherwise why it does not.
struct Driver {
  Driver() {
    try {
      facts = driver_facts();
    } catch (const RunError& error) {
      why_not = error.what();
    }
  }
  std::optional<DriverFacts> facts;
  std::string why_not;
};

Examined gpu_part(const Driver& driver) {
  const char* const what = "GPU and driver";
  if (!driver.facts) return missing(what, driver.why_not, kInstallDriver);
  std::string version =
      driver.facts->cuda > 0 ? "CUDA " + cuda_version_text(driver.facts->cuda) : "no version";
  if (!driver.facts->module.empty()) version += ", " + driver.facts->module;
  version += ", " + driver.facts->library;
  if (driver.facts->gpus.empty()) return missing(what, "no GPU; driver: " + version, kInstallDriver);
  std::string names;
  for (const DriverGpu& gpu : driver.facts->gpus) names += (names.empty() ? "" : ", ") + gpu.name;
  return present(what, names + "; driver: " + version);
}

Area world_cuda(const Driver& driver) {
  const std::string version = built_with_cuda();
  Area area{"calibrate, world cuda", {gpu_part(driver)}};
  area.parts.push_back(version.empty()
                           ? missing("built with CUDA", "without",
                                     "build again where nvcc of CUDA 12 or newer is in PATH: ./dev build")
                           : present("built with CUDA", version));
  if (!version.empty() && driver.facts && !driver.facts->gpus.empty())
    area.parts.push_back(tried("usable", "a driver that supports CUDA " + version,
                               [] { return describe_cuda_device(0).name; }));
  const std::string mps = path_of_program("nvidia-cuda-mps-control");
  area.parts.push_back(optional_part(
      mps.empty() ? missing("MPS control", "no nvidia-cuda-mps-control",
                            "it comes with NVIDIA's driver (Debian: nvidia-cuda-mps); only what says "
                            "`arbitration: mps` needs it")
                  : present("MPS control", mps)));
  return area;
}

Area records(const Driver& driver) {
  return {"record",
          {gpu_part(driver),
           tried("recording library", "build again where cupti.h of CUDA 13.0 or newer is: ./dev build",
                 spool::recording_library),
           tried("CUPTI", "install the CUDA toolkit's CUPTI, or use record --cupti PATH",
                 [] { return spool::find_cupti({}); })}};
}

// --- Programs under the daemon

Examined known_driver(const Driver& driver) {
  const char* const what = "driver known";
  if (!driver.facts || driver.facts->cuda == 0)
    return missing(what, driver.facts ? "unknown version" : "no driver", kInstallDriver);
  const std::string known = cuda_version_text(intercept::kKnownCuda);
  const std::string found = fmt::format("CUDA {}, of up to {}", cuda_version_text(driver.facts->cuda), known);
  if (driver.facts->cuda <= intercept::kKnownCuda) return present(what, found);
  return missing(what, found, "its new functions bypass the gate; see functions_not_known in gangway status");
}

Examined runtime_folder() {
  const std::string problem = live::own_folder_problem();
  if (problem.empty()) return present("runtime folder", live::own_folder_path());
  return missing("runtime folder", problem, "remove it, or set XDG_RUNTIME_DIR to your own folder");
}

// The daemon that listens there, in words; empty: none.
std::string daemon_at(const std::string& socket) {
  if (!live::connect_to(socket)) return {};
  try {
    const Json status = Json::parse(live::ask_for_status(socket), nullptr, false);
    if (!status.is_object()) return "a program other than the daemon listens at " + socket;
    return fmt::format("{}, process {}, at {}", status.value("policy", std::string("?")),
                       status.value("process", std::int64_t{0}), socket);
  } catch (const RunError& error) {
    return error.what();
  }
}

Examined no_daemon() {
  std::string found;
  for (const std::string& socket : {live::default_socket(), std::string(live::kServiceSocket)})
    if (const std::string daemon = daemon_at(socket); !daemon.empty())
      found += (found.empty() ? "" : "; ") + daemon;
  const char* const what = "no daemon at work";
  if (found.empty()) return present(what, "none listens at " + live::default_socket());
  return missing(what, found, "gangway exec starts programs under it; stop it to use another policy");
}

Examined service() {
  for (const char* folder : {"/etc/systemd/system", "/run/systemd/system", "/usr/local/lib/systemd/system",
                             "/lib/systemd/system", "/usr/lib/systemd/system"}) {
    const fs::path unit = fs::path(folder) / "gangway.service";
    std::error_code error;
    if (fs::exists(unit, error)) return present("systemd unit", unit.string());
  }
  return missing("systemd unit", "no gangway.service", "cmake --install build/release");
}

Area programs(const Driver& driver) {
  return {"serve, exec, world live",
          {gpu_part(driver),
           tried("look-alike library", "build again where cuda.h of CUDA 13.0 or newer is: ./dev build",
                 live::lookalike_library),
           optional_part(known_driver(driver)), runtime_folder(), optional_part(no_daemon()),
           optional_part(service())}};
}

// --- Permissions

std::vector<fs::path> device_files() {
  std::vector<fs::path> files;
  std::error_code error;
  for (const char* name : {"/dev/nvidiactl", "/dev/nvidia-uvm"})
    if (fs::exists(name, error)) files.emplace_back(name);
  for (fs::directory_iterator it("/dev", error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    const std::string number = name.starts_with("nvidia") ? name.substr(6) : "";
    if (!number.empty() &&
        std::all_of(number.begin(), number.end(), [](unsigned char c) { return std::isdigit(c) != 0; }))
      files.push_back(it->path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

Examined device_access() {
  const char* const what = "GPU's device files";
  std::string fine;
  for (const fs::path& file : device_files()) {
    if (access(file.c_str(), R_OK | W_OK) != 0)
      return missing(what, file.string() + ": " + std::strerror(errno),
                     "let this user read and write it, through its group (see ls -l) or as root");
    fine += (fine.empty() ? "" : ", ") + file.string();
  }
  return fine.empty() ? missing(what, "no /dev/nvidia*", kInstallDriver) : present(what, fine);
}

Examined other_users() {
  const char* const what = "other users' programs";
  if (geteuid() == 0) return present(what, "seen and scheduled, because this is root");
  if (fs::exists(live::kServiceSocket) && access(live::kServiceSocket, R_OK | W_OK) == 0)
    return present(what, std::string("under the daemon at ") + live::kServiceSocket);
  return missing(what, "this user's alone",
                 fs::exists(live::kServiceSocket) ? "join the group gangway: usermod -aG gangway USER"
                                                  : "run the daemon as a service (hw/live/README.md)");
}

Area permissions() { return {"permissions", {device_access(), optional_part(other_users())}}; }

}  // namespace

bool Area::yes() const {
  return std::all_of(parts.begin(), parts.end(),
                     [](const Examined& part) { return part.yes || !part.needed; });
}

std::vector<Area> examine_machine() {
  const Python python;
  const Driver driver;
  return {simulation(),    figures(python),  package(python), world_cuda(driver),
          records(driver), programs(driver), permissions()};
}

Json examined_json(const std::vector<Area>& areas) {
  Json out{{"version", build_version()}, {"areas", Json::array()}};
  for (const Area& area : areas) {
    Json parts = Json::array();
    for (const Examined& part : area.parts)
      parts.push_back({{"what", part.what},
                       {"yes", part.yes},
                       {"needed", part.needed},
                       {"found", part.found},
                       {"advice", part.advice}});
    out["areas"].push_back({{"name", area.name}, {"yes", area.yes()}, {"parts", std::move(parts)}});
  }
  return out;
}

}  // namespace gangway
