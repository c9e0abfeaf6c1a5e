// The order of a GPU's primary queue.
#pragma once

#include <string>
#include <vector>

namespace gangway {

// The key that decides which kernel is at the head (V1, V2b, V2a in models/bounds).
enum class QueueOrder {
  became_head,    // when it became its stream's head: what hardware does
  release_ready,  // its job's release; only stream heads are in the queue
  release_all,    // its job's release; all released kernels are in the queue, and one at the head blocks it
                  // until it is its stream's head (YA.P1)
};

const std::vector<std::string>& queue_order_names();  // as in files, in the order above
const std::string& name_of(QueueOrder order);
QueueOrder queue_order_from(const std::string& name);  // must be one of them

}  // namespace gangway
