#include "hw/native/run.hpp"

#include <algorithm>

namespace gangway {

NativeOperation& NativeRun::add(NativeOperation operation, std::uint32_t blocks) {
  operation.first_stamp = stamps;
  if (operation.timed_by_event())
    operation.event = events++;
  else
    stamps += blocks;
  if (operation.coded) operation.start = starts++;
  ++releases.back().count;
  return operations.emplace_back(std::move(operation));
}

namespace {

bool among(const std::vector<std::uint32_t>& numbers, std::uint32_t number) {
  return std::find(numbers.begin(), numbers.end(), number) != numbers.end();
}

// Those of the clients, by number.
std::vector<std::uint32_t> streams_of(const NativeSetup& setup, const std::vector<std::uint32_t>& clients) {
  std::vector<std::uint32_t> used;
  for (const std::uint32_t client : clients) used.push_back(setup.stream_of[client]);
  std::sort(used.begin(), used.end());
  used.erase(std::unique(used.begin(), used.end()), used.end());
  return used;
}

std::uint32_t place_of(const std::vector<std::uint32_t>& used, std::uint32_t stream) {
  return static_cast<std::uint32_t>(std::lower_bound(used.begin(), used.end(), stream) - used.begin());
}

}  // namespace

NativeSetup part_of(const NativeSetup& setup, const std::vector<std::uint32_t>& clients) {
  const std::vector<std::uint32_t> used = streams_of(setup, clients);
  NativeSetup part = setup;
  part.streams.clear();
  for (const std::uint32_t stream : used) part.streams.push_back(setup.streams[stream]);
  for (std::uint32_t c = 0; c < part.kernels.size(); ++c) {
    part.stream_of[c] = among(clients, c) ? place_of(used, setup.stream_of[c]) : 0;
    if (!among(clients, c)) part.kernels[c].clear();
  }
  return part;
}

NativePart part_of(const NativeRun& run, const NativeSetup& setup,
                   const std::vector<std::uint32_t>& clients) {
  const std::vector<std::uint32_t> used = streams_of(setup, clients);
  NativePart part;
  for (std::size_t r = 0; r < run.releases.size(); ++r) {
    const NativeRelease& release = run.releases[r];
    if (!among(clients, release.job.client.index)) continue;
    part.releases.push_back(r);
    part.run.releases.push_back({release.time, release.job, part.run.operations.size(), 0});
    for (std::size_t i = 0; i < release.count; ++i) {
      NativeOperation operation = run.operations[release.first + i];
      operation.stream = place_of(used, operation.stream);
      part.operations.push_back(release.first + i);
      part.run.add(operation,
                   operation.copy ? 0 : setup.kernels[operation.job.client.index][operation.kernel].blocks);
    }
  }
  return part;
}

NativeMeasurement together(const NativeRun& whole, std::span<const NativePart> parts,
                           std::span<const NativeMeasurement> measured) {
  NativeMeasurement all;
  all.issued.resize(whole.operations.size());
  all.began.resize(whole.starts);
  all.ended.resize(whole.events);
  all.blocks.resize(whole.stamps);
  std::vector<bool> released(whole.releases.size());
  for (std::size_t p = 0; p < parts.size(); ++p) {
    const NativePart& part = parts[p];
    const NativeMeasurement& of_part = measured[p];
    for (std::size_t i = 0; i < of_part.operations; ++i) {
      const NativeOperation& from = part.run.operations[i];
      const NativeOperation& to = whole.operations[part.operations[i]];
      all.issued[part.operations[i]] = of_part.issued[i];
      if (from.timed_by_event()) all.ended[to.event] = of_part.ended[from.event];
      if (from.coded) all.began[to.start] = of_part.began[from.start];
      if (from.timed_by_event()) continue;
      const std::uint64_t end =
          i + 1 < part.run.operations.size() ? part.run.operations[i + 1].first_stamp : part.run.stamps;
      std::copy(of_part.blocks.begin() + static_cast<std::ptrdiff_t>(from.first_stamp),
                of_part.blocks.begin() + static_cast<std::ptrdiff_t>(end),
                all.blocks.begin() + static_cast<std::ptrdiff_t>(to.first_stamp));
    }
    for (std::size_t r = 0; r < of_part.releases; ++r) released[part.releases[r]] = true;
    all.late.insert(all.late.end(), of_part.late.begin(), of_part.late.end());
    all.uncertainty = std::max(all.uncertainty, of_part.uncertainty);
    all.lasted += of_part.lasted;
    all.off_cpu += of_part.off_cpu;
  }
  while (all.releases < released.size() && released[all.releases])
    all.operations += whole.releases[all.releases++].count;
  return all;
}

}  // namespace gangway
