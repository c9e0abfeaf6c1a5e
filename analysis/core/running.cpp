#include "analysis/core/running.hpp"

#include <atomic>
#include <memory>
#include <mutex>
#include <utility>

#include "analysis/core/interpreter_lock.hpp"
#include "analysis/core/policy_calls.hpp"
#include "models/run/policy_watch.hpp"

namespace gangway::python {
namespace {

void end_call(const LongCall& call) {
  if (!Py_IsInitialized()) return;
  const InterpreterLock held;
  PolicyCall::end(call);
}

}  // namespace

struct Running::All {
  std::mutex mutex;
  std::atomic<int> count = 0;                // changed under the mutex
  std::unique_ptr<PolicyWatchman> watchman;  // while there are any
};

Running::All*& Running::all() {
  static All* all = new All;  // never destroyed: a run on a daemon's thread may outlive other statics
  return all;
}

Running::Running() : all_(*all()) {
  const std::lock_guard lock(all_.mutex);
  if (all_.count++ == 0) all_.watchman = std::make_unique<PolicyWatchman>(end_call);
}

Running::~Running() {
  std::unique_ptr<PolicyWatchman> last;  // its end waits for its thread
  const std::lock_guard lock(all_.mutex);
  if (--all_.count == 0) last = std::move(all_.watchman);
}

bool Running::any() { return all()->count > 0; }
void Running::forget_all() { all() = new All; }

}  // namespace gangway::python
