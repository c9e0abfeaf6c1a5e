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

// The members of a GNU or BSD archive, without symbol and name tables, as views of `bytes`. `problem` says
// why members are missing (a thin archive holds none); empty if all are there.
std::vector<ArchiveMember> members_of(std::string_view bytes, std::string& problem);

}  // namespace gangway::transform
