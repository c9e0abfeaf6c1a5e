// Tells managed memory where submissions write, as their arguments say.
#pragma once

#include <type_traits>

#include "hw/intercept/memory/served.hpp"

namespace gangway::intercept {

// Of a copy or memset: where it writes on the device, as its first argument tells.
template <typename First, typename... Rest>
void note_destination(First first, const Rest&...) {
  if constexpr (std::is_same_v<First, CUdeviceptr>)
    memory_written(first);
  else if constexpr (!std::is_same_v<First, void*> && !std::is_same_v<First, CUarray>)
    memory_written(0);
}

// Of an operation on words in memory. One that only waits for a word is taken for one that writes it.
template <typename Value>
void note_words(CUstream, CUdeviceptr address, Value, unsigned) {
  memory_written(address);
}
inline void note_words(CUstream, unsigned count, CUstreamBatchMemOpParams* operations, unsigned) {
  constexpr unsigned kMost = 256;  // the driver refuses more, and does not look at them
  for (unsigned i = 0; operations != nullptr && count <= kMost && i < count; ++i) {
    const CUstreamBatchMemOpType what = operations[i].operation;
    if (what == CU_STREAM_MEM_OP_WRITE_VALUE_32 || what == CU_STREAM_MEM_OP_WRITE_VALUE_64)
      memory_written(operations[i].writeValue.address);
    else if (what != CU_STREAM_MEM_OP_WAIT_VALUE_32 && what != CU_STREAM_MEM_OP_WAIT_VALUE_64 &&
             what != CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES && what != CU_STREAM_MEM_OP_BARRIER)
      memory_written(0);
  }
}

}  // namespace gangway::intercept
