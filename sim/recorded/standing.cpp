// Kernels of recorded programs that are launched in slices. README.md is the definition.
#include "sim/recorded/gpu_streams.hpp"

namespace gangway {

// The sliced kernel at the head could begin.
void GpuStreams::stand(std::uint32_t stream, Time now) {
  Stream& s = streams_[stream];
  s.phase = Phase::standing;
  s.since = now;
  s.done = 0;
  set_ready(s, false);
}

std::optional<GpuStreams::Standing> GpuStreams::current(ClientId id) {
  ClientStreams& client = clients_[id.index];
  if (!client.current)
    for (std::uint32_t s = client.first_stream; s < streams_.size() && streams_[s].client == id.index; ++s)
      if (streams_[s].phase == Phase::standing &&
          (!client.current || streams_[s].since < streams_[*client.current].since))
        client.current = s;
  if (!client.current) return std::nullopt;
  const Stream& s = streams_[*client.current];
  return Standing{std::uint64_t{*client.current} << 40 | s.passed, s.items.front().work->shape,
                  form_of(s, s.items.front()), s.done};
}

void GpuStreams::slice(ClientId id, std::int64_t until, Time now) {
  const std::uint32_t stream = *clients_[id.index].current;
  Stream& s = streams_[stream];
  const LeavingWaves& kernel = *form_of(s, s.items.front());
  s.until = until;
  s.left = kernel.slice(length_of(s, s.items.front()), until - s.done);
  s.phase = Phase::ready;
  s.start = now;
  set_ready(s, true);
  if (turns_of(s).on(s.context)) run(stream, now);
}

void GpuStreams::slice_over(std::uint32_t stream, Time now) {
  Stream& s = streams_[stream];
  ClientStreams& client = clients_[s.client];
  const ClientId id{s.client};
  s.done = s.until;
  const bool all = s.done >= form_of(s, s.items.front())->blocks;
  if (all) {
    client.current.reset();
    over(stream, now);
  } else {
    set_running(s, false);
    set_ready(s, false);
    s.phase = Phase::standing;
  }
  host_.sliced(id, all);
}

}  // namespace gangway
