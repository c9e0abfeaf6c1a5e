// Text from elsewhere: whether it is UTF-8, and how it is printed.
#pragma once

#include <string>
#include <string_view>

namespace gangway {

// Bytes of the UTF-8 character at the front of a non-empty text; 0 if invalid.
std::size_t character_length(std::string_view text);
bool is_utf8(std::string_view text);

// With control characters replaced by '?', since they would end the line or reach the terminal.
std::string in_one_line(std::string text);

// With ends of lines replaced by spaces.
std::string joined_lines(std::string text);

}  // namespace gangway
