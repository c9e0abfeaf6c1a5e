#include "hw/native/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "hw/protocol.hpp"
#include "models/run/client_run.hpp"
#include "models/run/job_book.hpp"

namespace gangway {
namespace {

constexpr Bytes kLongestCopy{std::int64_t{1} << 30};
constexpr std::uint64_t kMostStamps = std::uint64_t{1} << 26;

std::string text_of(std::span<const std::uint32_t> numbers) {
  return fmt::format("{}", fmt::join(numbers, ", "));
}

// As the policies' kernels have them, so that all work on the same data.
std::uint64_t input_seed_of(const WorldSetup& setup, std::size_t client, std::size_t kernel) {
  return setup.input_seed + ((std::uint64_t{client} + 1) << 32 | (kernel + 1));
}

}  // namespace

void check_native(const WorldSetup& setup) {
  const char* connections = std::getenv("CUDA_DEVICE_MAX_CONNECTIONS");
  const std::int64_t channels = connections != nullptr ? std::atoll(connections) : 8;
  if (setup.device.channels && *setup.device.channels != channels)
    throw InputError(
        {"--world cuda", 0}, "device.channels", std::to_string(*setup.device.channels),
        fmt::format("{}, which is what the environment's CUDA_DEVICE_MAX_CONNECTIONS (8 if not set) says",
                    channels));
  static_cast<void>(NativePlan(setup));
}

NativePlan::NativePlan(const WorldSetup& setup) : setup_(setup) {
  if (setup_.device.arbitration == Arbitration::direct)
    throw InputError({"--world cuda", 0}, "device.arbitration", "direct",
                     "native-fifo, native-priority, native-timeslice or mps, or the world sim");
  on_device_.watchdog = setup_.watchdog;
  for (std::size_t c = 0; c < setup_.workload.clients.size(); ++c) {
    const Client& client = setup_.workload.clients[c];
    refuse(client);
    auto& of_client = on_device_.kernels.emplace_back();
    for (std::size_t k = 0; k < client.kernels.size(); ++k) {
      const Kernel& kernel = client.kernels[k];
      of_client.push_back({static_cast<std::uint32_t>(kernel.block_tasks.count), kernel.block,
                           static_cast<std::uint32_t>(kernel.registers), kernel.shared_memory,
                           block_length(setup_.device, kernel), kernel.code, kernel.code_text,
                           input_seed_of(setup_, c, k)});
    }
    on_device_.longest_copy = std::max({on_device_.longest_copy, client.copy_in, client.copy_out});
    standalone_.push_back(standalone_of(setup_, client).ns);
  }
  make_streams();
  make_processes();
}

void NativePlan::refuse(const Client& client) const {
  const auto unable = [&](const std::string& key, const std::string& found, const std::string& expected) {
    throw InputError({"--world cuda", 0}, "workload.clients." + client.name + "." + key, found, expected);
  };
  if (!client.repeat.jobs && client.repeat.releases.empty())
    unable("repeat.jobs", "endless", "a number of jobs of a native client");
  if (client.repeat.think)
    unable("repeat.think", to_text(*client.repeat.think), "a period or releases of a native client");
  if (std::max(client.copy_in, client.copy_out) > kLongestCopy)
    unable("copy_in", "a copy of more than 1 GiB", "at most 1 GiB for a native client");
  const Arbitration arbitration = setup_.device.arbitration;
  if (!client.context.empty() && arbitration != Arbitration::timeslice && arbitration != Arbitration::mps)
    unable("context", quote(client.context),
           "none, because all native clients share one, or `arbitration: native-timeslice` or mps");
  for (const Kernel& kernel : client.kernels) {
    const std::string place = "kernels." + kernel.name;
    if (kernel.block_tasks.count >= kMostBlockTasks)
      unable(place, fmt::format("{} blocks", kernel.block_tasks.count),
             fmt::format("fewer than {}", kMostBlockTasks));
    if (kernel.gap > Duration{}) unable(place + ".gap", to_text(kernel.gap), "none, or the world sim");
    if (kernel.host_work > Duration{})
      unable(place + ".host_work", to_text(kernel.host_work), "none, or the world sim");
    if (!kernel.exceptions.empty())
      unable(place + ".exceptions", "blocks of another length", "none, or the world sim");
    if (!kernel.code && kernel.registers > 0 &&
        std::find(std::begin(kNativeRegisters), std::end(kNativeRegisters), kernel.registers) ==
            std::end(kNativeRegisters))
      unable(place + ".registers", std::to_string(kernel.registers),
             "none or one of " + text_of(kNativeRegisters));
  }
}

// Numbered as in the model: in the order of the clients that name them first.
void NativePlan::make_streams() {
  std::map<std::string, std::uint32_t> named;
  const auto& clients = setup_.workload.clients;
  // One queue has no priorities.
  const bool fifo = setup_.device.arbitration == Arbitration::fifo;
  const auto highest =
      fifo ? 0 : static_cast<std::int32_t>(std::min<std::int64_t>(setup_.device.priorities, 1000)) - 1;
  std::vector<NativeStream>& streams = on_device_.streams;
  for (const Client& client : clients) {
    const bool null = client.stream == kNullStream;
    const std::int32_t priority = std::clamp(client.priority, 0, highest);
    auto known = client.stream.empty() ? named.end() : named.find(client.stream);
    if (known == named.end()) {
      on_device_.stream_of.push_back(static_cast<std::uint32_t>(streams.size()));
      streams.push_back({null, priority});
      if (!client.stream.empty()) named.emplace(client.stream, on_device_.stream_of.back());
    } else {
      on_device_.stream_of.push_back(known->second);
    }
    if (streams[on_device_.stream_of.back()].priority != priority || (null && priority != 0))
      throw InputError({"--world cuda", 0}, "workload.clients." + client.name + ".priority",
                       std::to_string(client.priority),
                       null ? "0 in the stream 'default'" : "one priority for all clients of a stream");
  }
}

// As many contexts as in the model, which takes turns between them.
void NativePlan::make_processes() {
  const Arbitration arbitration = setup_.device.arbitration;
  if (arbitration != Arbitration::timeslice && arbitration != Arbitration::mps) return;
  std::map<std::string, std::size_t> by_context, by_stream;
  for (std::uint32_t c = 0; c < setup_.workload.clients.size(); ++c) {
    const Client& client = setup_.workload.clients[c];
    auto& known = client.context.empty() ? by_stream : by_context;
    const std::string& name = client.context.empty() ? client.stream : client.context;
    const auto found = name.empty() ? known.end() : known.find(name);
    const std::size_t process = found != known.end() ? found->second : processes_.size();
    if (process == processes_.size()) processes_.emplace_back();
    processes_[process].push_back(c);
    if (!name.empty()) known.emplace(name, process);
  }
}

void NativePlan::lay_out(const RunSeed& seed, std::span<const std::uint32_t> order) {
  run_ = {};
  launches_ = 0;
  for (std::size_t position = 0; position < order.size(); ++position) {
    ClientRun client(setup_, ClientId{order[position]});
    client.reset(seed, first_release(setup_.workload, client.client(), position));
    for (auto due = client.next_release(); due && *due <= setup_.horizon; due = client.next_release()) {
      client.release(*due);
      run_.releases.push_back({*due, client.last_released()});
    }
  }
  std::vector<NativeRelease> releases;
  releases.swap(run_.releases);
  std::sort(releases.begin(), releases.end(), [](const NativeRelease& a, const NativeRelease& b) {
    return std::pair(a.time, a.job) < std::pair(b.time, b.job);
  });
  for (const NativeRelease& release : releases) {
    run_.releases.push_back({release.time, release.job, run_.operations.size(), 0});
    add_program(release.job);
  }
  if (run_.stamps > kMostStamps)
    throw InputError({"--world cuda", 0}, "workload", fmt::format("{} blocks of native clients", run_.stamps),
                     fmt::format("at most {} in a run", kMostStamps));
}

void NativePlan::add_program(JobId job) {
  const Client& client = setup_.workload.clients[job.client.index];
  NativeOperation next;
  next.job = job;
  next.stream = on_device_.stream_of[job.client.index];
  const auto add_copy = [&](CopyDirection direction, Bytes size) {
    if (size.count == 0) return;
    NativeOperation copy = next;
    copy.copy = true;
    copy.direction = direction;
    copy.size = size;
    run_.add(copy, 0);
  };
  add_copy(CopyDirection::to_device, client.copy_in);
  for (std::uint32_t k = 0; k < client.kernels.size(); ++k) {
    const NativeKernel& kernel = on_device_.kernels[job.client.index][k];
    NativeOperation launch = next;
    launch.kernel = k;
    launch.launch = {++launches_};
    launch.coded = kernel.code != nullptr;
    run_.add(launch, kernel.blocks);
  }
  add_copy(CopyDirection::to_host, client.copy_out);
}

}  // namespace gangway
