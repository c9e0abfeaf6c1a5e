#include <algorithm>

#include "experiments/sweeps/without_effect.hpp"
#include "models/error.hpp"
#include "tests/catch.hpp"
#include "tests/experiments/fig4.hpp"
#include "tests/scratch_folder.hpp"

using namespace gangway;
using testing::kFig4;

namespace {

Experiment with(std::vector<Override> changes) {
  changes.push_back({"published", "[]"});
  return read_experiment(kFig4, changes);
}

Experiment with_policy(const std::string& policy, const std::string& sweep = "") {
  std::vector<Override> changes{{"policies", "[" + policy + "]"}, {"mechanism", "slice"}};
  if (!sweep.empty()) changes.push_back({"sweep", sweep});
  return with(changes);
}

void refused(const std::string& policy, const std::string& message, const std::string& sweep = "") {
  CHECK_THROWS_WITH(with_policy(policy, sweep), Catch::Matchers::ContainsSubstring(message));
}

}  // namespace

TEST_CASE("a parameter that another one switches off is refused", "[effect]") {
  for (const char* fine :
       {"pkm", "{name: pkm, params: {latency: 2 ms}}", "{name: pkm, params: {slice: declared}}",
        "{name: pkm, params: {slice: declared, block_tasks: 7}}",
        "{name: pkm, params: {slice: block-tasks, block_tasks: 7}}"})
    CHECK_NOTHROW(with_policy(fine));
  refused("{name: pkm, params: {block_tasks: 7}}",
          "policies.0.params.block_tasks': found '7', expected nothing, as it acts only with slice: "
          "block-tasks or declared");
  refused("{name: pkm, params: {slice: declared, latency: 5 ms}}",
          "policies.0.params.latency': found '5 ms', expected nothing, as it acts only with slice: latency");
  refused("{name: pkm, params: {slice: block-tasks, latency: 1 ms}}", "latency': found '1 ms'");
}

TEST_CASE("in a sweep it is enough that a parameter acts somewhere", "[effect]") {
  const std::string both = "{name: pkm, params: {latency: 2 ms, block_tasks: 7}}";
  CHECK_NOTHROW(with_policy(both, "{policies.pkm.params.slice: [latency, block-tasks]}"));
  CHECK_NOTHROW(with_policy(
      "pkm", "{policies.pkm.params.block_tasks: [1, 2], policies.pkm.params.slice: [latency, declared]}"));
  refused(both, "latency': found '2 ms'", "{policies.pkm.params.slice: [declared, block-tasks]}");
  refused("pkm", "block_tasks': found '1'", "{policies.pkm.params.block_tasks: [1, 2]}");
}

TEST_CASE("linger is refused where whole jobs are granted", "[effect]") {
  const auto granting = [](const std::string& grant, const std::string& sweep = "") {
    std::vector<Override> changes{{"policies", "[{name: rr, params: {linger: 1 ms}}]"}, {"grant", grant}};
    if (!sweep.empty()) changes.push_back({"sweep", sweep});
    return with(changes);
  };
  CHECK_NOTHROW(granting("kernel"));
  CHECK_NOTHROW(granting("job", "{grant: [kernel, job]}"));
  CHECK_THROWS_WITH(granting("job"),
                    Catch::Matchers::ContainsSubstring("policies.0.params.linger': found '1 ms', expected "
                                                       "nothing, as it acts only with grant: kernel"));
}

TEST_CASE("kernels that never end are for policies that can do without them", "[effect]") {
  const auto under = [](const std::string& policies) {
    return with({{"workload.clients.VA.kernels.0.never_ends", "7"},
                 {"policies", policies},
                 {"device.arbitration", "direct"}});
  };
  CHECK_NOTHROW(under("[passthrough, timeslice, disengaged-fair-queueing]"));
  for (const char* wrong :
       {"[rr]", "[timeslice, rr]", "[{name: passthrough, label: rr, device: {arbitration: native-fifo}}]"})
    CHECK_THROWS_WITH(under(wrong),
                      Catch::Matchers::ContainsSubstring(
                          "clients.VA.kernels.VA.never_ends': found 7 under the policy 'rr', expected "
                          "policies that control access, or passthrough with arbitration: direct"));
}

TEST_CASE("keys of clients that no policy heeds are noted", "[effect]") {
  using Lines = std::vector<std::string>;
  const auto noted = [](const std::string& key, const std::string& value,
                        std::vector<Override> more = {{"policies", "[rr]"}}) {
    more.push_back({"workload.clients.VA." + key, value});
    return notes_without_effect(with(more));
  };
  const std::vector<Override> direct{{"policies", "[rr, passthrough]"}, {"device.arbitration", "direct"}};
  const std::vector<Override> trapped{{"policies", "[rr, timeslice]"}};
  const std::vector<Override> native{{"policies", "[passthrough]"}, {"device.arbitration", "native-fifo"}};
  CHECK(noted("blocking", "true").empty());
  CHECK(noted("blocking", "false") ==
        Lines{"key blocking of VA has no effect, as clients submit to channels under no policy here"});
  for (const auto& [key, value] :
       {std::pair{"blocking", "false"}, {"channels", "2"}, {"kernels.0.channel", "1"}}) {
    CAPTURE(key);
    CHECK(noted(key, value).size() == 1);
    CHECK(noted(key, value, direct).empty());
    CHECK(noted(key, value, trapped).empty());
  }
  for (const auto& [key, value] : {std::pair{"trivial_requests", "1.5"},
                                   {"kernels.0.trapped_time", "1 ms"},
                                   {"kernels.0.trapped_gap", "1 ms"}}) {
    CAPTURE(key);
    CHECK(noted(key, value).size() == 1);
    CHECK(noted(key, value, direct).size() == 1);
    CHECK(noted(key, value, trapped).empty());
  }
  for (const auto& [key, value] : {std::pair{"context", "x"},
                                   {"stream", "x"},
                                   {"kernels.0.exceptions", "[{job: 0, block: 0, length: 1 us}]"}}) {
    CAPTURE(key);
    CHECK(noted(key, value).size() == 1);
    CHECK(noted(key, value, direct).size() == 1);
    CHECK(noted(key, value, native).empty());
    CHECK(noted(key, value, {{"policies", "[rr]"}, {"workload.clients.VA.native", "true"}}).empty());
  }
}

TEST_CASE("what grants say of programs is noted where there are none", "[effect]") {
  const auto noted = [](const std::string& grant) {
    return notes_without_effect(with({{"policies", "[rr]"}, {"grant", grant}}));
  };
  CHECK(noted("{of: job, idle: 1 ms}").empty());
  CHECK(noted("{of: job, in_flight: 4}") ==
        std::vector<std::string>{"key grant.in_flight has no effect, as no client is a program"});
  CHECK(noted("{of: job, overlap: true, forms: worth}").size() == 2);
  CHECK(noted("{of: job, overlap: false, forms: none}").empty());
}

TEST_CASE("jitter of gaps is noted where there are none", "[effect]") {
  const Override jitter{"workload.jitter", "{gap: 20 %}"};
  CHECK(notes_without_effect(with({jitter})) ==
        std::vector<std::string>{"jitter of gap has no effect, as no kernel has one"});
  CHECK(notes_without_effect(with({jitter, {"workload.clients.VA.kernels.0.gap", "1 ms"}})).empty());
  CHECK(notes_without_effect(with({jitter, {"clients", "[VA, BS]"}})).empty());  // the file's jitter
}

TEST_CASE("sweeps of what nothing here uses are noted", "[effect]") {
  using Lines = std::vector<std::string>;
  const auto noted = [](const std::string& sweep, std::vector<Override> more = {}) {
    more.push_back({"sweep", sweep});
    if (more.size() == 1) more.push_back({"policies", "[rr]"});
    return notes_without_effect(with(more));
  };
  const Override polls{"device.polls", "{host: 1 us, device: 1 us}"};
  const std::string reading = "{device.polls.host: [1 us, 2 us]}";
  CHECK(noted(reading, {polls}) ==
        Lines{"sweep of device.polls.host has no effect, as no mechanism here polls"});
  CHECK(noted(reading, {polls, {"mechanism", "basic"}}).empty());
  CHECK(noted("{mechanism: [flag-copy, basic], device.polls.host: [1 us, 2 us]}", {polls}).empty());

  const std::string by_proxy = "{device.polls.proxy: [1 us, 2 us]}",
                    unread = " has no effect, as no mechanism here goes by it";
  CHECK(noted(by_proxy, {polls, {"mechanism", "proxy"}}).empty());
  CHECK(noted(by_proxy, {polls, {"mechanism", "basic"}}) == Lines{"sweep of device.polls.proxy" + unread});
  CHECK(noted(reading, {polls, {"mechanism", "proxy"}}).empty());
  const Override known{"device.polls", "{host: 1 us, device: 1 us, proxy: 3 us}"};
  CHECK(noted(reading, {known, {"mechanism", "proxy"}}) == Lines{"sweep of device.polls.host" + unread});
  CHECK(noted("{device.polls.device: [1 us, 2 us]}", {known, {"mechanism", "proxy"}}).empty());

  // Where no eviction delay is given, only what comes before the drain follows it.
  const Override derived{"workload",
                         "{kind: workload, version: 1, name: one, clients: [{name: RED, kernels: "
                         "[{name: RED, time: 1 ms, block_tasks: 1000, block: [256]}]}]}"};
  CHECK(noted(by_proxy, {derived, {"permutations", "1"}, polls, {"mechanism", "proxy"}}).empty());

  const std::string switching = "{device.access.switch: [1 us, 2 us]}";
  CHECK(noted(switching) ==
        Lines{"sweep of device.access.switch has no effect, as clients submit to channels "
              "under no policy here"});
  CHECK(noted(switching, {{"policies", "[rr, timeslice]"}}).empty());

  const std::string queues = "{device.queue_order: [became-head, release-ready]}";
  CHECK(noted(queues) ==
        Lines{"sweep of device.queue_order has no effect, as no client submits to the device's "
              "own queues"});
  CHECK(noted(queues, {{"policies", "[rr, passthrough]"}}).empty());
  CHECK(noted(queues, {{"workload.clients.VA.native", "true"}, {"policies", "[rr]"}}).empty());
  CHECK(noted("{device.arbitration: [native-fifo, direct]}").size() == 1);
  CHECK(noted("{device.arbitration: [native-fifo, direct]}", {{"policies", "[rr, passthrough]"}}).empty());

  const std::string useful = "{mechanism.params.useful: [0.1, 0.2]}";
  CHECK(
      noted(useful, {{"policies", "[{name: pkm, mechanism: slice}]"}}) ==
      Lines{
          "sweep of mechanism.params.useful has no effect, as every policy here has a mechanism of its own"});
  CHECK(noted(useful, {{"policies", "[{name: pkm, mechanism: slice}, rr]"}}).empty());

  CHECK(noted("{device.commands.launch: [1 us, 2 us], workload.arrivals.gap: [1 ms, 2 ms]}").empty());
}

TEST_CASE("a published value of no client is refused", "[effect]") {
  const auto published = [](const std::string& except) {
    return read_experiment(kFig4, {{"clients", "[VA, BS]"},
                                   {"published",
                                    "[{figure: f, policy: sjf, metric: ntt, published: 1, class: tight, "
                                    "clients: {take: max, except: [" +
                                        except + "]}}]"}});
  };
  CHECK_NOTHROW(published("VA"));
  CHECK_THROWS_WITH(
      published("VA, BS"),
      Catch::Matchers::ContainsSubstring("found all clients in except, expected at least one that is not"));
}

TEST_CASE("jitter of blocks is noted where no client is native", "[effect]") {
  const Override jitter{"workload.jitter", "{block_time: 20 %}"};
  const auto noted = [&](std::vector<Override> more) {
    more.push_back(jitter);
    return notes_without_effect(with(more)).size();
  };
  CHECK(noted({}) == 1);
  CHECK(notes_without_effect(with({})).empty());
  CHECK(noted({{"policies", "[passthrough]"}, {"device.arbitration", "native-fifo"}}) == 0);
  CHECK(noted({{"workload.clients.VA.native", "true"}, {"policies", "[sjf]"}}) == 0);
}

TEST_CASE("a sweep of what turns of contexts do not heed is noted", "[effect]") {
  const auto noted = [](const std::string& path, std::vector<Override> more = {}) {
    const bool is_time = path != "order" && path != "blocks";
    for (const Override& usual : {Override{"device.time_slice", "{length: 2 ms, switch: 100 us}"},
                                  {"device.arbitration", "native-timeslice"},
                                  {"policies", "[passthrough]"}})
      if (std::none_of(more.begin(), more.end(), [&](const Override& own) { return own.path == usual.path; }))
        more.insert(more.begin(), usual);
    more.push_back({"sweep", "{device.time_slice." + path + ": " +
                                 (is_time           ? "[10 us, 20 us]"
                                  : path == "order" ? "[waiting, creation]"
                                                    : "[end, stop]") +
                                 "}"});
    return notes_without_effect(with(more));
  };
  const auto of = [](const std::string& path, const std::string& why) {
    return std::vector<std::string>{"sweep of device.time_slice." + path + " has no effect, as " + why};
  };
  for (const char* acts : {"length", "switch", "order", "blocks"}) CHECK(noted(acts).empty());
  for (const char* path : {"renewal", "linger"})
    CHECK(noted(path) == of(path, "only turns of recorded programs heed it"));
  for (const char* path : {"stop", "resume", "stop_full", "resume_full"}) {
    CHECK(noted(path) == of(path, "no blocks are stopped here"));
    CHECK(noted(path, {{"device.time_slice.blocks", "stop"}}).empty());
  }
  CHECK(noted("choice") == of("choice", "who has waited for longest follows here"));
  CHECK(noted("choice", {{"device.time_slice.order", "creation"}}).empty());
  CHECK(noted("length", {{"device.arbitration", "native-fifo"}}) ==
        of("length", "no contexts take turns on the device here"));
  const auto with_arbitrations = [&](const std::string& path, const std::string& values) {
    return notes_without_effect(with({{"policies", "[passthrough]"},
                                      {"device.time_slice", "{length: 2 ms, switch: 100 us}"},
                                      {"device.arbitration", "native-fifo"},
                                      {"sweep",
                                       "{device.arbitration: [native-fifo, native-timeslice], "
                                       "device.time_slice." +
                                           path + ": " + values + "}"}}));
  };
  CHECK(with_arbitrations("order", "[waiting, creation]").empty());  // it acts at some points
  CHECK(
      notes_without_effect(with({{"policies", "[passthrough]"},
                                 {"sweep",
                                  "{device.arbitration: [native-timeslice, native-fifo], device.time_slice: "
                                  "[{length: 1 ms, switch: 1 us}, {length: 2 ms, switch: 1 us}]}"}}))
          .empty());
  CHECK(noted("length", {{"device.rules", "{CUDA: {T1: false}}"}}) ==
        of("length", "no contexts take turns on the device here"));
  // A block's time less what follows it makes a kernel's, so block_end acts on all.
  CHECK(notes_without_effect(with({{"sweep", "{device.delays.block_end: [0 us, 1 us]}"}})).empty());
  CHECK(notes_without_effect(with({{"sweep", "{device.delays.kernel_end: [0 us, 1 us]}"}})).size() == 1);
  CHECK(with_arbitrations("linger", "[1 us, 2 us]").size() == 2);  // for two reasons
  CHECK(noted("length", {{"policies", "[rr]"}}) == of("length", "no contexts take turns on the device here"));
}
