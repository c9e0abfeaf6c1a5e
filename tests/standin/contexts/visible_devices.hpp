// The machine's devices, and which of them the process sees.
#pragma once

#include <cuda.h>

#include <string>
#include <vector>

namespace gangway::standin {

unsigned machine_devices();  // STANDIN_DEVICES
CUuuid uuid_of(unsigned physical);
std::string uuid_text(unsigned physical);  // "GPU-67616e67-...", as CUDA_VISIBLE_DEVICES has it

// By ordinal, as CUDA_VISIBLE_DEVICES says: numbers, or beginnings of UUIDs; what stands behind an unknown
// one is not seen. Without it all.
const std::vector<unsigned>& visible_devices();

}  // namespace gangway::standin
