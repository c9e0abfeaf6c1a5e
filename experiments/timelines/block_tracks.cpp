#include "experiments/timelines/block_tracks.hpp"

#include <fmt/format.h>

namespace gangway {
namespace {

constexpr int kMostTracks = 1 << 12;  // of an SM

}  // namespace

void BlockTracks::draw(const BlockSpan& span) {
  for (const BlocksOnSm& here : span.where) draw(here, span);
}

// A track shows one span at a time: each goes where the last one ended latest before it begins.
void BlockTracks::draw(const BlocksOnSm& here, const BlockSpan& span) {
  if (free_from_.empty()) events_.process(process_, "blocks on SMs");
  if (free_from_.size() <= here.sm) free_from_.resize(here.sm + 1);
  std::vector<Time>& tracks = free_from_[here.sm];
  auto best = tracks.end();
  for (auto track = tracks.begin(); track != tracks.end(); ++track)
    if (*track <= span.began && (best == tracks.end() || *track > *best)) best = track;
  const auto index = static_cast<std::uint32_t>(best - tracks.begin());
  if (index == kMostTracks) {
    ++left_out_;
    return;
  }
  const int thread = static_cast<int>(here.sm * kMostTracks + index);
  if (best == tracks.end()) {
    tracks.emplace_back();
    events_.thread(process_, thread, fmt::format("SM {}", here.sm));
  }
  tracks[index] = span.began + Duration{span.waves * span.length.ns};
  const Client& client = workload_->clients[span.job.client.index];
  const Kernel& kernel = client.kernels[span.kernel];
  events_.span(process_, thread, client.name + " " + kernel.name, span.began, tracks[index],
               {{"client", client.name},
                {"job", span.job.number},
                {"kernel", kernel.name},
                {"launch", span.launch.value},
                {"sm", here.sm},
                {"blocks", here.count},
                {"threads", kernel.threads()},
                {"waves", span.waves}});
}

}  // namespace gangway
