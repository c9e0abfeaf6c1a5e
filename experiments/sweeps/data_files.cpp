#include "experiments/sweeps/data_files.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "experiments/sweeps/sweep.hpp"
#include "models/data_file.hpp"
#include "models/hash.hpp"

namespace gangway {
namespace {

namespace fs = std::filesystem;

bool names_data(const std::string& path) {
  return path.ends_with(".arrivals.file") || path.ends_with(".recording") ||
         path.ends_with(".recording.file") || path.ends_with(".recording.forms") ||
         path.ends_with(".recording.forms.inspected");
}

class DataFiles {
 public:
  explicit DataFiles(const fs::path& folder) : folder_(folder) {}

  // Returns whether something was resolved.
  bool resolve(Node& node, const std::string& path) const {
    if (names_data(path) && node.kind == Node::Kind::scalar) {
      node = identified(Field(node, path));
      return true;
    }
    bool any = false;
    for (std::size_t i = 0; i < node.items.size(); ++i)
      any = resolve(node.items[i], path + "." + std::to_string(i)) || any;
    for (auto& [key, value] : node.entries) any = resolve(value, path + "." + key) || any;
    return any;
  }

  // The values of one swept path: in result files they stay what they were.
  void resolve_swept(std::vector<Node>& values, const std::string& path) const {
    for (Node& item : values) {
      if (Node* labelled = item.find("value"); labelled != nullptr && item.find("label") != nullptr) {
        resolve(*labelled, path);
        continue;
      }
      const Node before = item;
      if (!resolve(item, path)) continue;
      const std::string text = before.kind == Node::Kind::scalar ? before.scalar : before.json().dump();
      Node labelled;
      labelled.kind = Node::Kind::mapping;
      labelled.file = before.file;
      labelled.line = before.line;
      labelled.entries = {{"label", Node::text(text, before)}, {"value", std::move(item)}};
      item = std::move(labelled);
    }
  }

 private:
  Node identified(const Field& name) const {
    const bool in_a_file = fs::exists(name.node().origin().file);
    DataFile file = in_a_file ? read_data_file(name) : DataFile{folder_ / name.text(), {}};
    file.path = fs::absolute(file.path).lexically_normal();
    Node node;
    node.kind = Node::Kind::mapping;
    node.file = name.node().file;
    node.line = name.node().line;
    node.put("path", Node::text(file.path.string(), name.node()));
    node.put("sha256", Node::text(sha256_of(content_of(file, name)), name.node()));
    return node;
  }

  const fs::path& folder_;
};

bool identified(const Node& node) {
  return node.entries.size() == 2 && node.find("path") != nullptr && node.find("sha256") != nullptr;
}

}  // namespace

void resolve_data_files(Node& root, const fs::path& folder) {
  const DataFiles files(folder);
  for (auto& [key, value] : root.entries) {
    if (key != "sweep") {
      files.resolve(value, key);
      continue;
    }
    each_swept(value,
               [&](const std::string& path, Node& values) { files.resolve_swept(values.items, path); });
  }
}

Node without_data_paths(const Node& root) {
  Node copy = root;
  if (identified(root))
    std::erase_if(copy.entries, [](const Node::Entry& entry) { return entry.key == "path"; });
  for (Node& item : copy.items) item = without_data_paths(item);
  for (auto& [key, value] : copy.entries) value = without_data_paths(value);
  return copy;
}

}  // namespace gangway
