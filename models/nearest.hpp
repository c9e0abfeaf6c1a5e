// Suggestions for misspelt names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gangway {

// The candidate with the smallest edit distance to `name`; empty when there are none.
std::string nearest(std::string_view name, const std::vector<std::string>& candidates);

// Whether one is the other but for at most two slips of the pen; one in four letters, none in fewer.
bool resembles(std::string_view a, std::string_view b);

// "one of a, b, c (did you mean 'b'?)": what an unknown name's error expects. Long lists are cut.
std::string expected_names(std::string_view found, const std::vector<std::string>& candidates);

}  // namespace gangway
