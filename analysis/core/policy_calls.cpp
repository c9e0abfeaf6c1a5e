#include "analysis/core/policy_calls.hpp"

#include <nanobind/stl/string.h>

#include <vector>

#include "models/error.hpp"

namespace gangway::python {
namespace {

std::vector<PolicyCall*>& calls_under_way() {
  static std::vector<PolicyCall*> calls;
  return calls;
}

unsigned long known_to_interpreter(pthread_t thread) { return static_cast<unsigned long>(thread); }

nb::object of_errors(const char* name) { return nb::module_::import_("gangway.errors").attr(name); }

}  // namespace

PolicyCall::PolicyCall(const char* method) : method_(method) { calls_under_way().push_back(this); }

void PolicyCall::leave() {
  if (std::erase(calls_under_way(), this) == 0) return;
  // It may have returned before the exception was raised, which must not come out elsewhere.
  if (ended_after_) PyThreadState_SetAsyncExc(known_to_interpreter(thread_), nullptr);
}

void PolicyCall::finish(const nb::python_error* thrown) {
  leave();
  if (ended_after_)
    throw NotReturned(method_, *ended_after_,
                      thrown ? nb::cast<std::string>(of_errors("place")(thrown->value())) : "");
  if (thrown) rethrow(*thrown);
}

void PolicyCall::end(const LongCall& call) {
  for (PolicyCall* one : calls_under_way()) {
    if (pthread_equal(one->thread_, call.thread) == 0) continue;
    if (!one->ended_after_) one->ended_after_ = call.lasted;
    PyThreadState_SetAsyncExc(known_to_interpreter(one->thread_), of_errors("NotReturned").ptr());
  }
}

void PolicyCall::forget_all() { calls_under_way().clear(); }

void rethrow(const nb::python_error& error) {
  throw ForeignError(nb::cast<std::string>(of_errors("describe")(error.value())));
}

}  // namespace gangway::python
