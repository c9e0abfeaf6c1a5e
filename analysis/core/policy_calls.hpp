// Calls of policies in Python, which can be ended from another thread. The interpreter's lock must be held
// for all that is here.
#pragma once

#include <nanobind/nanobind.h>

#include <optional>
#include <string>

#include "models/run/policy_watch.hpp"

namespace gangway::python {

namespace nb = nanobind;

// A method of a policy is at work on this thread as long as this lives.
class PolicyCall {
 public:
  explicit PolicyCall(const char* method);
  ~PolicyCall() { leave(); }
  PolicyCall(const PolicyCall&) = delete;
  PolicyCall& operator=(const PolicyCall&) = delete;

  // The call is over. Throws NotReturned if it was to be ended, ForeignError with what it threw otherwise, if
  // it threw.
  void finish(const nb::python_error* thrown = nullptr);

  // Raises an exception in the policy's code that is at work on that call's thread, if any: code in other
  // languages goes on until it returns.
  static void end(const LongCall& call);
  // In a child after fork(): the calls of its parent have no threads here.
  static void forget_all();

 private:
  void leave();

  const std::string method_;
  const pthread_t thread_ = pthread_self();
  std::optional<Duration> ended_after_;
};

// Throws what a policy in Python threw as a ForeignError, with type, text and place, in one line.
[[noreturn]] void rethrow(const nb::python_error& error);

// Returns what the method of a policy returns. Throws as PolicyCall::finish().
template <typename Call>
nb::object call_policy(const char* method, Call call) {
  PolicyCall under_way(method);
  nb::object answer;
  try {
    answer = call();
  } catch (const nb::python_error& error) {
    under_way.finish(&error);
  }
  under_way.finish();
  return answer;
}

}  // namespace gangway::python
