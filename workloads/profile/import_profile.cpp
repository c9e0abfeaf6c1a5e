#include "workloads/profile/import_profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <vector>

#include "models/error.hpp"
#include "models/recording/file.hpp"
#include "workloads/profile/importer.hpp"
#include "workloads/profile/profiled_client.hpp"

namespace gangway::profile {
namespace {

namespace fs = std::filesystem;

// One recording to be.
struct ToWrite {
  Index process = 0;
  std::optional<Submitter::OfStream> stream;
  std::string file;
};

constexpr std::size_t kMostListed = 8;

// "one of 12 (python, 300 submissions), ...": of what there is to choose from.
template <typename Row, typename Name>
std::string listed(const std::vector<Row>& rows, Name name) {
  std::string out = rows.size() > 1 ? "one of " : "";
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i == kMostListed) return out + ", ...";
    out += (i == 0 ? "" : ", ") + name(rows[i]);
  }
  return out;
}

// NUMBER, or CONTEXT/NUMBER where several contexts have it.
class StreamNames {
 public:
  explicit StreamNames(const std::vector<Submitter::OfStream>& streams) {
    for (const Submitter::OfStream& s : streams) ++alike_[s.number];
  }
  std::string of(const Submitter::OfStream& s) const {
    const std::string number = number_of(s);
    return alike_.at(s.number) > 1 ? fmt::format("{}/{}", s.context == kUnknown ? 0 : s.context, number)
                                   : number;
  }
  static std::string number_of(const Submitter::OfStream& s) {
    return s.number == kUnknown ? "0" : std::to_string(s.number);
  }

 private:
  std::map<std::uint32_t, std::size_t> alike_;
};

class Import {
 public:
  explicit Import(const ImportSettings& settings)
      : settings_(settings), importer_(Importers::named(settings.profiler, "gangway import", "profiler")) {}

  void run(const std::function<void(const std::string&, const recording::Recording&)>& written) {
    // Before a large profile is read.
    if (settings_.split == Split::none) check_absent(settings_.out);
    check_folder();
    profile_ = importer_.read(settings_.file);
    settle_processes(profile_);
    submitters_ = submitters(profile_);
    if (submitters_.empty()) refuse_empty();
    check_ranges();
    fill_devices();
    const std::vector<ToWrite> clients = choose();
    for (const ToWrite& client : clients) check_absent(client.file);
    for (const ToWrite& client : clients) {
      recording::Recording r = record_client(profile_, client.process, client.stream, settings_.file);
      r.about.gangway = settings_.version;
      cut_jobs(r, settings_.jobs);
      if (clients.size() == 1 && !r.jobs.empty() && settings_.jobs.skip >= r.jobs.size())
        refuse("--skip", std::to_string(settings_.jobs.skip),
               fmt::format("at most {}, as there are {} jobs", r.jobs.size() - 1, r.jobs.size()));
      write_recording(r, client.file, settings_.replace);
      written(client.file, r);
    }
  }

 private:
  [[noreturn]] void refuse(const std::string& key, const std::string& found,
                           const std::string& expected) const {
    throw InputError({settings_.file, 0}, key, found, expected);
  }
  void check_absent(const std::string& file) const {
    if (std::error_code failed; fs::equivalent(file, settings_.file, failed))
      throw InputError({file, 0}, "--out", "the profile", "another file");
    if (!settings_.replace && fs::exists(file))
      throw InputError({file, 0}, "--out", "a file", "none: --force replaces it");
  }
  void check_folder() const {
    const fs::path folder = fs::absolute(settings_.out).parent_path();
    if (std::error_code failed; !fs::is_directory(folder, failed))
      throw InputError({settings_.out, 0}, "--out", "no folder " + folder.string(), "one that is there");
  }
  void refuse_empty() const {
    if (profile_.works.empty())
      refuse("profile", "no kernels, copies or memsets",
             "a profile of a program that used a GPU, with CUDA traced");
    refuse("profile",
           fmt::format("{} kernels, copies and memsets, none with the call that submitted it",
                       profile_.works.size()),
           "a profile with the calls of CUDA's runtime or driver");
  }

  void check_ranges() const {
    if (settings_.jobs.kind != recording::JobKind::nvtx) return;
    std::vector<bool> ended(profile_.range_names.size());
    for (const Range& range : profile_.ranges)
      if (range.end) ended[range.name] = true;
    std::vector<std::string> names;
    for (std::size_t n = 0; n < ended.size(); ++n) {
      const recording::RangeName& name = profile_.range_names[n];
      if (ended[n] && is_job(name, settings_.jobs)) return;
      if (ended[n]) names.push_back(quote(name.domain.empty() ? name.name : name.domain + "/" + name.name));
    }
    refuse("--jobs", quote(settings_.jobs.range),
           names.empty() ? "sync or whole: the profile has no ranges"
                         : listed(names, [](const std::string& name) { return name; }));
  }

  void fill_devices() {
    const recording::Gpu& known = settings_.device;
    for (recording::Gpu& gpu : profile_.gpus) {
      if (gpu.name.empty()) gpu.name = known.name;
      if (gpu.sms == 0) gpu.sms = known.sms;
      if (gpu.memory.count == 0) gpu.memory = known.memory;
    }
  }

  // --- Which clients

  std::uint32_t pid(const Submitter& s) const { return profile_.processes[s.process].pid; }

  std::vector<Submitter> chosen_processes() const {
    const auto name = [&](const Submitter& s) {
      const auto& command = profile_.processes[s.process].command;
      return fmt::format("{} ({}{} submissions)", pid(s), command.empty() ? "" : quote(command[0]) + ", ",
                         s.submissions);
    };
    if (settings_.process) {
      for (const Submitter& s : submitters_)
        if (pid(s) == *settings_.process) return {s};
      refuse("--process", std::to_string(*settings_.process), listed(submitters_, name));
    }
    if (settings_.split == Split::process || submitters_.size() == 1) return submitters_;
    refuse("--process", fmt::format("none, and {} processes that used a GPU", submitters_.size()),
           listed(submitters_, name) + ", or --split process");
  }

  std::optional<Submitter::OfStream> chosen_stream(const Submitter& process) const {
    if (settings_.stream.empty()) return std::nullopt;
    const StreamNames names(process.streams);
    std::vector<Submitter::OfStream> found;
    for (const Submitter::OfStream& s : process.streams)
      if (settings_.stream == StreamNames::number_of(s) || settings_.stream == names.of(s))
        found.push_back(s);
    if (found.size() == 1) return found[0];
    refuse("--stream", quote(settings_.stream),
           listed(found.empty() ? process.streams : found, [&](const Submitter::OfStream& s) {
             return fmt::format("{} ({} submissions)", names.of(s), s.submissions);
           }));
  }

  // OUT.rec becomes OUT-12.rec.
  std::string named(const std::string& which) const {
    const fs::path out = settings_.out;
    std::string name = which;
    std::replace(name.begin(), name.end(), '/', '.');
    return (out.parent_path() / (out.stem().string() + "-" + name + out.extension().string())).string();
  }

  std::vector<ToWrite> choose() const {
    std::vector<ToWrite> out;
    for (const Submitter& process : chosen_processes()) {
      if (settings_.split == Split::stream) {
        const StreamNames names(process.streams);
        for (const Submitter::OfStream& s : process.streams)
          out.push_back({process.process, s, named(names.of(s))});
        continue;
      }
      const std::string file =
          settings_.split == Split::process ? named(std::to_string(pid(process))) : settings_.out;
      out.push_back({process.process, chosen_stream(process), file});
    }
    return out;
  }

  const ImportSettings& settings_;
  const Importer& importer_;
  Profile profile_;
  std::vector<Submitter> submitters_;
};

}  // namespace

void import_profile(const ImportSettings& settings,
                    const std::function<void(const std::string&, const recording::Recording&)>& written) {
  Import(settings).run(written);
}

}  // namespace gangway::profile
