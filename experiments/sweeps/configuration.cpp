#include "experiments/sweeps/configuration.hpp"

#include <algorithm>

#include "experiments/library/library.hpp"
#include "models/hash.hpp"
#include "models/nearest.hpp"

namespace gangway {
namespace {

namespace fs = std::filesystem;

std::string library_experiment(const std::string& name) {
  std::vector<std::string> names;
  for (const LibraryFile& file : library("experiments")) {
    if (file.name == name) return file.path;
    names.push_back(file.name);
  }
  throw InputError({name, 0}, "", "no such file", "an experiment file, or " + expected_names(name, names));
}

// Under whatever name: somebody may have put it beside others.
bool is_manifest(const Node& root) {
  const Node* kind = root.find("kind");
  return kind != nullptr && (kind->scalar == "result" || kind->scalar == "part");
}

}  // namespace

Configuration read_configuration(const std::string& given) {
  const std::string file = fs::exists(given) ? given : library_experiment(given);
  Configuration configuration{read_yaml(file), fs::path(file).parent_path(), ""};
  // A result folder's manifest holds the resolved configuration.
  if (const Node* kept = configuration.root.find("configuration");
      kept != nullptr && (is_manifest(configuration.root) || file.ends_with("manifest.json"))) {
    if (const Node* version = configuration.root.find("version")) Field(*version, "version").one_of({"1"});
    configuration.root = Node(*kept);
  }
  Field(configuration.root, "").mapping();
  if (const Node* kind = configuration.root.find("kind"); kind != nullptr && kind->kind == Node::Kind::scalar)
    configuration.kind = kind->scalar;
  return configuration;
}

Node value_of(const Override& change, const Node& root) {
  if (change.value.empty()) throw InputError({change.option, 0}, change.path, "nothing", "a value");
  const bool set = change.option == "--set";
  return parse_yaml(change.value, set ? "--set " + path_with_names(root, change.path) : change.option);
}

void apply(Node& root, const Override& change) {
  Node value = value_of(change, root);
  place(root, change.path, {change.option, 0}) = std::move(value);
}

std::uint64_t read_seed(const Field& field) {
  return static_cast<std::uint64_t>(field.integer(0, INT64_MAX));
}

void refuse_swept(const Sweep& sweep, const std::vector<Override>& overrides) {
  // A sweep from the command line may vary what comes from there, too.
  const bool own = std::any_of(overrides.begin(), overrides.end(), [](const Override& change) {
    return change.path == "sweep" || change.path.starts_with("sweep.");
  });
  for (const Override& change : overrides)
    for (const SweptPath& swept : sweep.paths()) {
      if (swept.path() != change.path) continue;
      if (change.path == "seed")
        throw InputError({change.option, 0}, "seed", "a seed in addition to the sweep's", "one or the other");
      if (own) continue;
      throw InputError({change.option, 0}, change.path,
                       quote(change.value) + " for a path that the sweep varies",
                       "a path that it leaves alone, or --set sweep.PATH=[VALUE, ...]");
    }
}

std::string identity_of(const std::string& configuration) { return sha256_of(configuration); }

}  // namespace gangway
