// Random task sets as files.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "workloads/taskset_generator.hpp"

namespace gangway {

// A method by its name with parameters as a command line gives them: name and value. Throws InputError.
TaskSetGenerator task_set_generator(const std::string& method,
                                    const std::vector<std::pair<std::string, std::string>>& parameters);

// Writes the sets 0 to count - 1 of a seed to FOLDER/set-NUMBER.yaml. The folder is made; one that holds
// anything is refused with InputError. Failures to draw or to write are RunErrors.
void write_task_sets(const TaskSetGenerator& generator, std::uint64_t seed, std::uint64_t count,
                     const std::filesystem::path& folder);

}  // namespace gangway
