// One direction of copying between host and device: first come, first served; copies asked for at the same
// instant in client order.
#pragma once

#include <algorithm>
#include <deque>
#include <vector>

#include "models/device.hpp"
#include "models/identity.hpp"

namespace gangway {

class CopyQueue {
 public:
  struct Copy {
    JobId job;
    Bytes size;
    bool of_program = true;  // else ordered by a policy
  };

  explicit CopyQueue(const CopyEngine& engine) : engine_(engine) {}

  void ask(const Copy& copy) { asked_.push_back(copy); }

  // Ends the instant: queues what was asked for; true when a copy begins now, which then is current().
  bool settle() {
    if (asked_.empty() && (busy_ || waiting_.empty())) return false;
    if (!asked_.empty()) {
      std::sort(asked_.begin(), asked_.end(), [](const Copy& a, const Copy& b) { return a.job < b.job; });
      waiting_.insert(waiting_.end(), asked_.begin(), asked_.end());
      asked_.clear();
    }
    if (busy_ || waiting_.empty()) return false;
    current_ = waiting_.front();
    waiting_.pop_front();
    return busy_ = true;
  }

  const Copy& current() const { return current_; }
  Duration current_time() const { return engine_.latency + transfer_time(current_.size, engine_.bandwidth); }
  void finish() { busy_ = false; }
  void reset() {
    asked_.clear();
    waiting_.clear();
    busy_ = false;
  }

 private:
  CopyEngine engine_;
  std::vector<Copy> asked_;
  std::deque<Copy> waiting_;
  Copy current_;
  bool busy_ = false;
};

}  // namespace gangway
