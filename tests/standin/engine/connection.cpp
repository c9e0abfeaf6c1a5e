#include "tests/standin/engine/connection.hpp"

#include "tests/standin/engine/environment.hpp"

namespace gangway::standin {

Connection* Connections::least_used() {
  constexpr double kUnlimited = 1e6;
  static const double number = environment_number("STANDIN_CONNECTIONS", kUnlimited);
  if (number >= kUnlimited) return nullptr;
  if (all_.empty()) all_.resize(static_cast<std::size_t>(number));
  std::size_t best = (latest_ + 1) % all_.size();
  for (std::size_t k = 2; k <= all_.size(); ++k)
    if (const std::size_t at = (latest_ + k) % all_.size(); all_[at].streams < all_[best].streams) best = at;
  return &all_[latest_ = best];
}

}  // namespace gangway::standin
