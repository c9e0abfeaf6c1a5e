#include "tests/standin/engine/engine.hpp"

#include <algorithm>
#include <thread>
#include <utility>

#include "tests/standin/calls/call.hpp"
#include "tests/standin/contexts/context.hpp"
#include "tests/standin/engine/clock.hpp"
#include "tests/standin/engine/connection.hpp"
#include "tests/standin/engine/device_turn.hpp"
#include "tests/standin/engine/environment.hpp"
#include "tests/standin/engine/failure.hpp"
#include "tests/standin/streams/stream.hpp"

namespace gangway::standin {

Engine& Engine::get() {
  static auto* const engine =
      new Engine;  // never destroyed: its threads may be at work when the program ends
  return *engine;
}

void Engine::submit(const OperationPtr& operation, std::span<const OperationPtr> after) {
  if (operation->command != nullptr) {
    operation->id = ++last_id_;
    ++counters_.submitted;
    counters_.most_in_flight = std::max(counters_.most_in_flight, counters_.submitted - counters_.finished);
    tell(STANDIN_SUBMITTED, *operation);
  }
  for (const OperationPtr& earlier : after) {
    if (earlier->done) continue;
    earlier->successors.push_back(operation);
    ++operation->missing;
  }
  if (operation->missing == 0) release(operation);
}

// Starts what depends on nothing any more. Markers end at once, which may release others.
void Engine::release(OperationPtr first) {
  std::vector<OperationPtr> released{std::move(first)};
  while (!released.empty()) {
    const OperationPtr operation = std::move(released.back());
    released.pop_back();
    if (operation->command != nullptr) {
      ready_.insert(operation);
      if (idle_ >= ready_.size())
        work_.notify_one();
      else
        std::thread([this] { work(); }).detach();
      continue;
    }
    operation->done = true;
    operation->finished_ns = now_ns();
    for (OperationPtr& next : operation->successors)
      if (--next->missing == 0) released.push_back(std::move(next));
    operation->successors.clear();
  }
}

void Engine::finish(const OperationPtr& operation) {
  operation->done = true;
  operation->finished_ns = now_ns();
  if (operation->counted && --operation->stream->queued == 0) give_back_connection(*operation->stream);
  ++counters_.finished;
  tell(STANDIN_FINISHED, *operation);
  for (OperationPtr& next : std::exchange(operation->successors, {}))
    if (--next->missing == 0) release(std::move(next));
  progress_.notify_all();
}

void Engine::wait(std::unique_lock<std::mutex>& lock, const std::function<bool()>& condition) {
  progress_.wait(lock, condition);
}

bool Engine::may_start(const Operation& operation) const {
  if (operation.connection != nullptr && operation.connection->waiting.front() != &operation) return false;
  static const auto most = static_cast<std::size_t>(environment_number("STANDIN_CONCURRENT", 128));
  return !operation.command->occupies_device() || on_device_ < most;
}

OperationPtr Engine::take() {
  const auto found =
      std::find_if(ready_.begin(), ready_.end(), [&](const OperationPtr& o) { return may_start(*o); });
  if (found == ready_.end()) return nullptr;
  OperationPtr operation = *found;
  ready_.erase(found);
  return operation;
}

// What stands behind it may start.
void Engine::pass_connection(const Operation& operation) {
  if (operation.connection == nullptr) return;
  operation.connection->waiting.pop_front();
  work_.notify_all();
}

void Engine::work() {
  std::unique_lock lock(mutex);
  for (;;) {
    OperationPtr operation = take();
    if (operation == nullptr) {
      ++idle_;
      work_.wait(lock);
      --idle_;
      continue;
    }
    const bool on_device = operation->command->occupies_device();
    const bool skipped = operation->context->lost != CUDA_SUCCESS && !operation->command->runs_after_fault();
    if (on_device) ++on_device_;
    const bool keeps = operation->command->keeps_connection();
    if (!keeps) pass_connection(*operation);
    ++counters_.started;
    tell(STANDIN_STARTED, *operation);
    if (!skipped) {
      lock.unlock();
      CUresult result = CUDA_SUCCESS;
      try {
        const DeviceTurn turn(on_device);
        operation->command->run();
      } catch (...) {
        result = caught();
      }
      lock.lock();
      if (result != CUDA_SUCCESS && operation->context->lost == CUDA_SUCCESS)
        operation->context->lost = result;
    }
    if (on_device) --on_device_;
    if (keeps) pass_connection(*operation);
    finish(operation);
    operation.reset();
  }
}

void Engine::tell(StandinMoment moment, const Operation& operation) const {
  if (observer_ == nullptr) return;
  const StandinOperation told{operation.id, operation.command->name(), operation.stream_number};
  observer_(observer_user_, moment, &told);
}

void Engine::observe(StandinObserver observer, void* user) {
  observer_ = observer;
  observer_user_ = user;
}

}  // namespace gangway::standin

using gangway::standin::Engine;

namespace {
gangway::standin::Counters counted() {
  const std::lock_guard guard(Engine::get().mutex);
  return Engine::get().counters();
}
}  // namespace

extern "C" {

STANDIN_EXPORT void standin_observe(StandinObserver observer, void* user) {
  const std::lock_guard guard(Engine::get().mutex);
  Engine::get().observe(observer, user);
}
STANDIN_EXPORT uint64_t standin_submitted(void) { return counted().submitted; }
STANDIN_EXPORT uint64_t standin_started(void) { return counted().started; }
STANDIN_EXPORT uint64_t standin_finished(void) { return counted().finished; }
STANDIN_EXPORT uint64_t standin_in_flight(void) {
  const auto counters = counted();
  return counters.submitted - counters.finished;
}
STANDIN_EXPORT uint64_t standin_most_in_flight(void) { return counted().most_in_flight; }
}
