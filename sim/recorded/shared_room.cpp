#include "sim/recorded/shared_room.hpp"

#include <algorithm>
#include <utility>

#include "sim/recorded/held_by_works.hpp"

namespace gangway {
namespace {

constexpr std::int64_t kParts = 1'000'000'000'000;  // of a GPU
constexpr std::int64_t kMostWaves = 1'000;

std::int64_t parts_of_block(const RoomNeed& need) { return kParts / need.at_once; }

std::int64_t waves_in(const RoomNeed& need) { return (need.blocks + need.at_once - 1) / need.at_once; }

RoomNeed need_of(const recording::PlayedLaunch& launch, const Device& device) {
  RoomNeed need{
      launch.blocks, std::clamp<std::int64_t>(resident_blocks(device, kernel_of(launch)), 1, kParts), {}};
  const std::int64_t together = (waves_in(need) + kMostWaves - 1) / kMostWaves;
  need.blocks = (need.blocks + together - 1) / together;
  return need;
}

// Of the whole `length`, up to the share a / b.
Duration up_to(Duration length, std::int64_t a, std::int64_t b) { return {mul_div_ceil(length.ns, a, b)}; }

}  // namespace

std::vector<RoomNeed> NeedsOfWorks::of(const recording::PlayedWork& work, Duration length) const {
  if (work.kind == recording::WorkKind::kernel) {
    RoomNeed need = launches[work.shape];
    need.length = length;
    return {need};
  }
  if (work.kind != recording::WorkKind::graph) return {};
  std::vector<RoomNeed> parts = graphs[work.shape];
  Duration all, before;
  for (const RoomNeed& part : parts) all += part.length;
  if (all == Duration{}) return {};
  for (RoomNeed& part : parts) {
    const Duration through = before + part.length;
    part.length = up_to(length, through.ns, all.ns) - up_to(length, before.ns, all.ns);
    before = through;
  }
  return parts;
}

NeedsOfWorks needs_of_works(const recording::PlayedProgram& program, const Device& device) {
  NeedsOfWorks needs;
  for (const recording::PlayedLaunch& launch : program.launches)
    needs.launches.push_back(need_of(launch, device));
  needs.graphs.resize(program.graphs());
  for (const recording::PlayedNode& node : program.nodes) {
    RoomNeed need = needs.launches[node.launch];
    need.length = node.length;
    needs.graphs[node.graph].push_back(need);
  }
  return needs;
}

void SharedRoom::reset(std::size_t streams, std::size_t clients) {
  kernels_.assign(streams, {});
  held_.assign(clients, 0);
  all_held_ = 0;
  coming_.clear();
  queue_.clear();
  changed_ = false;
}

void SharedRoom::join(std::uint32_t stream, std::uint32_t client, const RoomNeed& need) {
  kernels_[stream] = {client, {}, need, need.blocks, 0, 0, {}};
  coming_.push_back(stream);
  changed_ = true;
}

void SharedRoom::remove(std::uint32_t stream) {
  Standing& kernel = kernels_[stream];
  give_back(kernel, kernel.held);
  kernel = {};
  std::erase(coming_, stream);
  std::erase(queue_, stream);
}

void SharedRoom::give_back(Standing& kernel, std::int64_t parts) {
  kernel.held -= parts;
  held_[kernel.client] -= parts;
  all_held_ -= parts;
  changed_ = true;
}

bool SharedRoom::end_groups(std::uint32_t stream, Time now) {
  Standing& kernel = kernels_[stream];
  std::erase_if(kernel.groups, [&](const Group& group) {
    if (group.end > now) return false;
    give_back(kernel, group.parts);
    return true;
  });
  return kernel.groups.empty() && kernel.to_begin == 0;
}

std::optional<Time> SharedRoom::next_end(std::uint32_t stream) const {
  std::optional<Time> next;
  for (const Group& group : kernels_[stream].groups)
    if (!next || group.end < *next) next = group.end;
  return next;
}

void SharedRoom::give(Time now, const std::function<void(std::uint32_t)>& begun) {
  changed_ = false;
  for (const std::uint32_t stream : coming_) kernels_[stream].came = now;
  queue_.insert(queue_.end(), coming_.begin(), coming_.end());
  coming_.clear();
  std::sort(queue_.begin(), queue_.end(), [&](std::uint32_t a, std::uint32_t b) {
    return std::pair(kernels_[a].came, a) < std::pair(kernels_[b].came, b);  // by stream is by client, too
  });
  std::optional<std::uint32_t> ahead;  // whose kernels are before
  std::vector<std::uint32_t> began;
  for (const std::uint32_t stream : queue_) {
    Standing& kernel = kernels_[stream];
    if (ahead && *ahead != kernel.client) break;
    if (begin_group(kernel, now)) began.push_back(stream);
    if (kernel.to_begin > 0) ahead = kernel.client;
  }
  std::erase_if(queue_, [&](std::uint32_t stream) { return kernels_[stream].to_begin == 0; });
  for (const std::uint32_t stream : began) begun(stream);
}

bool SharedRoom::begin_group(Standing& kernel, Time now) {
  const std::int64_t free = kParts - (all_held_ - held_[kernel.client]) - kernel.held;
  const std::int64_t blocks = std::min(kernel.to_begin, free / parts_of_block(kernel.need));
  if (blocks <= 0) return false;
  const std::int64_t waves = waves_in(kernel.need), number = kernel.begun++;
  const Duration lasts =
      up_to(kernel.need.length, number + 1, waves) - up_to(kernel.need.length, number, waves);
  const std::int64_t parts = blocks * parts_of_block(kernel.need);
  kernel.to_begin -= blocks;
  kernel.held += parts;
  held_[kernel.client] += parts;
  all_held_ += parts;
  kernel.groups.push_back({now + lasts, parts});
  return true;
}

}  // namespace gangway
