// What polls cost, fitted to the readings of a made-up device of which it is known, and in the files.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <queue>
#include <sstream>

#include "experiments/library/calibration_files.hpp"
#include "hw/calibration/fitted.hpp"
#include "hw/calibration/measurements.hpp"
#include "hw/calibration/polls.hpp"
#include "models/error.hpp"
#include "models/input/document.hpp"
#include "models/random.hpp"
#include "tests/catch.hpp"
#include "tests/scratch_folder.hpp"

using namespace gangway;
using namespace gangway::literals;
using testing::ScratchFolder;
namespace fs = std::filesystem;

namespace {

constexpr std::int64_t kLaunch = 3'000, kPiece = 5'000;  // ns

// Reads of host memory queue one by one for whoever serves them, and then are on their way back. One launch
// of eight is disturbed, and the clock wavers.
class MadeUpPolls : public PollProbe {
 public:
  MadeUpPolls(Duration alone, Duration served, Duration claim, Duration look = 200_ns)
      : alone_(alone), served_(served), claim_(claim), look_(look) {}

  Duration read_host(std::int64_t blocks, std::int64_t reads) override {
    struct Request {
      std::int64_t at, left;
      bool operator>(const Request& other) const { return at > other.at; }
    };
    std::priority_queue<Request, std::vector<Request>, std::greater<>> requests;
    for (std::int64_t b = 0; b < blocks; ++b) requests.push({0, reads});
    std::int64_t free = 0, end = 0;
    while (!requests.empty()) {
      const Request first = requests.top();
      requests.pop();
      free = std::max(free, first.at) + served_.ns;
      const std::int64_t answered = free + (alone_ - served_).ns;
      end = std::max(end, answered);
      if (first.left > 1) requests.push({answered, first.left - 1});
    }
    return seen(end);
  }

  Duration work(std::int64_t pieces, Between between) override {
    const std::int64_t more =
        (between == Between::nothing ? 0 : claim_.ns) + (between == Between::look ? look_.ns : 0);
    return seen(kLaunch + pieces * (kPiece + more));
  }

  std::uint64_t launches = 0;

 private:
  Duration seen(std::int64_t length) {
    ++launches;
    const double wavering = 1 + 2e-4 * random_.normal();
    return {std::llround(static_cast<double>(length) * wavering) + (random_.below(8) == 0 ? 60'000 : 0)};
  }

  Duration alone_, served_, claim_, look_;
  Stream random_{1, "made-up device", {}};
};

CalibrationPlan at_once() {
  CalibrationPlan plan;
  plan.warm_up = {};
  return plan;
}

Calibration of_device(std::int64_t sms) {
  Calibration c;
  c.device.name = "made-up";
  c.device.sms = sms;
  c.device.sm.shared_memory = c.device.memory = {1 << 20};
  c.device.h2d = c.device.d2h = {Bandwidth{50'000'000'000}, 5_us};
  return c;
}

Calibration measured(MadeUpPolls probe, std::int64_t sms) {
  Calibration c = of_device(sms);
  measure_polls(probe, at_once(), c, false);
  fit_polls(c);
  return c;
}

const Line& line(const Calibration& c, const std::string& name) {
  return *std::find_if(c.lines.begin(), c.lines.end(), [&](const Line& l) { return l.name == name; });
}

std::string contents(const fs::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

// The files of a calibration, in a folder of the test's own.
class Files {
 public:
  explicit Files(const Calibration& c) {
    write_descriptions(c, "made-up", "gangway calibrate", folder_.path());
    write_account(c, "made-up", "gangway calibrate", folder_.path());
  }

  std::string text(const char* name) const { return contents(folder_ / name); }
  Device device() const { return read_device(Field(parse_yaml(text("device.yaml"), "device.yaml"), "")); }

 private:
  ScratchFolder folder_;
};

}  // namespace

TEST_CASE("costs of polls are found although launches are disturbed") {
  struct Costs {
    Duration served, claim, look;
  };
  for (const auto& [served, claim, look] :
       {Costs{1_us, 800_ns, 200_ns}, {250_ns, 430_ns, 350_ns}, {1'300_ns, 90_ns, 90_ns}}) {
    INFO(to_text(served) << " a read, " << to_text(claim) << " a claim, " << to_text(look) << " a look");
    const Calibration c = measured({1'300_ns, served, claim, look}, 132);
    REQUIRE(c.device.polls);
    CHECK(static_cast<double>(c.device.polls->host.ns) == Approx(served.ns).epsilon(0.005));
    CHECK(static_cast<double>(c.device.polls->device.ns) == Approx(look.ns).epsilon(0.05));
    CHECK_FALSE(c.device.polls->proxy);
    CHECK(line(c, "host poll").fit.residuals.median < 0.01 * 1056 * static_cast<double>(served.ns));
    for (const auto& [name, cost] : {std::pair("claim", claim), {"device poll", look}}) {
      const Estimate slope = line(c, name).fit.parameters[1];
      CHECK(slope.low < static_cast<double>(cost.ns));
      CHECK(slope.high > static_cast<double>(cost.ns));
    }
  }
}

TEST_CASE("what evictions through a proxy take beside the shortest block-tasks is in the costs") {
  Calibration c = of_device(132);
  const auto evictions = [&](const char* mechanism, std::int64_t length, double ns) {
    for (int i = 0; i < 11; ++i)
      c.readings.push_back({"eviction beside its block-task", mechanism, "throttle", length, ns + i});
  };
  evictions("flag-copy", 2'000, 6'800);
  evictions("proxy", 5'000, 9'000);
  evictions("proxy", 2'000, 4'700);
  measure_polls(*std::make_unique<MadeUpPolls>(1_us, 1_us, 400_ns), at_once(), c, false);
  fit_polls(c);
  CHECK(c.device.polls->proxy == Duration{4'705});
  CHECK(Files(c).device().polls->proxy == Duration{4'705});
}

TEST_CASE("what a read takes alone, and a launch, is not in the costs") {
  const Calibration far = measured({20_us, 1_us, 800_ns}, 132);
  CHECK(static_cast<double>(far.device.polls->host.ns) == Approx(1'000).epsilon(0.005));
  std::vector<double> alone;
  for (const Reading& r : far.readings)
    if (r.quantity == "host poll" && r.parameter == 1) alone.push_back(r.value);
  CHECK(alone.size() == 15);
  CHECK(*std::min_element(alone.begin(), alone.end()) == Approx(20'000).epsilon(0.002));
}

TEST_CASE("a device that serves reads side by side has no cost of a read in a row") {
  const Calibration c = measured({1'300_ns, 0_ns, 0_ns, 0_ns}, 132);
  CHECK(c.device.polls->host < 10_ns);
  CHECK(c.device.polls->device < 10_ns);
}

TEST_CASE("polls are measured as often as the plan says, and no more after an interrupt") {
  MadeUpPolls probe(1_us, 1_us, 1_us);
  CalibrationPlan plan = at_once();
  plan.polls = 7;
  Calibration c = of_device(2);
  measure_polls(probe, plan, c, false);
  std::map<std::pair<std::string, std::int64_t>, int> counts;
  for (const Reading& r : c.readings) ++counts[{r.quantity, r.parameter}];
  CHECK(counts.size() == 5 + 5 * 4);
  for (const auto& [what, count] : counts) {
    INFO(what.first << ' ' << what.second);
    CHECK(count == 7);
  }
  const std::uint64_t launches = probe.launches;
  CHECK_THROWS_AS(measure_polls(probe, plan, c, true), RunError);
  CHECK(probe.launches == launches);
}

TEST_CASE("costs of polls, their readings and their fits are in a calibration's files") {
  const Calibration c = measured({1'300_ns, 1_us, 800_ns}, 132);
  const Files files(c);
  const Device device = files.device();
  REQUIRE(device.polls);
  CHECK(device.polls->host == c.device.polls->host);
  CHECK(device.polls->device == c.device.polls->device);
  const std::string samples = files.text("samples.csv");
  for (const char* row : {"\nhost poll,,,1,", "\nhost poll,,,64,", "\nhost poll,,,1056,",
                          "\nclaimed work,,,200,", "\nwork without claims,,,200,", "\nwork with looks,,,200,",
                          "\nclaims beside work,,,25,", "\nlooks beside claims,,,25,"})
    CHECK(samples.find(row) != std::string::npos);
  const auto fits = nlohmann::json::parse(files.text("calibration.json"))["fits"];
  REQUIRE(fits.size() == 3);
  CHECK(fits[0]["name"] == "host poll");
  CHECK(fits[0]["slope"]["value"] == Approx(c.device.polls->host.ns).epsilon(0.001));
  CHECK(fits[0]["points"] == 4 * 15);
  CHECK(fits[1]["name"] == "claim");
  CHECK(fits[1]["slope"]["value"] == Approx(800).epsilon(0.03));
  CHECK(fits[2]["name"] == "device poll");
  CHECK(fits[2]["slope"]["value"] == Approx(c.device.polls->device.ns).margin(0.51));
}

TEST_CASE("a device whose polls were not measured has none in its file") {
  const Files files(of_device(132));
  CHECK_FALSE(files.device().polls);
}

TEST_CASE("launches after idle times: medians beyond launches one after the other, of one mechanism") {
  Calibration c;
  const auto read = [&](const char* quantity, const char* mechanism, std::int64_t idle, double ns) {
    c.readings.push_back({quantity, mechanism, "throttle", idle, ns});
  };
  for (const double ns : {9'000, 8'000, 30'000}) read("launch", "flag-copy", 0, ns);
  for (const double ns : {50'000, 50'000}) read("launch", "write-value", 0, ns);
  for (const double ns : {24'000, 90'000, 23'000}) read(kLaunchAfterIdle, "flag-copy", 30'000'000, ns);
  for (const double ns : {8'500, 8'600, 8'400}) read(kLaunchAfterIdle, "flag-copy", 100'000, ns);
  read(kLaunchAfterIdle, "write-value", 100'000, 99'000);
  const std::vector<AfterIdle> found = launches_after_idle(c, "flag-copy");
  REQUIRE(found.size() == 2);
  CHECK(found[0].idle == Duration{100'000});
  CHECK(found[0].longer == Duration{0});  // never less than one after the other
  CHECK(found[1].idle == Duration{30'000'000});
  CHECK(found[1].longer == Duration{15'000});
  CHECK(launches_after_idle(c, "proxy").empty());
}

TEST_CASE("calibration: what blocks in a row take longer than they are busy") {
  Calibration c;
  const auto refill_of = [&](std::initializer_list<double> times) {
    c.readings.clear();
    for (const double ns : times) c.readings.push_back({kBlocksInARow, "flag-copy", "throttle-2us", 0, ns});
    return refill(c, "flag-copy", "throttle-2us", 1'500, Duration{2'000});
  };
  CHECK(refill_of({3'000'000 + 1'499 * 310.0, 3'000'000 + 1'499 * 309.0, 9e6}) == Duration{310});
  CHECK(refill_of({2'990'000, 2'990'000, 2'990'000}) == Duration{0});
  CHECK(refill_of({9e6, 9e6}) == Duration{0});  // more than a block: something else was there, too
  CHECK(refill_of({}) == Duration{0});
  CHECK(refill(c, "proxy", "throttle-2us", 1'500, Duration{2'000}) == Duration{0});
}

TEST_CASE(
    "calibration: the files say what blocks in a row take longer, and which kernels were slow for a while") {
  Calibration c = measured({1'300_ns, 1'000_ns, 400_ns}, 132);
  CHECK(Files(c).text("device.yaml").find("delays") == std::string::npos);
  CHECK(Files(c).text("calibration.json").find("slower_for_a_while") == std::string::npos);
  c.device.delays.block_end = 310_ns;
  c.slower_for_a_while["BS"] = 0.05;
  CHECK(Files(c).device().delays.block_end == 310_ns);
  CHECK(nlohmann::json::parse(Files(c).text("calibration.json")).at("slower_for_a_while").at("BS") == 0.05);
}
