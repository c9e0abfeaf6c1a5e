// The GPUs of a daemon: who plays the policy on each, and which of them programs go to.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "hw/live/daemon.hpp"

namespace gangway::live {
namespace {

// Between samples of use: at random, as a program with a period of its own would else be seen in the same
// place each time.
constexpr Duration kLeastBetweenSamples{10'000'000}, kFurther{20'000'000};
constexpr Duration kForAnswers{5'000'000};  // of the clients, to a question about their work

// One object decides for all GPUs where it does in the simulator, and knows that each client is on one. Where
// memory moves, the policy's timers stand still for a GPU's moves, so each has its own; and slices are
// ordered on one.
bool decides_for_all(const Policy& policy, bool moves_memory) {
  const Capabilities needs = policy.needs();
  return needs.has(Capability::native) ||
         (policy.heeds_clients_gpus() && !needs.has(Capability::ranges) && !moves_memory);
}

}  // namespace

std::vector<std::unique_ptr<Conductor>> Daemon::conductors(const std::string& name,
                                                           std::shared_ptr<Policy> policy,
                                                           GateSettings gate) {
  std::vector<std::unique_ptr<Conductor>> made;
  const bool all = !several() || decides_for_all(*policy, settings_.memory.managed);
  if (!all && !settings_.another)
    throw InputError({"--policy", 0}, "policy", quote(name), "one that schedules several GPUs");
  gate.gpus = all ? static_cast<std::uint32_t>(gpus_.size()) : 1;
  for (const auto& gpu : gpus_) {
    gate.memory = settings_.memory.managed ? &gpu->keeper : nullptr;
    made.push_back(Conductor::make(name, made.empty() ? std::move(policy) : settings_.another(), gate, *gpu));
    if (all) break;
  }
  return made;
}

// Where nobody ever has to leave, nothing does.
void Daemon::conduct(std::vector<std::unique_ptr<Conductor>> conductors, const GateSettings& gate) {
  conductors_ = std::move(conductors);
  forms_ = conductors_.front()->closes_gates() ? gate.forms : TakeForms::none;
  slices_ = conductors_.front()->slices();
  drain_limit_ = gate.drain_limit;
  for (const auto& gpu : gpus_) gpu->keeper.moves_by_orders(conductors_.front()->moves_memory());
}

void Daemon::link_sockets() {
  for (const std::string& name : settings_.also) {
    unlink(name.c_str());
    if (symlink(std::filesystem::path(settings_.socket).filename().c_str(), name.c_str()) != 0)
      throw RunError(name + ": " + std::strerror(errno));
  }
}

std::size_t Daemon::with_uuid(const std::string& text) const {
  const auto found = std::find_if(gpus_.begin(), gpus_.end(), [&](const auto& gpu) {
    return !text.empty() && text_of(gpu->facts.uuid) == text;
  });
  return static_cast<std::size_t>(found - gpus_.begin());
}

// Of a program: the one that its user or its group has, else by the rule.
std::optional<std::size_t> Daemon::placed(const Hello& hello, uid_t user, std::string& why_not) {
  if (!several()) return 0;
  const std::string group = hello.group;
  std::optional<std::size_t> of_group;
  for (const auto& [number, program] : programs_)
    if (!group.empty() && program.user == user && program.group == group) of_group = program.gpu;
  for (const auto& [fd, client] : clients_)
    if (!group.empty() && client->user == user && client->group == group) of_group = client->gpu;
  if (hello.gpu < 0) {
    if (of_group) return of_group;
    const std::size_t turn = in_turn_++;
    return settings_.place == Place::fixed ? turn % gpus_.size() : least_loaded(loads());
  }
  const auto chosen = std::find_if(gpus_.begin(), gpus_.end(), [&](const auto& gpu) {
    return gpu->facts.number == static_cast<unsigned>(hello.gpu);
  });
  if (chosen == gpus_.end()) {
    std::string all;
    for (const auto& gpu : gpus_) all += fmt::format("{}{}", all.empty() ? "" : ", ", gpu->facts.number);
    why_not = fmt::format("GPU {} is none of its own: {}", hello.gpu, all);
    return std::nullopt;
  }
  if (of_group && *of_group != (*chosen)->place) {
    why_not = fmt::format("the group {} is on GPU {}", group, gpus_[*of_group]->facts.number);
    return std::nullopt;
  }
  return (*chosen)->place;
}

// Whose page names no GPU was a client of such a daemon before.
bool Daemon::is_on_the_only_gpu(const LiveClient& client) {
  if (client.page().is_on() == kNoGpu) return true;
  if (!only_gpu_) {
    only_gpu_ = kNoGpu;  // one try: whoever is to say it may be long in starting
    try {
      for (const GpuFacts& gpu : gpus_of_driver())
        if (gpu.number == gpus_.front()->facts.number) only_gpu_ = gpu.uuid;
    } catch (const RunError& error) {
      say(error.what());
    }
  }
  return client.page().is_on() == *only_gpu_;
}

// A client that returns is where its page says, since it may have moved; another one where its program is, or
// where it says that its `exec` was placed, by an earlier daemon.
std::optional<std::size_t> Daemon::gpu_of(const LiveClient& client, const Hello& hello,
                                          const Program* program) {
  if (!several() && (hello.returns == 0 || is_on_the_only_gpu(client))) return 0;
  if (!several()) return std::nullopt;
  if (program != nullptr) return program->gpu;
  const std::string visible(hello.visible, strnlen(hello.visible, sizeof hello.visible));
  const GpuUuid is_on = client.page().is_on();
  const std::size_t found = with_uuid(is_on != kNoGpu ? text_of(is_on) : visible);
  if (found == gpus_.size()) return std::nullopt;
  return found;
}

std::uint64_t Daemon::resident_on(std::size_t gpu) const {
  std::uint64_t bytes = 0;
  for (const auto& [fd, client] : clients_) {
    if (client->gpu != gpu) continue;
    const KeptClient::Memory memory = client->memory();
    bytes += memory.footprint() - std::min(memory.movable, memory.away);
  }
  return bytes;
}

std::vector<GpuLoad> Daemon::loads() const {
  std::vector<GpuLoad> all;
  for (const auto& gpu : gpus_)
    all.push_back({resident_on(gpu->place), gpu->facts.memory, gpu->window.use().value_or(0), 0});
  for (const auto& [number, program] : programs_) all[program.gpu].programs += program.clients == 0 ? 1 : 0;
  for (const auto& [fd, client] : clients_) ++all[client->gpu].programs;
  return all;
}

// By an earlier daemon's helper, which carried through what it had begun.
void Daemon::find_moved() {
  for (auto& [fd, client] : clients_) {
    const GpuUuid uuid = client->page().is_on();
    if (uuid == gpus_[client->gpu]->facts.uuid || (move_ && move_->client == client.get())) continue;
    const std::size_t found = with_uuid(text_of(uuid));
    if (found == gpus_.size() || !client->group.empty())
      continue;  // what a page says is to be believed if it can be
    closes(*client);
    client->id = kUnscheduled;
    client->permit(0);
    is_now_on(*client, found);
    opens(*client);
  }
}

void Daemon::is_now_on(LiveClient& client, std::size_t gpu) {
  gpus_[client.gpu]->keeper.goes(client);
  client.gpu = gpu;
  gpus_[gpu]->keeper.comes(client);
  client.kept_by(gpus_[gpu]->keeper);
  tell_of_company();
}

Time Daemon::look_at_gpus(Time time) {
  if (!several() && !settings_.measures_use) return Time::max();
  const Time next = sample_use(time);
  if (!several()) return next;
  find_moved();
  if (move_)
    go_on_moving(time);
  else if (settings_.place == Place::migrate && !helper_lost_ && !no_checkpoints_)
    consider_moves(time);
  return move_ && !move_->asked ? time : next;
}

// A page shows only what is known to be over, which can be long ago. So a client that seems to have work is
// asked, and its answer counts.
Time Daemon::sample_use(Time time) {
  if (!asked_ && time >= sample_due_) {
    asked_ = time;
    for (auto& [fd, client] : clients_) client->begin_sample(settings_.measures_use);
  }
  if (asked_) {
    const bool answered =
        std::all_of(clients_.begin(), clients_.end(), [](const auto& one) { return one.second->works(); });
    if (!answered && time - *asked_ < kForAnswers) return *asked_ + kForAnswers;
    asked_.reset();
    add_sample(time);
    const auto further = static_cast<std::int64_t>(moments_() % static_cast<std::uint64_t>(kFurther.ns));
    sample_due_ = time + kLeastBetweenSamples + Duration{further};
  }
  return clients_.empty() ? Time::max() : sample_due_;
}

// Use: the time with work on the GPU, divided equally among the clients that have some. An answer may come
// meanwhile, so each is looked at once.
void Daemon::add_sample(Time time) {
  struct Seen {
    std::size_t at_work = 0, unknown = 0;
  };
  std::vector<Seen> seen(gpus_.size());
  std::map<const LiveClient*, std::optional<bool>> answers;
  for (const auto& [client, window] : windows_) {
    const std::optional<bool> works = answers[client] = client->works();
    seen[client->gpu].at_work += works.value_or(false) ? 1 : 0;
    seen[client->gpu].unknown += works ? 0 : 1;
  }
  for (auto& [client, window] : windows_) {
    const std::optional<bool>& works = answers[client];
    const bool demand = (client->page().job.load() & 1) != 0 || works.value_or(true);
    const double share = 1.0 / static_cast<double>(std::max<std::size_t>(1, seen[client->gpu].at_work));
    window.add(time, demand, works ? std::optional(*works ? share : 0) : std::nullopt);
  }
  for (const auto& gpu : gpus_) {
    const auto [at_work, unknown] = seen[gpu->place];
    const bool known = at_work != 0 || unknown == 0;
    gpu->window.add(time, at_work != 0, known ? std::optional(at_work != 0 ? 1.0 : 0.0) : std::nullopt);
  }
}

// As of the latest look, those that are no clients.
std::vector<DeviceProcess> Daemon::others() const {
  std::vector<DeviceProcess> all;
  for (const DeviceProcess& one : on_devices_->found)
    if (std::none_of(clients_.begin(), clients_.end(),
                     [&](const auto& client) { return client.second->process() == one.process; }))
      all.push_back(one);
  return all;
}

// A program has a context before it submits anything, and so becomes a client. A line is printed about who
// was no client in two looks.
void Daemon::hear_of_processes() {
  std::optional<DeviceProcesses> news = device_watch_->news();
  if (!news) return;
  on_devices_ = std::move(news);
  std::map<pid_t, unsigned> looks;
  for (const DeviceProcess& other : others()) {
    const auto before = others_.find(other.process);
    const unsigned seen = looks[other.process] =
        before == others_.end() ? 1 : std::min(before->second + 1, 3U);
    if (seen == 2)
      say(fmt::format("process {} uses a GPU but is not a client of this daemon: {}", other.process,
                      other.command));
  }
  others_ = std::move(looks);
}

}  // namespace gangway::live
