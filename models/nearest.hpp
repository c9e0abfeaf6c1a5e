// Suggestions for misspelt names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gangway {

// The candidate that begins with `name`, or that a few typing errors make of it; empty if none is near.
std::string nearest(std::string_view name, const std::vector<std::string>& candidates);

// Whether the names differ by at most two typing errors: one per four letters, none in shorter names.
bool resembles(std::string_view a, std::string_view b);

// "one of a, b, c (did you mean 'b'?)": the expectation in an unknown name's error. Long lists are cut.
std::string expected_names(std::string_view found, const std::vector<std::string>& candidates);

}  // namespace gangway
