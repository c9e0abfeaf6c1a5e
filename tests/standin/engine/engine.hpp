// Runs operations on worker threads as soon as what they depend on is done. One lock guards the whole driver;
// workers hold it between operations only.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <set>
#include <span>

#include "tests/standin/engine/operation.hpp"
#include "tests/standin/standin.h"

namespace gangway::standin {

struct Counters {
  std::uint64_t submitted = 0, started = 0, finished = 0, most_in_flight = 0;
};

class Engine {
 public:
  static Engine& get();

  std::mutex mutex;  // the driver's

  // Adds an operation that starts when all of `after` are done. The caller holds the lock.
  void submit(const OperationPtr&, std::span<const OperationPtr> after);

  // Gives the lock away until the condition holds; it is looked at whenever an operation ends.
  void wait(std::unique_lock<std::mutex>&, const std::function<bool()>& condition);

  const Counters& counters() const { return counters_; }
  void observe(StandinObserver observer, void* user);

 private:
  void release(OperationPtr);
  void finish(const OperationPtr&);
  void pass_connection(const Operation&);
  void tell(StandinMoment, const Operation&) const;
  void work();
  bool may_start(const Operation&) const;
  OperationPtr take();

  struct Earlier {
    bool operator()(const OperationPtr& a, const OperationPtr& b) const {
      return a->priority != b->priority ? a->priority < b->priority : a->id < b->id;
    }
  };
  std::set<OperationPtr, Earlier> ready_;
  std::condition_variable work_, progress_;
  std::size_t idle_ = 0, on_device_ = 0;
  std::uint64_t last_id_ = 0;
  Counters counters_;
  StandinObserver observer_ = nullptr;
  void* observer_user_ = nullptr;
};

}  // namespace gangway::standin
