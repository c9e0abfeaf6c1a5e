// Passes of stride scheduling (Waldspurger and Weihl, "Stride Scheduling: Deterministic Proportional-Share
// Resource Management", MIT/LCS/TM-528, 1995): a client's pass grows by its use divided by its weight, and
// the client with the least pass is next.
#pragma once

#include <algorithm>
#include <vector>

#include "models/identity.hpp"
#include "models/quantity.hpp"

namespace gangway {

class Passes {
 public:
  void prepare(std::size_t clients) { clients_.resize(clients); }

  // In ns of use at weight 1.
  double of(ClientId client) const { return clients_[client.index].pass; }

  // The client wants the device from now on. Time without demand is not credited.
  void join(ClientId client, double weight) {
    OfClient& its = known(client);
    its.pass = std::max(its.pass, reached_);
    its.weight = weight;
  }

  // The client still wants it, and keeps what it has in advance of others that use another device.
  void stay(ClientId client, double weight) {
    if (clients_.size() <= client.index || clients_[client.index].id != client) return join(client, weight);
    clients_[client.index].weight = weight;
  }

  void charge(ClientId client, Duration use) {
    OfClient& its = clients_[client.index];
    its.pass += static_cast<double>(use.ns) / its.weight;
  }

  // The least pass of the clients that want the device is at least this: newcomers begin there.
  void reach(double pass) {
    reached_ = std::max(reached_, pass);
    if (reached_ < kMost) return;
    for (OfClient& its : clients_) its.pass -= reached_;
    reached_ = 0;
  }

 private:
  // Passes of small weights grow fast, and beside large numbers a double loses the small steps of large
  // weights. Only differences matter.
  static constexpr double kMost = 1LL << 36;
  struct OfClient {
    ClientId id;
    double pass = 0;
    double weight = 1;
  };
  OfClient& known(ClientId client) {
    if (client.index >= clients_.size()) clients_.resize(client.index + 1);
    OfClient& its = clients_[client.index];
    if (its.id != client) its = {client};
    return its;
  }

  std::vector<OfClient> clients_;
  double reached_ = 0;
};

}  // namespace gangway
