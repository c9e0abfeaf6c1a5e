// The probe of what polls cost, on a GPU: what is timed is what it says. Skipped without one.
#include <algorithm>

#include "hw/cuda/cuda_poll_probe.hpp"
#include "tests/catch.hpp"
#include "tests/hw/cuda/gpu.hpp"

using namespace gangway;
using namespace gangway::literals;
using gangway::testing::have_gpu;

using Between = PollProbe::Between;

namespace {

// Least of several: disturbed ones are longer.
template <typename Call>
double least_ns(Call call) {
  Duration least = Duration::max();
  for (int i = 0; i < 10; ++i) least = std::min(least, call());
  return static_cast<double>(least.ns);
}

}  // namespace

TEST_CASE("polls of one block and of some", "[gpu][small]") {
  if (!have_gpu()) return;
  const auto probe = make_cuda_poll_probe();
  CHECK(probe->read_host(1, 2) > 0_ns);
  CHECK(probe->read_host(7, 3) > 0_ns);
  CHECK(probe->work(2, Between::claim) > probe->work(1, Between::nothing));
}

TEST_CASE("reads of host memory are as many as asked for, one after the other in each block", "[gpu]") {
  if (!have_gpu()) return;
  const auto probe = make_cuda_poll_probe();
  const std::int64_t sms = describe_cuda_device(0).sms;
  for (const std::int64_t blocks : {std::int64_t{1}, sms}) {
    const double few = least_ns([&] { return probe->read_host(blocks, 20); });
    const double many = least_ns([&] { return probe->read_host(blocks, 80); });
    INFO(blocks << " blocks, " << few << " and " << many << " ns");
    CHECK(few > 20 * 200);  // no bus answers in 200 ns
    CHECK(many / few == Approx(4).epsilon(0.2));
  }
  CHECK(least_ns([&] { return probe->read_host(4 * sms, 20); }) >=
        0.9 * least_ns([&] { return probe->read_host(1, 20); }));
}

TEST_CASE("polled work is the same work and the polls between", "[gpu]") {
  if (!have_gpu()) return;
  const auto probe = make_cuda_poll_probe();
  for (int i = 0; i < 100; ++i) probe->work(100, Between::nothing);  // clocks rise
  const double half = least_ns([&] { return probe->work(100, Between::nothing); });
  const double whole = least_ns([&] { return probe->work(200, Between::nothing); });
  const double polled_half = least_ns([&] { return probe->work(100, Between::claim); });
  const double polled = least_ns([&] { return probe->work(200, Between::claim); });
  INFO(half << ' ' << whole << ' ' << polled_half << ' ' << polled);
  CHECK(whole / half == Approx(2).epsilon(0.05));
  CHECK(polled - polled_half > whole - half);
  const double claim = ((polled - polled_half) - (whole - half)) / 100;
  CHECK(claim > 50);
  CHECK(claim < 3'000);
  // The proxy takes a block's place, and the others do as many pieces each.
  const double looks = least_ns([&] { return probe->work(200, Between::look); }) -
                       least_ns([&] { return probe->work(100, Between::look); });
  INFO(looks);
  const double look = (looks - (polled - polled_half)) / 100;
  CHECK(look > -50);
  CHECK(look < 2'000);
}

TEST_CASE("more polling blocks than the device holds are refused", "[gpu]") {
  if (!have_gpu()) return;
  const auto probe = make_cuda_poll_probe();
  std::string why;
  try {
    static_cast<void>(probe->read_host(1 << 20, 1));
  } catch (const RunError& error) {
    why = error.what();
  }
  CHECK(why.find("cudaLaunchCooperativeKernel: ") == 0);
  CHECK(probe->read_host(1, 1) > 0_ns);  // nothing is lost
}
