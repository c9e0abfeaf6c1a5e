#include "hw/live/families.hpp"

namespace gangway::live {
namespace {

class AccessConductor : public Conductor {
 public:
  AccessConductor(std::shared_ptr<Policy> policy, const GateSettings& settings, Journal& journal)
      : Conductor(std::move(policy), settings, journal), draining_(kMostClients), told_(kMostClients) {}

 private:
  void came(ClientId client) override {
    draining_[client.index] = false;
    told_[client.index] = 0;
  }

  void went(ClientId client) override { draining_[client.index] = false; }

  void gather() override {
    for (std::uint32_t c = 0; c < kMostClients; ++c) {
      Client& client = clients_[c];
      const ClientId id = client.id;
      if (client.port == nullptr || !client.closing) continue;
      if (closed(id, true)) {
        if (draining_[c]) drained(id, now() - client.ordered);
      } else if (draining_[c] && client.returned && !client.overdue && now() - client.ordered > limit_) {
        // Only a client that may submit can be blamed for what does not end.
        client.overdue = true;
        tell(Overdue{id, now() - client.ordered});
      }
    }
  }

  void drained(ClientId id, Duration overrun) {
    draining_[id.index] = false;
    const Standing& seen = of(id).seen;
    tell(Drained{id, overrun});
    tell(Activity{id, seen.submissions != told_[id.index], seen.waiting, {}});
    told_[id.index] = seen.submissions;
  }

  bool impatient() override { return false; }

  void access(ClientId client, Access access) override {
    if (!is_there(client)) return;
    switch (access) {
      case Access::direct:
        return permit(client, kUnlimited);
      case Access::deny:
        return close(client);
      case Access::intercept:
        impossible("the interception of single submissions");
    }
  }

  void drain(ClientId client) override {
    if (!is_there(client)) return;
    close(client);
    draining_[client.index] = true;
    if (!of(client).closing || closed(client, true)) drained(client, {});
  }

  void watch(Duration limit) override { limit_ = limit; }
  void grant(ClientId, std::int64_t) override {}  // channels are no matter of the gate

  std::vector<bool> draining_;
  std::vector<std::uint64_t> told_;  // submissions, with the last Activity
};

}  // namespace

std::unique_ptr<Conductor> access_conductor(std::shared_ptr<Policy> policy, const GateSettings& settings,
                                            Journal& journal) {
  return std::make_unique<AccessConductor>(std::move(policy), settings, journal);
}

}  // namespace gangway::live
