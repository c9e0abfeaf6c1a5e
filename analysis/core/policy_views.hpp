// What a Python policy sees and orders: wrappers that become invalid when its call returns.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "models/policy.hpp"

namespace gangway::python {

namespace nb = nanobind;

// Increases with each call of a policy; wrappers of earlier calls refuse to answer.
class Epoch {
 public:
  void next() { ++*now_; }
  class Stamp {
   public:
    Stamp(std::shared_ptr<const std::uint64_t> now) : now_(std::move(now)), then_(*now_) {}
    // Raises ReferenceError in Python.
    void check() const;

   private:
    std::shared_ptr<const std::uint64_t> now_;
    std::uint64_t then_;
  };
  Stamp stamp() const { return Stamp(now_); }

 private:
  std::shared_ptr<std::uint64_t> now_ = std::make_shared<std::uint64_t>(0);
};

class PythonJob {
 public:
  PythonJob(const JobFacts& facts, Epoch::Stamp stamp) : facts_(&facts), stamp_(std::move(stamp)) {}
  const JobFacts& facts() const {
    stamp_.check();
    return *facts_;
  }

 private:
  const JobFacts* facts_;
  Epoch::Stamp stamp_;
};

class PythonView {
 public:
  PythonView(const View& view, const Epoch& epoch) : view_(&view), epoch_(epoch), stamp_(epoch.stamp()) {}
  const View& view() const {
    stamp_.check();
    return *view_;
  }
  PythonJob job(const JobId& id) const { return {view().job(id), epoch_.stamp()}; }

 private:
  const View* view_;
  Epoch epoch_;
  Epoch::Stamp stamp_;
};

class PythonOrders {
 public:
  PythonOrders(Orders& orders, const Epoch& epoch) : orders_(&orders), stamp_(epoch.stamp()) {}
  Orders& orders() const {
    stamp_.check();
    return *orders_;
  }

 private:
  Orders* orders_;
  Epoch::Stamp stamp_;
};

void add_policy_views(nb::module_& core);

}  // namespace gangway::python
