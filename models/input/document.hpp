// A YAML document as a tree of values with positions. Strict: one document, no duplicate keys, no tags.
// Aliases are copied; more than 200,000 nodes or 16 MiB are refused (alias bombs).
#pragma once

#include <cstdint>
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
  std::int32_t changed_by = -1;  // number of the swept path whose value this is, at a point of a sweep

  static Node text(std::string value, const Node& where);
  static Node text(std::string value, const Origin& where);

  Origin origin() const { return {file ? *file : std::string(), line}; }
  const Node* find(std::string_view key) const;
  Node* find(std::string_view key);
  void put(const std::string& key, Node value);  // replaces or appends

  // The value for an error message: a quoted scalar, or the kind.
  std::string found() const;
  // Scalars become strings; for manifests and the configuration's identity.
  nlohmann::ordered_json json() const;
};

struct Node::Entry {
  std::string key;
  Node value;
};

// Throws InputError, also for an unreadable file.
Node read_yaml(const std::string& path);
Node parse_yaml(const std::string& text, const std::string& file);

// The node at a path such as policies.rr.params.quantum below root: mappings by key, sequences by their
// items' label, name or index. Creates missing keys; a plain value becomes the mapping for which it stands
// ({name: ...}; of `recording` {file: ...}, of `grant` {of: ...}).
// Throws InputError (at `origin`, key `path`) if the path leads nowhere.
Node& place(Node& root, const std::string& path, const Origin& origin);

// The path with the label or name of each item beside its index, as far as it leads: policies.1 (srt).params.
std::string path_with_names(const Node& root, const std::string& path);

}  // namespace gangway
