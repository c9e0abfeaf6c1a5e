// What CUPTI notes of the GPUs, of ranges and of memory, from its buffers to the spool.
#pragma once

#include <cupti.h>

#include <cstddef>
#include <cstdint>

namespace gangway::spool {

// For cuptiActivityRegisterCallbacks(): CUPTI asks for buffers, and hands them back with records in them.
void CUPTIAPI give_buffer(std::uint8_t** buffer, std::size_t* size, std::size_t* most_records);
void CUPTIAPI take_buffer(CUcontext context, std::uint32_t stream, std::uint8_t* buffer, std::size_t size,
                          std::size_t valid);

}  // namespace gangway::spool
