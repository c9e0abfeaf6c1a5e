// The programs that clients of an experiment are, as files.
#pragma once

#include <string>

#include "experiments/sweeps/experiment.hpp"

namespace gangway {

// A hash over the files of all commands: the program, if given by its path, and the first argument that is no
// option, if it names a file, such as an interpreter's script. Both are looked for in the command's folder;
// others, and files of more than 64 MiB, count only by their names. Empty without any.
std::string hash_of_programs(const Points& points);

}  // namespace gangway
