// Writes random task sets to files.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "workloads/taskset_generator.hpp"

namespace gangway {

// A method by name, with parameters (name and value) from the command line. Throws InputError.
TaskSetGenerator task_set_generator(const std::string& method,
                                    const std::vector<std::pair<std::string, std::string>>& parameters);

// Writes the sets 0 to count - 1 of a seed to FOLDER/set-NUMBER.yaml. Creates the folder; InputError if it is
// not empty. RunError if drawing or writing fails.
void write_task_sets(const TaskSetGenerator& generator, std::uint64_t seed, std::uint64_t count,
                     const std::filesystem::path& folder);

}  // namespace gangway
