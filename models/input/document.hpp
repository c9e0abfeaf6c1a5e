// A YAML document as a tree of values that remember where they stand. Strict: one document, no duplicate
// keys, no tags; aliases are copied, and a tree of more than 200,000 nodes or a file above 16 MiB is refused
// (alias bombs).
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "models/error.hpp"

namespace gangway {

class Node {
 public:
  enum class Kind { null, scalar, sequence, mapping };

  Kind kind = Kind::null;
  std::string scalar;       // kind scalar
  std::vector<Node> items;  // kind sequence
  struct Entry;
  std::vector<Entry> entries;  // kind mapping, in file order
  std::shared_ptr<const std::string> file;
  int line = 0;

  static Node text(std::string value, const Node& where);
  static Node text(std::string value, const Origin& where);

  Origin origin() const { return {file ? *file : std::string(), line}; }
  const Node* find(std::string_view key) const;
  Node* find(std::string_view key);
  void put(const std::string& key, Node value);  // replaces or appends

  // What stands here, for an error message: a quoted scalar, or the kind.
  std::string found() const;
  // Scalars become strings; for manifests and for the configuration's identity.
  nlohmann::ordered_json json() const;
};

struct Node::Entry {
  std::string key;
  Node value;
};

// Reads a file or a text. Throws InputError, also for a file that cannot be read.
Node read_yaml(const std::string& path);
Node parse_yaml(const std::string& text, const std::string& file);

// The place that a path such as policies.rr.params.quantum names below root: through mappings by key and
// through sequences by their items' label, name, or index. Keys that are missing are made; a sequence item
// that is just a name becomes a mapping with that name. Throws InputError (at `origin`, key `path`) where the
// path leads nowhere.
Node& place(Node& root, const std::string& path, const Origin& origin);

}  // namespace gangway
