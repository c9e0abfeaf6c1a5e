#include "hw/live/families.hpp"

namespace gangway::live {
namespace {

// Leaves everything to the driver.
class OpenConductor : public Conductor {
 public:
  OpenConductor(std::shared_ptr<Policy> policy, const GateSettings& settings, Journal& journal)
      : Conductor(std::move(policy), settings, journal) {}
  bool closes_gates() const override { return false; }

 private:
  void came(ClientId client) override { permit(client, kUnlimited); }
  void went(ClientId) override {}
  void gather() override {}
  bool impatient() override { return false; }
};

}  // namespace

std::unique_ptr<Conductor> open_conductor(std::shared_ptr<Policy> policy, const GateSettings& settings,
                                          Journal& journal) {
  return std::make_unique<OpenConductor>(std::move(policy), settings, journal);
}

}  // namespace gangway::live
