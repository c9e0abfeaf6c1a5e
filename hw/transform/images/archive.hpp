// Static libraries.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gangway::transform {

struct ArchiveMember {
  std::string name;
  std::string_view bytes;
};

bool looks_like_archive(std::string_view bytes);

// The files in it, as GNU ar and BSD's write them, without tables of symbols and names. Views of `bytes`.
// `problem` says why members are missing, and of a thin archive that it holds none; empty: none are.
std::vector<ArchiveMember> members_of(std::string_view bytes, std::string& problem);

}  // namespace gangway::transform
