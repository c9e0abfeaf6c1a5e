// Modules as programs give them to the driver: an address, without a size.
#pragma once

#include <string_view>

namespace gangway::transform {

// PTX, a cubin, a fatbin, or the runtime's wrapper around one. The length is the one that the image states.
// Empty: none of these, or it states more than the process has memory there.
std::string_view bytes_of_image(const void* image);

}  // namespace gangway::transform
