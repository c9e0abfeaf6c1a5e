// Clients that go to another GPU, one at a time: gpus/README.md has the rule, placement.hpp computes it.
#include <fmt/format.h>

#include <algorithm>

#include "hw/live/daemon.hpp"

namespace gangway::live {
namespace {

constexpr Duration kBetweenDecisions{1'000'000'000};
constexpr std::uint64_t kLargeState = std::uint64_t{256} << 20;  // whose move shows how fast states go
constexpr std::uint64_t kMargin = 16;                            // one of so many bytes is nobody's

double gibibytes(std::uint64_t bytes) { return static_cast<double>(bytes) / (1 << 30); }

}  // namespace

// Bytes that a state could take, by GPU.
std::vector<std::uint64_t> Daemon::rooms() const {
  std::vector<std::uint64_t> room;
  for (const auto& gpu : gpus_) {
    const std::uint64_t resident = resident_on(gpu->place),
                        usable = gpu->facts.memory - gpu->facts.memory / kMargin;
    const std::uint64_t left = usable > resident ? usable - resident : 0;
    room.push_back(std::min(left, gpu->keeper.unpromised().value_or(UINT64_MAX)));
  }
  return room;
}

void Daemon::consider_moves(Time time) {
  if (time - considered_ < std::min(kBetweenDecisions, Duration{settings_.moves.window.ns / 4})) return;
  considered_ = time;
  std::vector<Wanting> wanting;
  std::vector<LiveClient*> who;
  for (const auto& [fd, client] : clients_) {
    const UseWindow& window = windows_.at(client.get());
    const KeptClient::Memory memory = client->memory();
    const bool knows =
        memory.total != 0 && client->checkpoints() != nullptr && !client->checkpoints()->hopeless();
    const bool rests = gpus_[client->gpu]->keeper.facts(*client).state == "here" && !client->stopped();
    wanting.push_back(
        {client->gpu, window.demand(), memory.footprint(),
         client->group.empty() && client->id != kUnscheduled && window.full() && knows && rests});
    who.push_back(client.get());
  }
  if (const auto choice = best_move(wanting, rooms(), pace_, settings_.moves))
    begin_move(*who[choice->client], choice->to, time);
}

// No policy has it until it has arrived: to theirs it has gone.
void Daemon::begin_move(LiveClient& client, std::size_t to, Time time) {
  closes(client);
  client.id = kUnscheduled;
  client.permit(0);
  const std::uint64_t bytes = client.memory().footprint();
  gpus_[client.gpu]->keeper.stays(client, true);
  gpus_[to]->keeper.reserve(bytes);
  move_ = Move{&client, to, time, bytes};
  log(time, "moves", fmt::format("-1,{}", client.name()), gpus_[to]->facts.number, client.gpu);
}

void Daemon::go_on_moving(Time time) {
  Move& move = *move_;
  LiveClient& client = *move.client;
  if (move.asked) {
    if (client.moves()) return;
    const GpuUuid& to = gpus_[move.to]->facts.uuid;
    const bool there = client.latest_move().moved || client.page().is_on() == to;
    if (there) client.is_on(to);  // the helper may have been unable to
    return end_move(there ? ""
                    : client.latest_move().error == -1
                        ? "the process for checkpoints is gone"
                        : fmt::format("the driver's error {}", client.latest_move().error));
  }
  if (client.checkpoints()->hopeless()) return end_move("there are no checkpoints of it");
  if (client.look().drained()) {
    move.asked = client.move(gpus_[client.gpu]->facts.uuid, gpus_[move.to]->facts.uuid);
    return move.asked ? void() : end_move("its memory is on its way");
  }
  if (!std::exchange(move.looked, true)) client.ask();
  if (time - move.began > drain_limit_) end_move("its work did not end within the drain limit");
}

void Daemon::end_move(const std::string& why_not) {
  const Move move = *move_;
  move_.reset();
  LiveClient& client = *move.client;
  Gpu &from = *gpus_[client.gpu], &to = *gpus_[move.to];
  from.keeper.stays(client, false);
  to.keeper.reserve(0);
  const LiveClient::Moved& took = client.latest_move();
  const std::string what = fmt::format("{} ({})", client.name(), client.process());
  if (why_not.empty()) {
    is_now_on(client, to.place);
    ++moves_;
    const auto per_second = [&](std::int64_t ns) {
      return static_cast<double>(move.bytes) / (static_cast<double>(std::max<std::int64_t>(ns, 1)) / 1e9);
    };
    if (took.error == 0 && move.bytes >= kLargeState) {
      pace_.save = per_second(took.save_ns);
      pace_.restore = per_second(took.ns - took.save_ns);
      pace_.fixed = {};  // those speeds contain it
    }
    say(fmt::format("{}: {:.3f} GiB moved from GPU {} to GPU {} in {:.3f} s", what, gibibytes(move.bytes),
                    from.facts.number, to.facts.number, static_cast<double>(took.ns) / 1e9));
  } else {
    ++failed_moves_;
    const bool here = client.memory().away == 0;
    say(fmt::format("{}: no move to GPU {}: {}; it {}", what, to.facts.number, why_not,
                    here ? fmt::format("goes on on GPU {}", from.facts.number)
                         : fmt::format("is in host memory until GPU {} takes it back", from.facts.number)));
  }
  log(now(), why_not.empty() ? "moved" : "not moved", fmt::format("-1,{}", client.name()),
      (now() - move.began).ns, client.gpu);
  for (auto& [other, window] : windows_)
    if (other->gpu == from.place || other->gpu == to.place) window.restart();
  opens(client);
}

void Daemon::forget_move(const LiveClient& client) {
  if (!move_ || move_->client != &client) return;
  gpus_[move_->to]->keeper.reserve(0);
  ++failed_moves_;
  log(now(), "not moved", fmt::format("-1,{}", client.name()), (now() - move_->began).ns, client.gpu);
  move_.reset();
}

}  // namespace gangway::live
