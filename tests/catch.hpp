// Catch2, version 2 as Debian 12 packages it or version 3 as newer systems do.
#pragma once

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Catch::Approx;
#else
#include <catch2/catch.hpp>
#include <string>
namespace Catch::Matchers {
inline auto ContainsSubstring(const std::string& text) { return Contains(text); }  // as version 3 calls it
}  // namespace Catch::Matchers
#endif
