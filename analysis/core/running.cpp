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

struct Runs {
  std::mutex mutex;
  std::atomic<int> under_way = 0;            // changed under the mutex
  std::unique_ptr<PolicyWatchman> watchman;  // while there are any
};
Runs& runs_here() {
  static Runs& runs = *new Runs;  // never destroyed: a run on a daemon's thread may outlive other statics
  return runs;
}

}  // namespace

Running::Running() {
  Runs& runs = runs_here();
  const std::lock_guard lock(runs.mutex);
  if (runs.under_way++ == 0) runs.watchman = std::make_unique<PolicyWatchman>(end_call);
}

Running::~Running() {
  Runs& runs = runs_here();
  std::unique_ptr<PolicyWatchman> last;  // its end waits for its thread
  const std::lock_guard lock(runs.mutex);
  if (--runs.under_way == 0) last = std::move(runs.watchman);
}

bool Running::any() { return runs_here().under_way > 0; }

}  // namespace gangway::python
