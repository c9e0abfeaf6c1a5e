#include "experiments/library/skeleton.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>
#include <utility>

#include "experiments/library/library.hpp"
#include "experiments/results/files.hpp"
#include "models/policy.hpp"

namespace gangway {
namespace {

namespace fs = std::filesystem;

bool is_policy(SkeletonKind kind) {
  return kind == SkeletonKind::policy_in_python || kind == SkeletonKind::policy_in_cpp;
}

bool is_alphanumeric(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

void check_name(SkeletonKind kind, const std::string& name) {
  const Node node = Node::text(name, Origin{"gangway new", 0});
  const Field field(node, "name");
  field.identifier();
  if (is_policy(kind) && std::isalpha(static_cast<unsigned char>(name.front())) == 0)
    field.fail("a name that begins with a letter");
  if (!is_alphanumeric(name.front())) field.fail("a name that begins with a letter or a digit");
  const auto taken = Policies::names();
  if (is_policy(kind) && std::find(taken.begin(), taken.end(), name) != taken.end())
    field.fail(quote(name) + ", a name of Gangway's own", "another name");
}

// "longest-first": LongestFirst.
std::string camel_case(const std::string& name) {
  std::string out;
  bool begins = true;
  for (const char c : name) {
    if (is_alphanumeric(c))
      out += begins ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    begins = !is_alphanumeric(c);
  }
  return out;
}

// "longest-first": longest_first.
std::string snake_case(std::string name) {
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !is_alphanumeric(c); }, '_');
  return name;
}

// Longer words come first, as they contain the shorter ones.
using Words = std::array<std::pair<std::string_view, std::string>, 3>;

std::string with_words(const std::string& text, const Words& words) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const auto found = std::find_if(words.begin(), words.end(), [&](const auto& word) {
      return text.compare(at, word.first.size(), word.first) == 0;
    });
    if (found == words.end()) {
      out += text[at++];
      continue;
    }
    out += found->second;
    at += found->first.size();
  }
  return out;
}

}  // namespace

Skeleton make_skeleton(SkeletonKind kind, const std::string& name) {
  check_name(kind, name);
  const auto [from, file] = [&]() -> std::pair<std::string, std::string> {
    switch (kind) {
      case SkeletonKind::policy_in_python:
        return {"policy.py", name + ".py"};
      case SkeletonKind::policy_in_cpp:
        return {"ownership_policy.cpp", snake_case(name) + ".cpp"};
      case SkeletonKind::workload:
        return {"workload.yaml", name + ".yaml"};
      case SkeletonKind::experiment:
        break;
    }
    return {"experiment.yaml", name + ".yaml"};
  }();
  // The class ends in `Policy`, as `None` is none in Python.
  const Words words{{{"registered_skeleton", "registered_" + snake_case(name)},
                     {"SkeletonPolicy", camel_case(name) + "Policy"},
                     {"skeleton", name}}};
  return {file, with_words(read_file(library_file("examples/skeletons/" + from)), words)};
}

fs::path write_skeleton(const Skeleton& skeleton, const fs::path& folder, bool replace) {
  refuse_file(folder);
  const fs::path path = (folder / skeleton.file).lexically_normal();
  std::error_code error;
  if (fs::exists(path, error) && (!replace || fs::is_directory(path, error)))
    throw InputError({path.string(), 0}, "--out", fs::is_directory(path, error) ? "a folder" : "a file",
                     fs::is_directory(path, error) ? "none" : "none: --force replaces it");
  make_folder(folder);
  write_file(path, skeleton.text);
  return path;
}

}  // namespace gangway
