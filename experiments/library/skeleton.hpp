// Files to begin with: a policy, a workload or an experiment that runs as it is, under a name of one's own.
// They are made of the files in examples/skeletons/.
#pragma once

#include <filesystem>
#include <string>

namespace gangway {

enum class SkeletonKind { policy_in_python, policy_in_cpp, workload, experiment };

struct Skeleton {
  std::string file;  // its name, without a folder: that of the skeleton, as files of the kind have it
  std::string text;
};

// Throws InputError for a name that the schemas do not allow; of policies also for one that does not begin
// with a letter, and one that a policy has already.
Skeleton make_skeleton(SkeletonKind kind, const std::string& name);

// Writes it into a folder, which is made where it is missing, and returns its path. Throws InputError where
// there is such a file, unless it is to be replaced, and RunError where it cannot be written.
std::filesystem::path write_skeleton(const Skeleton& skeleton, const std::filesystem::path& folder,
                                     bool replace);

}  // namespace gangway
