// The gate while streams are captured, with a driver that the tests play.
#include "tests/catch.hpp"
#include "tests/hw/live/gated_process.hpp"

namespace gangway::live {
namespace {

using testing::Process;

TEST_CASE("A capturing stream passes a closed gate and is never asked", "[live]") {
  Process process;
  process.permit(kUnlimited);
  process.submit(process.stream);
  process.driver.finish(process.stream);
  process.submit(process.stream);
  {
    Gate::CaptureBegin capture(process.gate, process.stream);
    process.driver.set_capturing(process.stream, true);
    capture.began();
  }
  process.permit(0);
  const Submission submission{&process.stream, false};
  const Pass pass = process.gate.enter(submission);  // would wait for ever
  CHECK_FALSE(pass.engaged);
  process.gate.leave(pass, submission, true);
  CHECK_FALSE(process.gate.look());
  CHECK(process.driver.queries_of_capturing() == 0);
  process.driver.set_capturing(process.stream, false);
  process.gate.capture_ended(process.stream);
  process.driver.finish(process.stream);
  CHECK(process.gate.look());
}

TEST_CASE("What is captured does not count, whether or not the thread has passed the gate before", "[live]") {
  Process process;
  process.permit(kUnlimited);
  process.submit(process.stream);
  process.submit(process.stream);
  const StreamSlot* const slot = Gate::find(process.page(), process.stream);
  REQUIRE(slot != nullptr);
  CHECK(slot->begun.load() == 2);
  {
    Gate::CaptureBegin capture(process.gate, process.stream);
    process.driver.set_capturing(process.stream, true);
    capture.began();
  }
  const Submission submission{&process.stream, false};
  const Pass pass = process.gate.enter(submission);
  CHECK_FALSE(pass.engaged);
  process.gate.leave(pass, submission, true);
  CHECK(slot->begun.load() == 2);
  process.submit({0x2000, 0});  // of another stream
  process.driver.set_capturing(process.stream, false);
  process.gate.capture_ended(process.stream);
  process.submit(process.stream);
  CHECK(slot->begun.load() == 3);
  CHECK(process.page().submissions() == 4);
}

TEST_CASE("A capture ends with its stream, and with its context", "[live]") {
  Process process;
  const auto capture = [&](const StreamName& stream) {
    Gate::CaptureBegin(process.gate, stream).began();
    REQUIRE(process.gate.captures());
  };
  capture(process.stream);
  Gate::StreamEnd(process.gate, process.stream).gone();
  CHECK_FALSE(process.gate.captures());
  capture(process.stream);
  capture(StreamName::of_this_thread(2));
  Gate::ContextEnd(process.gate, 1).gone();  // the stream's, says the driver
  CHECK(process.gate.captures());
  process.gate.capture_ended(StreamName::of_this_thread(3));  // another stream
  CHECK(process.gate.captures());
  process.gate.capture_ended(StreamName::of_this_thread(2));
  CHECK_FALSE(process.gate.captures());
  { const Gate::CaptureBegin failed(process.gate, process.stream); }
  CHECK_FALSE(process.gate.captures());
}

}  // namespace
}  // namespace gangway::live
