// Starting points: a policy, workload or experiment that runs as it is, under the user's name. Made from
// examples/skeletons/.
#pragma once

#include <filesystem>
#include <string>

namespace gangway {

enum class SkeletonKind { policy_in_python, policy_in_cpp, workload, experiment };

struct Skeleton {
  std::string file;  // without folder, named after the skeleton in the style of its kind
  std::string text;
};

// Throws InputError for a name that the schemas do not allow; for policies also for one that does not begin
// with a letter or is taken.
Skeleton make_skeleton(SkeletonKind kind, const std::string& name);

// Writes it into a folder, which is created if missing, and returns its path. InputError if the file exists,
// unless it is to be replaced; RunError if it cannot be written.
std::filesystem::path write_skeleton(const Skeleton& skeleton, const std::filesystem::path& folder,
                                     bool replace);

}  // namespace gangway
