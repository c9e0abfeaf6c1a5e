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
  for (const Client& client : setup_.workload.clients) {
    refuse(client);
    auto& of_client = kernels_.emplace_back();
    for (const Kernel& kernel : client.kernels)
      of_client.push_back({static_cast<std::uint32_t>(kernel.block_tasks.count), kernel.block,
                           static_cast<std::uint32_t>(kernel.registers), kernel.shared_memory,
                           block_length(setup_.device, kernel)});
    longest_copy_ = std::max({longest_copy_, client.copy_in, client.copy_out});
    standalone_.push_back(standalone_of(setup_, client).ns);
  }
  make_streams();
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
  if (!client.context.empty())
    unable("context", quote(client.context), "none: all native clients are in one");
  for (const Kernel& kernel : client.kernels) {
    const std::string place = "kernels." + kernel.name;
    if (kernel.block_tasks.count >= kMostBlockTasks)
      unable(place, fmt::format("{} blocks", kernel.block_tasks.count),
             fmt::format("fewer than {}", kMostBlockTasks));
    if (kernel.code)
      unable(place + ".code", kernel.code_text, "none: blocks of native clients only keep busy");
    if (kernel.gap > Duration{}) unable(place + ".gap", to_text(kernel.gap), "none, or the world sim");
    if (kernel.host_work > Duration{})
      unable(place + ".host_work", to_text(kernel.host_work), "none, or the world sim");
    if (!kernel.exceptions.empty())
      unable(place + ".exceptions", "blocks of another length", "none, or the world sim");
    if (kernel.registers > 0 && std::find(std::begin(kNativeRegisters), std::end(kNativeRegisters),
                                          kernel.registers) == std::end(kNativeRegisters))
      unable(place + ".registers", std::to_string(kernel.registers),
             "none or one of " + text_of(kNativeRegisters));
  }
}

// Numbered as in the model: in the order of the clients that name them first.
void NativePlan::make_streams() {
  std::map<std::string, std::uint32_t> named;
  const auto& clients = setup_.workload.clients;
  const auto highest = static_cast<std::int32_t>(std::min<std::int64_t>(setup_.device.priorities, 1000)) - 1;
  for (const Client& client : clients) {
    const bool null = client.stream == kNullStream;
    const std::int32_t priority = std::clamp(client.priority, 0, highest);
    auto known = client.stream.empty() ? named.end() : named.find(client.stream);
    if (known == named.end()) {
      stream_of_.push_back(static_cast<std::uint32_t>(streams_.size()));
      streams_.push_back({null, priority});
      if (!client.stream.empty()) named.emplace(client.stream, stream_of_.back());
    } else {
      stream_of_.push_back(known->second);
    }
    if (streams_[stream_of_.back()].priority != priority || (null && priority != 0))
      throw InputError({"--world cuda", 0}, "workload.clients." + client.name + ".priority",
                       std::to_string(client.priority),
                       null ? "0 in the stream 'default'" : "one priority for all clients of a stream");
  }
}

void NativePlan::lay_out(const RunSeed& seed, std::span<const std::uint32_t> order) {
  releases_.clear();
  operations_.clear();
  stamps_ = launches_ = 0;
  copies_ = 0;
  for (std::size_t position = 0; position < order.size(); ++position) {
    ClientRun client(setup_, ClientId{order[position]});
    client.reset(seed, first_release(setup_.workload, client.client(), position));
    for (auto due = client.next_release(); due && *due <= setup_.horizon; due = client.next_release()) {
      client.release(*due);
      releases_.push_back({*due, client.last_released(), {}});
    }
  }
  std::sort(releases_.begin(), releases_.end(), [](const NativeRelease& a, const NativeRelease& b) {
    return std::pair(a.time, a.job) < std::pair(b.time, b.job);
  });
  std::vector<std::size_t> first;
  for (const NativeRelease& release : releases_) {
    first.push_back(operations_.size());
    add_program(release.job);
  }
  first.push_back(operations_.size());
  for (std::size_t r = 0; r < releases_.size(); ++r)
    releases_[r].operations = std::span(operations_).subspan(first[r], first[r + 1] - first[r]);
  if (stamps_ > kMostStamps)
    throw InputError({"--world cuda", 0}, "workload", fmt::format("{} blocks of native clients", stamps_),
                     fmt::format("at most {} in a run", kMostStamps));
}

void NativePlan::add_program(JobId job) {
  const Client& client = setup_.workload.clients[job.client.index];
  const auto add = [&]() -> NativeOperation& {
    NativeOperation& operation = operations_.emplace_back();
    operation.job = job;
    operation.stream = stream_of_[job.client.index];
    return operation;
  };
  const auto add_copy = [&](CopyDirection direction, Bytes size) {
    if (size.count == 0) return;
    NativeOperation& operation = add();
    operation.copy = true;
    operation.direction = direction;
    operation.size = size;
    operation.copy_number = copies_++;
  };
  add_copy(CopyDirection::to_device, client.copy_in);
  for (std::uint32_t k = 0; k < client.kernels.size(); ++k) {
    NativeOperation& operation = add();
    operation.kernel = k;
    operation.launch = {++launches_};
    operation.first_stamp = stamps_;
    stamps_ += kernels_[job.client.index][k].blocks;
  }
  add_copy(CopyDirection::to_host, client.copy_out);
}

}  // namespace gangway
