#include "hw/live/jobs_alone.hpp"

#include <chrono>
#include <filesystem>
#include <future>

#include "hw/live/daemon.hpp"
#include "hw/live/exec.hpp"
#include "hw/live/runtime_folder.hpp"
#include "hw/program.hpp"
#include "hw/scratch_folder.hpp"

namespace gangway::live {
namespace {

namespace fs = std::filesystem;

// Follows the first client and notes its jobs.
class JobNotes : public Watcher {
 public:
  void came(LiveClient& client) override {
    if (!seen_) client_ = &client;
    seen_ = true;
  }
  void left(const LiveClient& client) override {
    if (client_ != &client) return;
    look();
    client_ = nullptr;
  }
  void step(Time, Step, ClientId) override {}
  // Jobs that are too long ago are not known any more.
  void look() {
    if (client_ == nullptr) return;
    for (const std::uint64_t over = client_->jobs_over(); next_ < over; ++next_)
      if (const auto job = client_->job(next_)) jobs_.push_back(Duration{job->ended - job->arrived});
  }
  std::vector<Duration> take() { return std::move(jobs_); }

 private:
  const LiveClient* client_ = nullptr;
  bool seen_ = false;
  std::uint64_t next_ = 0;
  std::vector<Duration> jobs_;
};

std::shared_ptr<Policy> nobody_decides() {
  const PolicyEntry& entry = Policies::named("passthrough", "live", "policy");
  const Node none = parse_yaml("{}", "live");
  return entry.make(ParameterValues(entry.parameters, Field(none, entry.name)));
}

}  // namespace

JobsAlone run_alone(const std::vector<std::string>& command, const std::string& rule) {
  lookalike_library();  // to throw before anything runs
  const ScratchFolder folder(own_folder() + "/run.");
  DaemonSettings settings;
  settings.socket = folder.path() + "/socket";
  settings.out = nullptr;
  JobNotes notes;
  Daemon daemon("record", nobody_decides(), settings, &notes);
  std::vector<std::string> words{
      fs::read_symlink("/proc/self/exe").string(), "exec", "--socket", settings.socket, "--jobs", rule, "--"};
  words.insert(words.end(), command.begin(), command.end());
  JobsAlone out;
  auto ends = std::async(std::launch::async, [&] { return run_program(words, out.refused); });
  while (ends.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
    daemon.turn(Duration{2'000'000});
    notes.look();
  }
  out.status = ends.get();
  daemon.turn(Duration{0});  // a client that has just left
  notes.look();
  out.jobs = notes.take();
  return out;
}

}  // namespace gangway::live
