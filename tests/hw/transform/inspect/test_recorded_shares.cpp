// Shares of a recording's GPU time, by hand.
#include "hw/transform/inspect/kernel_rows.hpp"
#include "hw/transform/inspect/recorded_shares.hpp"
#include "models/recording/file.hpp"
#include "tests/catch.hpp"
#include "tests/models/recording/made_recording.hpp"
#include "tests/scratch_folder.hpp"

namespace gangway::testing {
namespace {

using namespace transform;

InspectedKernel preemptible_row(const std::string& name) {
  InspectedKernel row;
  row.kernel = name;
  row.demangled = demangled(name);
  row.forms = {"slice"};
  return row;
}

}  // namespace

TEST_CASE("GPU time is shared out to kernels by name", "[inspect]") {
  const ScratchFolder scratch;
  MadeRecording made;
  recording::Recording& r = made.r;
  const recording::Index stream = made.stream();
  r.launches.clear();
  // Mangled, as recordings have them; in full and without parameters, as profiles may; and unknown.
  for (const char* name : {"_Z5scalePff", "void pick<int>(int*, int)", "add", "gemm"})
    r.launches.push_back({name, {1, 1, 1}, {32, 1, 1}, {0, 0, 0}, 16, Bytes{0}, Bytes{0}, Bytes{0}, false});
  r.graphs = {{0, 1}};
  const auto work = [&](recording::WorkKind kind, recording::Index shape, std::int64_t at,
                        std::int64_t length) {
    const recording::Index call = made.call(0, recording::CallKind::kernel, at, 10);
    r.works.push_back({call, stream, kind, shape, Time{at + 20}, Duration{length}});
  };
  work(recording::WorkKind::kernel, 0, 0, 100);
  work(recording::WorkKind::kernel, 1, 1000, 200);
  work(recording::WorkKind::kernel, 2, 2000, 50);
  work(recording::WorkKind::kernel, 0, 3000, 150);
  work(recording::WorkKind::kernel, 3, 4000, 300);
  work(recording::WorkKind::graph, 0, 5000, 200);
  const std::string file = (scratch / "a.rec").string();
  recording::write_recording(r, file, false);

  Inspection found;
  found.settings.recording = file;
  found.kernels = {preemptible_row("_Z5scalePff"), preemptible_row("_Z4pickIiEvPT_i"),
                   formless_kernel("_Z3addPi", "no PTX")};
  add_recorded_shares(file, found);
  REQUIRE(found.kernels.size() == 4);
  CHECK(found.gpu_time == Duration{1000});
  CHECK(found.in_graphs == Duration{200});
  CHECK(*found.kernels[0].gpu_time_share == Approx(0.25));
  CHECK(found.kernels[0].launches == 2);
  CHECK(*found.kernels[1].gpu_time_share == Approx(0.2));
  CHECK(*found.kernels[2].gpu_time_share == Approx(0.05));
  CHECK(found.kernels[3].kernel == "gemm");
  CHECK(*found.kernels[3].gpu_time_share == Approx(0.3));
  CHECK(found.kernels[3].forms.empty());
  CHECK(found.kernels[3].refused.size() == 3);
  CHECK(found.preemptible() == 2);
  CHECK(found.preemptible_share() == Approx(0.45));
}

}  // namespace gangway::testing
