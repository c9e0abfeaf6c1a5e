#include "hw/record/call_log.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <utility>

#include "hw/live/thread_end.hpp"

namespace gangway::spool {
namespace {

struct AllLogs {
  std::mutex mutex;
  std::vector<CallLog*> logs;
};

// Never destroyed: threads outlive what the library's end would take away.
AllLogs& all() {
  static auto* const logs = new AllLogs;
  return *logs;
}

constinit thread_local CallLog* current = nullptr;

}  // namespace

void CallLog::thread_ends() {
  if (current == nullptr) return;
  const std::lock_guard lock(current->mutex_);
  current->ended_ = true;
  current = nullptr;  // what is called even later comes into another log
}

CallLog::CallLog() : thread(static_cast<std::uint32_t>(syscall(SYS_gettid))) {}

CallLog& CallLog::mine() {
  if (current == nullptr) {
    current = new CallLog;
    live::ThreadEnd<&CallLog::thread_ends>::await();
    const std::lock_guard lock(all().mutex);
    all().logs.push_back(current);
  }
  return *current;
}

void CallLog::put(const Call& call) {
  const std::lock_guard lock(mutex_);
  calls_.push_back(call);
}

void CallLog::take_all(const std::function<void(const Call&)>& to) {
  std::vector<CallLog*> logs;
  {
    const std::lock_guard lock(all().mutex);
    logs = all().logs;
  }
  std::vector<Call> calls;
  for (CallLog* log : logs) {
    calls.clear();
    bool ended = false;
    {
      const std::lock_guard lock(log->mutex_);
      calls.swap(log->calls_);
      ended = log->ended_;
    }
    for (const Call& call : calls) to(call);
    if (!ended) continue;
    const std::lock_guard lock(all().mutex);
    std::erase(all().logs, log);
    delete log;
  }
}

}  // namespace gangway::spool
