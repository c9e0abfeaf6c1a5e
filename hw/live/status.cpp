#include "hw/live/status.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <vector>

namespace gangway::live {
namespace {

using Json = nlohmann::ordered_json;

// Bytes of a status. An entry of a client has about 1,200, and at most 1,024 clients are connected; escapes
// can make their names six times as long.
constexpr std::size_t kLongestStatus = 8 << 20;
constexpr std::size_t kMostOthers = 256;  // processes that are no clients, in a status

// Upper bounds of the buckets in which the share of all decisions lies; null where there was none.
Json within(const ClientPage& page, double share) {
  std::uint64_t all = 0, seen = 0;
  for (const auto& bucket : page.woken) all += bucket.load();
  if (all == 0) return nullptr;
  for (std::uint32_t b = 0; b < kBuckets; ++b) {
    seen += page.woken[b].load();
    if (static_cast<double>(seen) >= share * static_cast<double>(all)) return 2ULL << b;
  }
  return 2ULL << (kBuckets - 1);
}

Json access_of(const ClientFacts& facts) {
  if (facts.moves) return "moves";
  if (!facts.scheduled) return "unscheduled";
  if (facts.state.unconfirmed) return "unconfirmed";
  if (facts.state.closing) return "closing";
  if (facts.state.allowed == 0) return "closed";
  if (facts.state.allowed == kIntercepted) return "intercepted";
  return facts.state.allowed == kUnlimited ? Json("open") : Json(facts.state.allowed);
}

// Of its latest jobs, from when each was due or came to its end.
Json latency_of(const LiveClient& client) {
  constexpr std::uint64_t kLatest = 1000;
  const std::uint64_t over = client.jobs_over();
  std::vector<std::int64_t> times;
  for (std::uint64_t j = over > kLatest ? over - kLatest : 0; j < over; ++j)
    if (const auto job = client.job(j)) times.push_back(job->ended - job->arrived);
  if (times.empty()) return {{"p50", nullptr}, {"p99", nullptr}};
  // The scheduler waits meanwhile, so they are not sorted.
  const auto at = [&](std::size_t percent) {
    const auto place = times.begin() + static_cast<std::ptrdiff_t>((times.size() * percent + 99) / 100 - 1);
    std::nth_element(times.begin(), place, times.end());
    return *place;
  };
  return {{"p50", at(50)}, {"p99", at(99)}};
}

// In bytes and ns.
Json memory_of(const ClientFacts& facts) {
  const MemoryStanding& page = facts.client->page().memory;
  const KeptClient::Memory seen = facts.client->memory();
  return {{"state", facts.memory.state},
          {"resident", seen.footprint() - std::min(seen.movable, seen.away)},
          {"away", seen.away},
          {"cannot_move", facts.memory.movable ? seen.fixed : seen.footprint()},
          {"pinned", page.host.load()},
          {"saves", page.saves.load()},
          {"restores", page.restores.load()},
          {"saved", page.saved.load()},
          {"restored", page.restored.load()},
          {"spared", page.spared.load()},
          {"passed_on", page.passed.load()},
          {"read_only", page.declared.load()},
          {"read_only_but_written", page.belied.load()},
          {"failed", seen.turned},
          {"last_error", seen.error},
          {"last_save_ns", page.save_ns.load()},
          {"last_restore_ns", page.restore_ns.load()}};
}

// Of a device; null where clients' memory stays.
Json memory_of(const Keeper& keeper) {
  if (!keeper.settings().managed) return nullptr;
  const auto capacity = keeper.capacity();
  return {{"capacity", capacity ? Json(*capacity) : Json()},
          {"others", keeper.outside()},
          {"least_slice_ns", keeper.least_slice().ns}};
}

Json json_of(const ClientFacts& facts) {
  const LiveClient& client = *facts.client;
  const ClientPage& page = client.page();
  const std::uint64_t job = page.job.load();
  return {{"name", client.name()},
          {"process", client.process()},
          {"program", client.program},
          {"group", client.group.empty() ? Json() : Json(client.group)},
          {"priority", client.introduction.priority},
          {"weight", client.introduction.weight},
          {"slo_ns", client.introduction.slo ? Json(client.introduction.slo->ns) : Json()},
          {"gpu", facts.gpu},
          {"demand", facts.demand ? Json(*facts.demand) : Json()},
          {"use", facts.use ? Json(*facts.use) : Json()},
          {"access", access_of(facts)},
          {"whole_jobs_only", facts.state.whole},
          {"job_under_way", (job & 1) != 0},
          {"jobs", client.jobs_begun()},
          {"latency_ns", latency_of(client)},
          {"functions_not_known", page.unknown.load()},
          {"submissions", page.submissions()},
          {"outstanding", page.outstanding()},
          {"channels", page.channels.load()},
          {"waiting_threads", page.waiting.load()},
          {"held", page.held.load()},
          {"held_ns", page.held_ns.load()},
          {"past_the_limit_in_flight", page.forced.load()},
          {"kernels_with_forms", page.kernels_with_forms.load()},
          {"kernels_without_forms", page.kernels_without.load()},
          {"launches_in_forms", page.formed.load()},
          {"slices", page.slices.launched.load()},
          {"evictions", page.evictions.load()},
          {"failed_launches", page.failed_launches.load()},
          {"kernels_that_wait", page.kernels_that_wait.load()},
          {"without_daemon", {{"times", page.orphaned.load()}, {"ns", page.orphaned_ns.load()}}},
          {"memory", memory_of(facts)},
          {"decision_to_submission_ns", {{"p50", within(page, 0.5)}, {"p99", within(page, 0.99)}}}};
}

Json json_of(const std::vector<DeviceProcess>& others) {
  Json all = Json::array();
  for (const DeviceProcess& other : others) {
    if (all.size() == kMostOthers) break;
    all.push_back({{"process", other.process}, {"command", other.command}});
  }
  return all;
}

}  // namespace

std::string status_text(const DaemonFacts& daemon, const std::vector<ClientFacts>& clients) {
  Json json{{"kind", "status"},
            {"version", 1},
            {"policy", daemon.policy},
            {"process", getpid()},
            {"up_ns", daemon.up.ns},
            {"looks_all_the_time", daemon.looks_all_the_time},
            {"clients_so_far", daemon.totals.clients},
            {"totals",
             {{"jobs", daemon.totals.jobs},
              {"submissions", daemon.totals.submissions},
              {"killed", daemon.totals.killed},
              {"permits_returned", daemon.totals.returned}}},
            {"status_texts", daemon.texts},
            {"use_window_ns", daemon.use_window.ns},
            {"place", daemon.place.empty() ? Json() : Json(daemon.place)},
            {"moves", daemon.moves},
            {"failed_moves", daemon.failed_moves},
            {"checkpoints", daemon.checkpoints ? Json(*daemon.checkpoints) : Json()},
            {"memory", daemon.gpus.size() == 1 ? memory_of(*daemon.gpus[0].keeper) : Json()},
            {"others", daemon.others ? json_of(daemon.others->found) : Json()},
            {"processes_not_looked_at", daemon.others ? Json(daemon.others->not_looked_at) : Json()},
            {"gpus", Json::array()},
            {"clients", Json::array()}};
  for (const DaemonFacts::OnGpu& gpu : daemon.gpus)
    json["gpus"].push_back({{"number", gpu.facts->number},
                            {"uuid", gpu.facts->uuid == kNoGpu ? Json() : Json(text_of(gpu.facts->uuid))},
                            {"name", gpu.facts->name.empty() ? Json() : Json(gpu.facts->name)},
                            {"programs", gpu.load.programs},
                            {"resident", gpu.load.resident},
                            {"use", gpu.use ? Json(*gpu.use) : Json()},
                            {"memory", memory_of(*gpu.keeper)}});
  for (const ClientFacts& facts : clients) json["clients"].push_back(json_of(facts));
  // Names are whatever programs are called.
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Descriptor status_file(const std::string& text) {
  Descriptor file(memfd_create("gangway-status", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file) return file;
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t n = write(file.get(), text.data() + done, text.size() - done);
    if (n <= 0) return Descriptor();
    done += static_cast<std::size_t>(n);
  }
  if (fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) != 0)
    return Descriptor();
  return file;
}

std::string ask_for_status(const std::string& path) {
  const Descriptor socket = connect_to(path);
  if (!socket)
    throw RunError("no daemon at " + path + " (" + std::strerror(errno) + "); gangway serve starts one");
  Hello hello;
  hello.version = kVersion;
  hello.kind = Kind::status;
  Welcome welcome;
  Descriptors received;
  if (!send_record(socket.get(), &hello, sizeof hello) ||
      !receive_record(socket.get(), &welcome, sizeof welcome, &received, 1))
    throw RunError("the daemon at " + path + " does not answer");
  welcome.why_not[sizeof welcome.why_not - 1] = '\0';
  if (welcome.accepted == 0) throw RunError(std::string("the daemon refuses: ") + welcome.why_not);
  struct stat facts {};
  if (!received[0] || fstat(received[0].get(), &facts) != 0 || facts.st_size < 0 ||
      static_cast<std::size_t>(facts.st_size) > kLongestStatus)
    throw RunError("the daemon at " + path + " does not answer");
  std::string text(static_cast<std::size_t>(facts.st_size), '\0');
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t n =
        pread(received[0].get(), text.data() + done, text.size() - done, static_cast<off_t>(done));
    if (n <= 0) throw RunError("the daemon at " + path + " does not answer");
    done += static_cast<std::size_t>(n);
  }
  return text;
}

}  // namespace gangway::live
