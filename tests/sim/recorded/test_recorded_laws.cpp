// What must hold of recorded programs under every policy that can play them, whatever they do.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "tests/cases.hpp"
#include "tests/catch.hpp"
#include "tests/scenario.hpp"
#include "tests/sim/recorded/random_recording.hpp"

namespace gangway::testing {
namespace {

constexpr Capabilities kOfRecordings{Capability::evict, Capability::native, Capability::access,
                                     Capability::intercept, Capability::sampling};

struct RecordedVariant {
  std::string text;
  bool controls = false, grants = false, kills = false;
};

// As it is; with all times as short as they can be, but for the limit of requests; and with that, too.
std::vector<RecordedVariant> recorded_variants(const PolicyEntry& policy) {
  const auto made = policy.make(ParameterValues(policy.parameters, std::nullopt));
  const Capabilities needs = made->needs();
  if (!needs.missing_from(kOfRecordings).none()) return {};
  const bool controls = needs.has(Capability::access);
  const bool grants = !controls && !needs.has(Capability::native);
  std::string times, limit;
  for (const Parameter& parameter : policy.parameters)
    if (const auto* time = std::get_if<Parameter::Time>(&parameter.form))
      (controls && parameter.name == "limit" ? limit : times) +=
          parameter.name + ": " + to_text(time->least) + ", ";
  std::vector<RecordedVariant> variants{{policy.name, controls, grants, false}};
  const auto add = [&](const std::string& values, bool kills) {
    variants.push_back(
        {fmt::format("{{name: {}, params: {{{}}}}}", policy.name, values), controls, grants, kills});
  };
  if (!times.empty()) add(times, false);
  if (!limit.empty()) add(times + limit, true);
  return variants;
}

std::vector<RecordedVariant> recorded_variants() {
  std::vector<RecordedVariant> all;
  for (const PolicyEntry& policy : Policies::all())
    for (RecordedVariant& variant : recorded_variants(policy)) all.push_back(std::move(variant));
  return all;
}

void play_variant(RecordedScenario& scenario, const RecordedVariant& variant) {
  scenario.granting.of = variant.grants ? GrantOf::job : GrantOf::kernel;
  scenario.play(variant.text);
}

}  // namespace

TEST_CASE("of recorded programs every job is over once, whatever the policy", "[recorded][long]") {
  std::size_t killed = 0, refused = 0, controls = 0;
  for (const int i : case_numbers(120, 8'000)) {
    RecordedScenario scenario;
    draw_recorded(static_cast<std::uint64_t>(i), scenario);
    for (const RecordedVariant& variant : recorded_variants()) {
      INFO("scenario " << i << " under " << variant.text);
      controls += variant.controls ? 1 : 0;
      play_variant(scenario, variant);
      std::set<JobId> over;
      for (const JobResult& job : scenario.results) {
        REQUIRE(over.insert(job.id).second);
        REQUIRE(job.outcome != Outcome::unfinished);
        killed += job.outcome == Outcome::killed ? 1 : 0;
        if (!variant.kills) REQUIRE(job.outcome == Outcome::finished);
      }
      std::size_t all = 0;
      for (const Client& client : scenario.clients) all += *client.repeat.jobs;
      if (!variant.kills) REQUIRE(over.size() == all);
      if (!variant.controls) continue;
      scenario.device.access.channels = 1 + i % 4;
      play_variant(scenario, variant);
      for (const JobResult& job : scenario.results) {
        REQUIRE(job.outcome != Outcome::unfinished);
        refused += job.outcome == Outcome::out_of_resources ? 1 : 0;
      }
      scenario.device.access.channels.reset();
      // Cut short, the laws of time hold, too.
      scenario.horizon = Time{2'000 + 100 * i};
      play_variant(scenario, variant);
      scenario.horizon = Time::max();
    }
  }
  CHECK(killed > 0);
  CHECK(refused > 0);
  CHECK(controls > 0);
}

// What states hold, by the trace: those that fit at first, in the order of clients, and then what it says.
void audit_memory(const RecordedScenario& scenario) {
  std::vector<std::int64_t> held;
  std::int64_t all = 0;
  for (const Client& client : scenario.clients) {
    held.push_back(all + client.memory.count <= scenario.device.memory.count ? client.memory.count : 0);
    all += held.back();
  }
  for (const Record& r : scenario.holds) {
    all += r.amount - held[r.job.client.index];
    held[r.job.client.index] = r.amount;
    REQUIRE((r.amount == 0 || r.amount == scenario.clients[r.job.client.index].memory.count));
    REQUIRE(all <= scenario.device.memory.count);
  }
  REQUIRE(all == 0);  // all have exited
}

TEST_CASE("states of programs that come and go never take more than there is", "[recorded][memory][long]") {
  std::size_t moved = 0;
  for (const int i : case_numbers(150, 8'000)) {
    RecordedScenario scenario;
    draw_recorded(static_cast<std::uint64_t>(i), scenario);
    scenario.moves_memory = true;
    std::int64_t largest = 0;
    for (std::size_t c = 0; c < scenario.clients.size(); ++c) {
      scenario.clients[c].memory = Bytes{static_cast<std::int64_t>(50 + (i * 7 + c * 31) % 60)};
      largest = std::max(largest, scenario.clients[c].memory.count);
    }
    scenario.device.memory = Bytes{largest + i % 70};
    scenario.device.h2d.bandwidth = scenario.device.d2h.bandwidth = Bandwidth{1'000'000'000};
    std::vector<RecordedVariant> variants = recorded_variants();
    for (const char* more : {"{name: microkernel-rr, params: {blocks: job, slice: 1 us}}",
                             "{name: microkernel-rr, params: {blocks: job, slice: 1 us, unready: yield}}",
                             "{name: microkernel-rr, params: {blocks: job, slice: 1 us, keep: while-room}}"})
      variants.push_back({more, false, true, false});
    for (const RecordedVariant& variant : variants) {
      if (!variant.grants) continue;
      INFO("scenario " << i << " under " << variant.text);
      play_variant(scenario, variant);
      audit_memory(scenario);
      for (const JobResult& job : scenario.results) REQUIRE(job.outcome == Outcome::finished);
      moved += scenario.holds.size() > scenario.clients.size() ? 1 : 0;
    }
  }
  CHECK(moved > 0);
}

TEST_CASE("traps that take no time change nothing for recorded programs", "[recorded][long]") {
  for (const int i : case_numbers(200, 10'000)) {
    RecordedScenario scenario;
    // Of two threads that call in one instant, one to submit and one to wait for that, the first one is
    // first.
    draw_recorded(static_cast<std::uint64_t>(i), scenario, 1);
    scenario.device.access = {};
    INFO("scenario " << i);
    scenario.play("passthrough");
    const auto free = scenario.jobs;
    scenario.play("trap-per-request");
    REQUIRE(scenario.jobs == free);
    if (scenario.clients.size() > 1) continue;
    for (const RecordedVariant& variant : recorded_variants()) {
      if (!variant.controls || variant.text.starts_with('{')) continue;
      INFO(variant.text);
      play_variant(scenario, variant);
      REQUIRE(scenario.jobs == free);
    }
  }
}

}  // namespace gangway::testing
