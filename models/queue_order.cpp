#include "models/queue_order.hpp"

#include <algorithm>

namespace gangway {

const std::vector<std::string>& queue_order_names() {
  static const std::vector<std::string> names{"became-head", "release-ready", "release-all"};
  return names;
}

const std::string& name_of(QueueOrder order) { return queue_order_names()[static_cast<std::size_t>(order)]; }

QueueOrder queue_order_from(const std::string& name) {
  const auto& names = queue_order_names();
  return static_cast<QueueOrder>(std::find(names.begin(), names.end(), name) - names.begin());
}

}  // namespace gangway
