#include "models/input/yaml_writer.hpp"

#include <yaml-cpp/yaml.h>

#include <algorithm>

namespace gangway {
namespace {

constexpr std::size_t kLine = 110;  // as long as a collection on one line may be

// Of the node on one line, about.
std::size_t length_of(const Node& node) {
  std::size_t length = node.scalar.size() + 2;
  for (const Node& item : node.items) length += length_of(item) + 2;
  for (const auto& [key, value] : node.entries) length += key.size() + length_of(value) + 4;
  return length;
}

void emit(YAML::Emitter& out, const Node& node) {
  const bool fits = length_of(node) <= kLine;
  switch (node.kind) {
    case Node::Kind::null:
      out << YAML::Null;
      return;
    case Node::Kind::scalar:
      out << node.scalar;
      return;
    case Node::Kind::sequence: {
      const auto is_scalar = [](const Node& item) { return item.kind == Node::Kind::scalar; };
      const bool plain = std::all_of(node.items.begin(), node.items.end(), is_scalar);
      out << (plain && fits ? YAML::Flow : YAML::Block) << YAML::BeginSeq;
      for (const Node& item : node.items) emit(out, item);
      out << YAML::EndSeq;
      return;
    }
    case Node::Kind::mapping:
      break;
  }
  out << (fits ? YAML::Flow : YAML::Block) << YAML::BeginMap;
  for (const auto& [key, value] : node.entries) {
    out << YAML::Key << key << YAML::Value;
    emit(out, value);
  }
  out << YAML::EndMap;
}

std::string as_comment(const std::string& text) {
  std::string out = "# ";
  for (const char c : text) out += c == '\n' ? std::string("\n# ") : std::string(1, c);
  return out + "\n";
}

}  // namespace

Node yaml_text(std::string value) { return Node::text(std::move(value), Origin{}); }
Node yaml_text(std::int64_t value) { return yaml_text(std::to_string(value)); }

Node yaml_list(std::vector<Node> items) {
  Node list;
  list.kind = Node::Kind::sequence;
  list.items = std::move(items);
  return list;
}

Node yaml_texts(const std::vector<std::string>& items) {
  std::vector<Node> nodes;
  for (const std::string& item : items) nodes.push_back(yaml_text(item));
  return yaml_list(std::move(nodes));
}

Node yaml_mapping(std::initializer_list<std::pair<const char*, std::string>> texts) {
  Node mapping;
  mapping.kind = Node::Kind::mapping;
  for (const auto& [key, text] : texts) mapping.put(key, yaml_text(text));
  return mapping;
}

std::string to_yaml(const Node& root, const std::map<std::string, std::string>& comments) {
  std::string text;
  const auto comment = [&](const std::string& key) {
    if (const auto found = comments.find(key); found != comments.end()) text += as_comment(found->second);
  };
  comment("");
  // Key by key, as an emitter's own comments indent what follows them.
  for (const Node::Entry& entry : root.entries) {
    comment(entry.key);
    YAML::Emitter out;
    out << YAML::Block << YAML::BeginMap << YAML::Key << entry.key << YAML::Value;
    emit(out, entry.value);
    out << YAML::EndMap;
    text += std::string(out.c_str(), out.size()) + "\n";
  }
  return text;
}

}  // namespace gangway
