#include "models/recording/jobs.hpp"
#include "models/recording/summary.hpp"
#include "tests/catch.hpp"
#include "tests/models/recording/made_recording.hpp"

using namespace gangway;
using namespace gangway::recording;
using gangway::testing::MadeRecording;

TEST_CASE("busy, waiting for the host and neither add up to the time of jobs") {
  MadeRecording m;
  const Index s = m.stream(), t = m.stream();
  // Job 0, warm-up.
  m.kernel(s, 0, 10, 30);
  m.wait(OrderKind::stream, s, 10, 40);
  // Job 1, from 100 to 200: idle to 120, of which 5 until the first call returns; two streams overlap; at 170
  // the GPU waits for a call that returns at 177, then 3 more.
  m.kernel(s, 100, 120, 30);
  m.kernel(t, 106, 130, 40);
  m.kernel(s, 172, 180, 10);
  m.wait(OrderKind::context, 0, 178, 22);
  // Between jobs: not counted.
  m.r.memory = {{Time{1}, 0, 0, MemoryKind::device, 1000},
                {Time{2}, 0, 0, MemoryKind::pinned, 5000},
                {Time{3}, 0, 0, MemoryKind::device, 500},
                {Time{4}, 0, 0, MemoryKind::device, -1000}};
  JobRule rule;
  rule.skip = 1;
  cut_jobs(m.r, rule);
  const Summary summary = summarise(m.r);
  CHECK(summary.submissions == 4);
  CHECK(summary.jobs == 1);
  CHECK(summary.warm_up == 1);
  CHECK(summary.median == Duration{100});
  CHECK(summary.kernels_of_job == 3);
  REQUIRE(summary.gpus.size() == 1);
  const Summary::OfGpu& gpu = summary.gpus[0];
  CHECK(gpu.under_way == Duration{100});
  CHECK(gpu.busy == Duration{60});            // 120 to 170, 180 to 190
  CHECK(gpu.waits_for_host == Duration{12});  // 100 to 105, 170 to 177
  CHECK(gpu.most_memory == Bytes{1500});
  REQUIRE(summary.kernels.size() == 1);
  CHECK(summary.kernels[0].launches == 3);
  CHECK(summary.kernels[0].total == Duration{80});
  const std::string text = to_text(m.r, summary);
  CHECK(
      text.find("busy 60.0 % of the time of jobs, waits for the host 12.0 %: latencies are the bottleneck") !=
      std::string::npos);
  CHECK(text.find("submissions 3, kernels 3 (medians)\n") != std::string::npos);
  CHECK(text.find("1 job left out as warm-up") == std::string::npos);
  CHECK(text.find("1 job before them left out as warm-up") != std::string::npos);
}

TEST_CASE("what overlaps and is played one after the other is told") {
  MadeRecording m;
  const Index s = m.stream(), t = m.stream();
  m.kernel(s, 0, 10, 1000);
  m.kernel(t, 5, 20, 30);       // in another stream
  m.kernel(s, 100, 1000, 500);  // 10 beside the first
  m.kernel(s, 110, 1200, 100);  // wholly beside the second
  m.r.jobs = {{JobKind::nvtx, 0, Time{0}, Duration{100}, false},
              {JobKind::nvtx, 0, Time{90}, Duration{50}, false},
              {JobKind::nvtx, 0, Time{140}, Duration{50}, false}};
  Summary summary = summarise(m.r);
  CHECK(summary.overlapping_jobs == 1);
  CHECK(summary.overlapping_work == Duration{110});
  const std::string text = to_text(m.r, summary);
  CHECK(text.find("overlap   1 job begins before an earlier one of the same thread has ended") !=
        std::string::npos);
  CHECK(text.find("works of a stream run beside each other; predictions play them") != std::string::npos);
  m.r.works.back().begin = Time{1500};
  m.r.works[2].begin = Time{1005};  // 5 of 1,630
  m.r.jobs.pop_back();
  m.r.jobs.back().begin = Time{100};
  summary = summarise(m.r);
  CHECK((summary.overlapping_jobs == 0 && summary.overlapping_work == Duration{}));
  CHECK(to_text(m.r, summary).find("overlap") == std::string::npos);
}

TEST_CASE("jobs far beyond the 90th percentile are outliers, and the longest is named") {
  MadeRecording m;
  const Index s = m.stream();
  std::int64_t at = 0;
  const auto job = [&](std::int64_t length) {
    m.kernel(s, at, at + 10, 5);
    m.wait(OrderKind::stream, s, at + 20, length - 20);
    at += 2 * length;
  };
  job(900);  // warm-up
  for (int k = 0; k < 18; ++k) job(100);
  job(150);  // 1.5 times, not more
  JobRule rule;
  rule.skip = 1;
  cut_jobs(m.r, rule);
  CHECK(summarise(m.r).outliers == 0);
  CHECK(to_text(m.r, summarise(m.r)).find("outliers") == std::string::npos);
  job(151);
  cut_jobs(m.r, rule);
  const Summary summary = summarise(m.r);
  CHECK(summary.p90 == Duration{100});
  CHECK(summary.outliers == 1);
  CHECK(summary.longest_job == 19);
  CHECK(to_text(m.r, summary)
            .find("outliers  1 of 20 took more than 1.5 times the 90th percentile; the "
                  "longest is job 19\n") != std::string::npos);
}

TEST_CASE("what the host does behind the last work of a job is waiting for the host") {
  MadeRecording m;
  const Index s = m.stream();
  m.kernel(s, 0, 10, 30);
  m.wait(OrderKind::stream, s, 12, 33);  // returns at 45, 5 behind the kernel's end
  m.r.range_names = {{"", "step"}};
  m.r.ranges = {{0, 0, Time{0}, Duration{100}}};
  cut_jobs(m.r, read_job_rule("nvtx:step"));
  const Summary::OfGpu gpu = summarise(m.r).gpus.at(0);
  CHECK(gpu.under_way == Duration{100});
  CHECK(gpu.busy == Duration{30});
  CHECK(gpu.waits_for_host == Duration{5 + 55});
}

TEST_CASE("graphs count with their kernels") {
  MadeRecording m;
  const Index s = m.stream();
  m.r.graphs = {{0, 2}, {0, 3}};
  m.r.transfers = {{Bytes{1}, MemoryKind::device, MemoryKind::device, true}};
  m.r.nodes = {{0, WorkKind::kernel, 0, 0, Duration{0}, Duration{5}, 1},
               {0, WorkKind::memset, 0, 0, Duration{5}, Duration{1}, 1},
               {0, WorkKind::kernel, 0, 0, Duration{6}, Duration{5}, 1}};
  const Index call = m.call(0, CallKind::graph, 0, 5);
  m.r.works = {{call, s, WorkKind::graph, 0, Time{10}, Duration{20}}};
  m.wait(OrderKind::stream, s, 10, 30);
  cut_jobs(m.r, {});
  const Summary summary = summarise(m.r);
  CHECK(summary.kernels_of_job == 2);
  CHECK(summary.submissions_of_job == 1);
  CHECK(summary.graphs_without_nodes == 1);
  CHECK(summary.kernels[0].name == "graph 0");
  CHECK(to_text(m.r, summary)
            .find("submissions 1, kernels 2 (medians; the kernels of 1 graph are not known)\n") !=
        std::string::npos);
}

TEST_CASE("an empty recording has a summary") {
  MadeRecording m;
  cut_jobs(m.r, {});
  const Summary summary = summarise(m.r);
  CHECK(summary.jobs == 0);
  CHECK_FALSE(to_text(m.r, summary).empty());
}

TEST_CASE("kernels are named without their parameters") {
  CHECK(plain_name("_Z3addPfPKfi") == "add");
  CHECK(plain_name("_ZN2at6native4funcILi4EEEvPFvvE") == "at::native::func<4>");
  CHECK(plain_name("ampere_sgemm(a)") == "ampere_sgemm(a)");
  CHECK(plain_name("sm80_xmma") == "sm80_xmma");
}
