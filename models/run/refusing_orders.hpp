// Orders that stop the run, for worlds to override those they obey.
#pragma once

#include <cstdlib>
#include <string>

#include "models/policy.hpp"

namespace gangway {

class RefusingOrders : public Orders {
 public:
  LaunchId launch(JobId, DeviceId, std::optional<BlockRange>) override { cannot("a launch"); }
  void evict(LaunchId) override { cannot("an eviction"); }
  void kill(ClientId) override { cannot("a kill"); }
  void restore(JobId, DeviceId, BlockRange) override { cannot("a restore"); }
  void save(JobId, DeviceId) override { cannot("a save"); }
  void access(ClientId, Access) override { cannot("an access order"); }
  void admit(RequestId) override { cannot("an admission"); }
  void grant(ClientId, std::int64_t) override { cannot("a grant of channels"); }
  void drain(ClientId) override { cannot("a drain"); }
  void sample(ClientId, Duration, std::int64_t) override { cannot("sampling"); }
  void watch(Duration) override { cannot("a watch on requests"); }
  TimerId wake_at(Time) override { cannot("a timer"); }
  void cancel(TimerId) override { cannot("the end of a timer"); }

 protected:
  // Stops the run with RunError: the policy's order `what` can never be valid.
  [[noreturn]] virtual void impossible(const std::string& what) const = 0;

 private:
  [[noreturn]] void cannot(const char* what) const {
    impossible(std::string(what) + ", which this world cannot do");
    std::abort();  // for compilers that ignore [[noreturn]] here
  }
};

}  // namespace gangway
