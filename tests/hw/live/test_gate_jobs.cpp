// When a client's jobs begin and end at its gate, and for which of them that is open.
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "hw/live/client.hpp"
#include "hw/live/monotonic.hpp"
#include "tests/catch.hpp"
#include "tests/hw/live/gated_process.hpp"
#include "tests/hw/live/listening.hpp"

namespace gangway::live {
namespace {

using testing::Process;
using testing::soon;

TEST_CASE("Jobs begin when they are due, and say when that was", "[live][threads]") {
  Process process;
  process.permit(kUnlimited);
  Releases& releases = process.source->permit.releases;
  releases.kind.store(Releases::after);  // and none is released
  const std::int64_t began = monotonic_ns();
  std::atomic<int> done{0};
  std::thread program([&] {
    for (int job = 0; job < 4; ++job) {
      process.submit(process.stream);
      process.driver.finish(process.stream);
      process.gate.after();
      ++done;
    }
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  CHECK(done == 0);
  CHECK(process.page().job.load() == 0);
  // Two at their times, of which the second is due before the first can be over.
  releases.due[0].store(began + 20'000'000);
  releases.due[1].store(began + 20'000'001);
  releases.kind.store(Releases::timed);
  releases.count.store(2);
  REQUIRE(soon([&] { return done == 2; }));
  const JobSlot* jobs = process.page().jobs;
  CHECK(jobs[0].arrived.load() == began + 20'000'000);
  CHECK(jobs[1].arrived.load() == began + 20'000'001);
  for (int job = 0; job < 2; ++job) {
    CHECK(jobs[job].number.load() == static_cast<std::uint64_t>(job) + 1);
    CHECK(jobs[job].begun.load() >= jobs[job].arrived.load());
    CHECK(jobs[job].ended.load() >= jobs[job].begun.load());
  }
  CHECK(jobs[1].begun.load() >= jobs[0].ended.load());
  // One after a time to think, and one as it comes.
  releases.think.store(10'000'000);
  releases.kind.store(Releases::after);
  releases.count.store(3);
  REQUIRE(soon([&] { return done == 3; }));
  CHECK(jobs[2].arrived.load() == jobs[1].ended.load() + 10'000'000);
  releases.kind.store(Releases::own);
  program.join();
  CHECK(jobs[3].arrived.load() < jobs[2].ended.load() + 1'000'000'000);
}

TEST_CASE("A job with an objective is not seen before its arrival is known", "[live]") {
  const Descriptor file = testing::memory(sizeof(ClientPage), testing::kPageSeals);
  void* const at = mmap(nullptr, sizeof(ClientPage), PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  REQUIRE(at != MAP_FAILED);
  ClientPage& page = *static_cast<ClientPage*>(at);
  LiveClient client(getpid(), Descriptor(), "it", -1, Descriptor(dup(file.get())));
  page.job.store(7);  // taken up, by a thread that has lost its core
  page.counted.store(4);
  CHECK(client.look().job == 7);
  client.introduction.slo = Duration{1'000'000};
  CHECK(client.look().job == 6);
  page.jobs[2].arrived.store(monotonic_ns() - 1'000'000'000);
  page.jobs[2].number.store(3);
  page.counted.store(5);
  CHECK(client.look().job == 7);
  CHECK(client.look().since_arrival.ns >= 1'000'000'000);
  page.ranges.store(1);  // what lies outside of ranges is not counted
  page.counted.store(6);
  CHECK(client.look().job == 7);
  munmap(at, sizeof(ClientPage));
}

TEST_CASE("Of threads that begin a job at once one writes its times", "[live]") {
  Process process;
  process.permit(kUnlimited);
  JobSlot& slot = process.page().jobs[0];
  slot.arrived.store(5);
  slot.begun.store(6);
  for (const std::uint64_t number : {JobSlot::kWritten, std::uint64_t{1}}) {  // another thread has begun it
    slot.number.store(number);
    process.page().job.store(0);
    process.submit(process.stream);
    CHECK(process.page().job.load() == 1);
    CHECK((slot.number.load() == number && slot.arrived.load() == 5 && slot.begun.load() == 6));
  }
}

TEST_CASE("A held thread whose job another one has ended begins the next", "[live][threads]") {
  Process process;
  process.permit(kUnlimited);
  process.submit(process.stream);
  const std::uint64_t begun = process.gate.before(process.stream);
  process.driver.finish(process.stream);
  process.gate.after(process.stream, begun);
  process.permit(0);
  std::atomic<bool> done{false};
  std::thread thread([&] {
    process.submit(process.stream);
    done = true;
  });
  REQUIRE(soon([&] { return process.page().waiting.load() == 1; }));
  const std::uint64_t job = process.page().job.load();
  CHECK(job == 3);
  SECTION("at a closed gate") {}
  SECTION("at one that is open for an earlier job only") {
    process.source->permit.last_job.store(job - 2);
    process.permit(kUnlimited);
  }
  process.page().job.store(job + 1);
  CHECK(soon([&] { return process.page().job.load() == job + 2; }));
  CHECK_FALSE(done.load());
  process.source->permit.last_job.store(job + 2);
  process.permit(kUnlimited);
  thread.join();
}

TEST_CASE("An open gate is for jobs up to the one that the permit names", "[live][threads]") {
  Process process;
  process.permit(kUnlimited);
  process.submit(process.stream);
  const std::uint64_t job = process.page().job.load();
  process.source->permit.last_job.store(job);
  process.submit(process.stream);  // the same one
  const std::uint64_t begun = process.gate.before(process.stream);
  process.driver.finish(process.stream);
  process.gate.after(process.stream, begun);
  CHECK(process.page().job.load() == job + 1);
  std::atomic<bool> done{false};
  std::thread thread([&] {
    process.submit(process.stream);
    done = true;
  });
  REQUIRE(soon([&] { return process.page().waiting.load() == 1; }));
  std::this_thread::sleep_for(std::chrono::milliseconds(30));  // until it sleeps
  CHECK_FALSE(done.load());
  CHECK(process.page().nobody_inside());
  CHECK(process.page().job.load() == job + 2);  // it has arrived
  SECTION("which grows") { process.source->permit.last_job.store(job + 2); }
  SECTION("or is for any") { process.source->permit.last_job.store(0); }
  SECTION("or closes first") {
    process.permit(0);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    process.source->permit.last_job.store(job + 2);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    CHECK_FALSE(done.load());
    process.permit(kUnlimited);
  }
  thread.join();
  CHECK(process.page().outstanding() == 1);
}

TEST_CASE("A job ends with the call that leaves nothing outstanding", "[live]") {
  Process process;
  process.permit(kUnlimited);
  const StreamName other{0x2000, 0};
  process.submit(process.stream);
  process.submit(other);
  CHECK(process.page().job.load() == 1);
  const std::uint64_t begun = process.gate.before(process.stream);
  process.driver.finish(process.stream);
  process.gate.after(process.stream, begun);
  CHECK(process.page().job.load() == 1);  // the other stream is busy
  process.driver.finish(other);
  process.gate.after();
  CHECK(process.page().job.load() == 2);
  process.submit(other);
  CHECK(process.page().job.load() == 3);
}

TEST_CASE("A job that begins before its predecessor's end is counted is counted all the same", "[live]") {
  Process process;
  process.permit(kUnlimited);
  process.submit(process.stream);
  ClientPage& page = process.page();
  const std::atomic<const PermitPage*> permit{&process.source->permit};
  GateJobs jobs(permit);
  page.job.store(2);  // by the thread that has ended the job, and has no core then
  jobs.begin(*permit.load(), page);
  REQUIRE(page.job.load() == 3);
  CHECK(jobs.count_over(page));
  CHECK(page.counted.load() == 3);
  CHECK(page.jobs[1].number.load() == 2);
}

TEST_CASE("What was submitted behind a synchronising call is still outstanding", "[live]") {
  Process process;
  process.permit(kUnlimited);
  process.submit(process.stream);
  const std::uint64_t begun = process.gate.before(process.stream);
  process.submit(process.stream);  // by another thread, meanwhile
  process.gate.after(process.stream, begun);
  CHECK(process.page().outstanding() == 1);
  CHECK(process.page().job.load() == 1);
}

}  // namespace
}  // namespace gangway::live
