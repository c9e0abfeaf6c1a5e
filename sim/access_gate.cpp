#include "sim/access_gate.hpp"

namespace gangway {

void AccessGate::reset() {
  clients_.assign(clients_.size(), State{});
  queue_.clear();
  requests_ = 0;
}

void AccessGate::enqueue(ClientId client) {
  clients_[client.index].on_device = true;
  queue_.push_back(client);
}

std::optional<Submitted> AccessGate::submit(ClientId client) {
  State& state = clients_[client.index];
  state.denied = state.access == Access::deny;
  if (state.access == Access::direct) enqueue(client);
  if (state.access != Access::intercept) return std::nullopt;
  state.held = RequestId{++requests_};
  return Submitted{client, state.held};
}

std::optional<Submitted> AccessGate::set(ClientId client, Access access) {
  State& state = clients_[client.index];
  state.access = access;
  if (!state.denied || access == Access::deny) return std::nullopt;
  return submit(client);
}

void AccessGate::admit(RequestId request) {
  if (request.value == 0) return;
  for (std::uint32_t c = 0; c < clients_.size(); ++c) {
    if (clients_[c].held != request) continue;
    clients_[c].held = {};
    enqueue(ClientId{c});
  }
}

std::optional<Drained> AccessGate::drained(ClientId client, Time now) {
  State& state = clients_[client.index];
  if (!state.drain || state.on_device) return std::nullopt;
  const Drained fact{client, now - *state.drain};
  state.drain.reset();
  return fact;
}

std::optional<ClientId> AccessGate::take() {
  if (queue_.empty()) return std::nullopt;
  const ClientId client = queue_.front();
  queue_.pop_front();
  return client;
}

}  // namespace gangway
