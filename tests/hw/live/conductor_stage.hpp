// Live clients and a clock that the tests play.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "hw/live/conductor.hpp"

namespace gangway::live::testing {

// Does what a test says, and remembers what it was told.
class FakeClient : public Port {
 public:
  void permit(std::uint32_t allowed) override { permitted = allowed; }
  void until_job(std::uint64_t last) override { last_job = last; }
  void admit(std::uint64_t number) override { admitted = number; }
  void limit(std::optional<std::int64_t> channels) override { limited = channels; }
  Standing look() override { return standing; }
  void slice(std::uint32_t kernel, std::uint32_t until) override { sliced.push_back({kernel, until}); }
  void ask() override { ++asked; }
  void rouse() override { ++roused; }
  void kill() override { killed = true; }

  void begin_job() {
    if (standing.job % 2 == 0) ++standing.job;
  }
  void end_job() {
    if (standing.job % 2 == 1) ++standing.job;
    standing.outstanding = 0;
  }

  struct SliceOrder {
    std::uint32_t kernel, until;
    bool operator==(const SliceOrder&) const = default;
  };
  std::vector<SliceOrder> sliced;
  std::optional<std::int64_t> limited;
  Standing standing;
  std::uint32_t permitted = 0;
  std::uint64_t admitted = 0, last_job = 0;
  int asked = 0, roused = 0;
  bool killed = false;
  ClientId id;
};

class Steps : public Journal {
 public:
  void note(Time now, Step step, ClientId client, std::int64_t value) override {
    all.push_back({now, step, client.index, value});
  }
  struct Noted {
    Time time;
    Step step;
    std::uint32_t client;
    std::int64_t value;
  };
  int count(Step step) const {
    int n = 0;
    for (const Noted& noted : all) n += noted.step == step ? 1 : 0;
    return n;
  }
  std::vector<Noted> all;
};

// All clients' memory is on the device, whatever is ordered.
struct ResidentMemory : MemoryDesk {
  Residence residence(ClientId, DeviceId) const override { return Residence::resident; }
  Bytes room(DeviceId) const override { return {}; }
  Bytes held(ClientId, DeviceId) const override { return {}; }
  bool holds(JobId, DeviceId, BlockRange) const override { return true; }
  Bytes takes(JobId, DeviceId, BlockRange) const override { return {}; }
  Bytes copies(JobId, DeviceId, BlockRange) const override { return {}; }
  bool changed_elsewhere(JobId, DeviceId, BlockRange) const override { return false; }
  bool changed_on(JobId, DeviceId, BlockRange) const override { return false; }
  Bytes merged(ClientId) const override { return {}; }
  Duration copy_time(Bytes) const override { return {}; }
  void restore(ClientId) override {}
  void save(ClientId) override {}
  std::optional<Done> done() override { return std::nullopt; }
  Duration moves() const override { return moves_for; }
  Duration moves_for;
};

// `parameters`: a mapping, as `serve --param` makes it.
inline std::unique_ptr<Policy> policy_of(const std::string& name, const std::string& parameters) {
  const Node given = parse_yaml(parameters, "test");
  const PolicyEntry& entry = Policies::named(name, "test", "policy");
  return entry.make(ParameterValues(entry.parameters, Field(given, name)));
}

// A conductor with one policy, its clients, and the time that it is told.
struct Stage {
  explicit Stage(const std::string& policy, GateSettings settings = {}, const std::string& parameters = "{}")
      : conductor(Conductor::make(policy, policy_of(policy, parameters), settings, steps)) {
    conductor->begin({});
  }
  explicit Stage(std::unique_ptr<Policy> policy)
      : conductor(Conductor::make("its own", std::move(policy), {}, steps)) {
    conductor->begin({});
  }
  FakeClient& open(std::int32_t priority = 0, std::uint32_t program = 0) {
    clients.push_back(std::make_unique<FakeClient>());
    clients.back()->id = *conductor->opens(now, *clients.back(), {priority, program});
    return *clients.back();
  }
  FakeClient& open(const Introduction& introduction) {
    clients.push_back(std::make_unique<FakeClient>());
    clients.back()->id = *conductor->opens(now, *clients.back(), introduction);
    return *clients.back();
  }
  // Steps at `now` + each following `grain`, up to and at `until`.
  void play(Time until, Duration grain = Duration{100'000}) {
    for (; now <= until; now = now + grain) conductor->step(now);
    now = until;
    conductor->step(now);
  }
  void at(Time time) {
    now = time;
    conductor->step(now);
  }

  Steps steps;
  std::unique_ptr<Conductor> conductor;
  std::vector<std::unique_ptr<FakeClient>> clients;
  Time now;
};

inline Time ms(std::int64_t n) { return Time{n * 1'000'000}; }

}  // namespace gangway::live::testing
