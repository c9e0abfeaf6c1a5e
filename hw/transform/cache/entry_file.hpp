// The format of one cache file.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hw/transform/cache/kernel_cache.hpp"

namespace gangway::transform {

// Parts of file names: the part that a look-up knows, and the full name.
std::string name_begin(std::string_view ptx, const std::string& gpu, const std::vector<std::string>& options);
std::string name_of(const std::string& begin, const std::string& assembler);
bool is_entry_name(const std::string& name);

std::string entry_text(const std::string& name, const CacheEntry& entry);
// None if the file is damaged or belongs to another name.
std::optional<CacheEntry> entry_in(const std::string& name, std::string_view text);

}  // namespace gangway::transform
