// For the program `gangway_faulty`, which tests/cli calls: a policy `faulty` that commits the fault of its
// parameter, or never comes back from a call.
#include <cstdio>

#include "tests/faults/faults.hpp"

namespace gangway::testing {
namespace {

volatile bool come_back = false;

// Never return, each in its own way.
std::vector<Fault> endless() {
  return {{"hang",
           {},
           [](Time, const View&, Orders&) {
             std::fputs("hangs\n", stderr);
             while (!come_back) {
             }
           },
           "",
           ""},
          {"hang-with-orders",
           {},
           [](Time, const View&, Orders& o) {
             std::fputs("hangs\n", stderr);
             while (!come_back) try {
                 o.evict(LaunchId{99});
               } catch (...) {
               }
           },
           "",
           ""}};
}

const std::vector<Fault>& all() {
  static const std::vector<Fault> all = [] {
    std::vector<Fault> out = endless();
    out.insert(out.end(), faults().begin(), faults().end());
    return out;
  }();
  return all;
}

std::vector<std::string> names() {
  std::vector<std::string> out;
  for (const Fault& fault : all()) out.push_back(fault.name);
  return out;
}

class Faulty : public FaultyPolicy {
 public:
  explicit Faulty(const ParameterValues& values) : FaultyPolicy(named(values.choice("how"))) {}

 private:
  static const Fault& named(const std::string& name) {
    for (const Fault& fault : all())
      if (fault.name == name) return fault;
    throw InputError("no such fault");
  }
};

const PolicyRegistration<Faulty> registered{
    "faulty", "does what no policy may do", {{"how", "what it does", Parameter::Choice{names()}}}};

}  // namespace
}  // namespace gangway::testing
