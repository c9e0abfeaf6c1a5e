// What is text and what is not.
#pragma once

#include <string_view>

namespace gangway {

// How many bytes the UTF-8 character at the front of a text (not empty) has; 0 when it is none.
std::size_t character_length(std::string_view text);
bool is_utf8(std::string_view text);

}  // namespace gangway
