// Recordings made by hand, for tests.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <string>

#include "models/recording/recording.hpp"

namespace gangway::testing {

// One GPU, one process, one context; calls are made in the order of time.
class MadeRecording {
 public:
  MadeRecording() {
    using namespace recording;
    r.about.command = {"./app", "an argument"};
    r.about.origin = 1'700'000'000'000'000'000;
    r.about.length = Duration{5'000'000};
    r.about.jobs = "sync";
    r.gpus = {{"A GPU", 132, 9, 0, 1'980'000, 3, Bytes{1LL << 36}, Bytes{1 << 25}}};
    r.processes = {{10, 9, {"./app"}, Time{0}, true}};
    r.contexts = {{0, 0, 1}};
    for (std::uint8_t kind = 0; kind < kCallKinds; ++kind)
      r.functions.push_back({"function" + std::to_string(kind), static_cast<CallKind>(kind)});
    r.launches = {{"_Z1kv", {4, 1, 1}, {32, 1, 1}, {0, 0, 0}, 16, Bytes{8}, Bytes{0}, Bytes{0}, false}};
    thread();
  }

  recording::Index thread() {
    r.threads.push_back({0, static_cast<std::uint32_t>(10 + r.threads.size()), "thread"});
    return static_cast<recording::Index>(r.threads.size() - 1);
  }
  recording::Index stream(recording::StreamKind kind = recording::StreamKind::non_blocking) {
    r.streams.push_back({0, static_cast<std::uint32_t>(7 + r.streams.size()), kind, 0});
    return static_cast<recording::Index>(r.streams.size() - 1);
  }
  recording::Index call(recording::Index thread, recording::CallKind kind, std::int64_t begin,
                        std::int64_t length) {
    r.calls.push_back(
        {thread, static_cast<recording::Index>(kind), Time{begin}, Duration{length}, 0, recording::kNone});
    return static_cast<recording::Index>(r.calls.size() - 1);
  }
  // Submits a kernel at `begin`, for 5 ns; returns the call.
  recording::Index kernel(recording::Index stream, std::int64_t begin, std::int64_t runs, std::int64_t length,
                          recording::Index thread = 0) {
    const recording::Index made = call(thread, recording::CallKind::kernel, begin, 5);
    r.works.push_back({made, stream, recording::WorkKind::kernel, 0, Time{runs}, Duration{length}});
    return made;
  }
  recording::Index copy(recording::Index stream, std::int64_t begin, std::int64_t runs, std::int64_t length,
                        recording::Transfer transfer) {
    const recording::Index made =
        call(0, recording::CallKind::copy, begin, transfer.asynchronous ? 5 : length + 10);
    r.transfers.push_back(transfer);
    r.works.push_back({made, stream, recording::WorkKind::copy,
                       static_cast<recording::Index>(r.transfers.size() - 1), Time{runs}, Duration{length}});
    return made;
  }
  recording::Index record(recording::Index stream, std::int64_t begin) {
    const recording::Index made = call(0, recording::CallKind::record, begin, 1);
    r.orders.push_back({made, recording::OrderKind::record, stream, recording::kNone});
    return made;
  }
  void wait_event(recording::Index stream, recording::Index recorded, std::int64_t begin) {
    r.orders.push_back({call(0, recording::CallKind::wait_event, begin, 1), recording::OrderKind::wait_event,
                        stream, recorded});
  }
  recording::Index wait(recording::OrderKind kind, recording::Index place, std::int64_t begin,
                        std::int64_t length, recording::Index thread = 0) {
    using enum recording::OrderKind;
    const recording::Index made = call(thread, recording::CallKind::synchronize, begin, length);
    if (kind == event)
      r.orders.push_back({made, kind, recording::kNone, place});
    else
      r.orders.push_back({made, kind, place, recording::kNone});
    return made;
  }

  // A kernel that begins 10 after its call does, for which its thread waits until 2 after its end.
  recording::Index awaited_kernel(recording::Index stream, std::int64_t begin, std::int64_t length,
                                  recording::Index thread = 0) {
    const recording::Index made = kernel(stream, begin, begin + 10, length, thread);
    wait(recording::OrderKind::stream, stream, begin + 6, length + 6, thread);
    return made;
  }
  // The calls from `first` on are a job.
  void job(recording::Index first, recording::JobKind kind, std::int64_t begin, std::int64_t length) {
    const auto number = static_cast<recording::Index>(r.jobs.size());
    r.jobs.push_back({kind, r.calls[first].thread, Time{begin}, Duration{length}, false});
    for (auto call = first; call < r.calls.size(); ++call) r.calls[call].job = number;
  }

  recording::Recording r;
};

// A folder that is gone with this object.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "gangway-XXXXXX").string();
    path = mkdtemp(name.data());
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::filesystem::path path;
};

}  // namespace gangway::testing
