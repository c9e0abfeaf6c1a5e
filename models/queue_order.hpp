// The order of a GPU's primary queue.
#pragma once

#include <string>
#include <vector>

namespace gangway {

// What decides which kernel is at the head (V1, V2b, V2a in models/bounds).
enum class QueueOrder {
  became_head,    // by the time at which it became its stream's head: what the hardware does
  release_ready,  // by the release of its job; only kernels at their stream's head are in the queue
  release_all,    // by the release of its job; released kernels are in the queue and, at its head, block it
                  // until they are their stream's head (YA.P1)
};

const std::vector<std::string>& queue_order_names();  // as files write them, in the order above
const std::string& name_of(QueueOrder order);
QueueOrder queue_order_from(const std::string& name);  // which must be one of them

}  // namespace gangway
