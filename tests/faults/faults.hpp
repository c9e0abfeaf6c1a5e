// What a policy can do wrong, each as an act that a policy carries out at every decision behind its first
// fact.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "models/policy.hpp"

namespace gangway::testing {

struct Fault {
  std::string name;
  Capabilities needs;  // says in which worlds it can be committed
  std::function<void(Time, const View&, Orders&)> act;
  std::string complaint;          // part of the message
  std::string complaint_in_real;  // the same in real time, where that differs
};

// All that a world can notice by itself. Clients are two, "A" and "B".
const std::vector<Fault>& faults();

// A policy that commits a fault.
class FaultyPolicy : public Policy {
 public:
  explicit FaultyPolicy(const Fault& fault) : fault_(&fault) {}
  Capabilities needs() const override { return fault_->needs; }
  void note(Time, const Fact&, const View&) override { begun_ = true; }
  void decide(Time now, const View& view, Orders& orders) override {
    if (begun_) fault_->act(now, view, orders);
  }

 private:
  const Fault* fault_;
  bool begun_ = false;
};

}  // namespace gangway::testing
