#include "experiments/studies/taskset_files.hpp"

#include <fmt/format.h>

#include <memory>
#include <stdexcept>

#include "experiments/results/files.hpp"
#include "models/input/document.hpp"

namespace gangway {

TaskSetGenerator task_set_generator(const std::string& method,
                                    const std::vector<std::pair<std::string, std::string>>& parameters) {
  const UtilisationMethod& entry = UtilisationMethods::named(method, "gangway taskset", "method");
  Node given;
  given.kind = Node::Kind::mapping;
  given.file = std::make_shared<const std::string>("--set");
  for (const auto& [name, value] : parameters) given.put(name, parse_yaml(value, "--set " + name));
  const ParameterValues values(entry.parameters, Field(given, ""));
  try {
    return {entry, values};
  } catch (const std::invalid_argument& wrong) {
    throw InputError({"--set", 0}, "", wrong.what(), "a consistent combination of parameters");
  }
}

void write_task_sets(const TaskSetGenerator& generator, std::uint64_t seed, std::uint64_t count,
                     const std::filesystem::path& folder) {
  make_empty_folder(folder, "--out");
  for (std::uint64_t number = 0; number < count; ++number)
    write_file(folder / fmt::format("set-{}.yaml", number), to_yaml(generator.draw(seed, number)));
}

}  // namespace gangway
