// Copies CUPTI's records of GPUs, ranges and memory from its buffers to the spool.
#pragma once

#include <cupti.h>

#include <cstddef>
#include <cstdint>

namespace gangway::spool {

// For cuptiActivityRegisterCallbacks(): CUPTI requests buffers and returns them filled.
void CUPTIAPI give_buffer(std::uint8_t** buffer, std::size_t* size, std::size_t* most_records);
void CUPTIAPI take_buffer(CUcontext context, std::uint32_t stream, std::uint8_t* buffer, std::size_t size,
                          std::size_t valid);

}  // namespace gangway::spool
