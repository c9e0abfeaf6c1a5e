// Validation of UTF-8.
#pragma once

#include <string_view>

namespace gangway {

// Bytes of the UTF-8 character at the front of a non-empty text; 0 if invalid.
std::size_t character_length(std::string_view text);
bool is_utf8(std::string_view text);

}  // namespace gangway
