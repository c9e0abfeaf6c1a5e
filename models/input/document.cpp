#include "models/input/document.hpp"

#include <fmt/format.h>
#include <yaml-cpp/depthguard.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <unordered_set>
#include <utility>

#include "models/nearest.hpp"
#include "models/utf8.hpp"

namespace gangway {
namespace {

constexpr std::size_t kMostNodes = 200'000;
constexpr std::uintmax_t kLargestFile = 16u << 20;

std::size_t weight(const Node& node) {
  std::size_t total = 1;
  for (const Node& item : node.items) total += weight(item);
  for (const auto& [key, value] : node.entries) total += weight(value);
  return total;
}

// Builds the tree from the parser's events, so that aliases, tags and duplicate keys are seen.
class Builder : public YAML::EventHandler {
 public:
  explicit Builder(std::shared_ptr<const std::string> file) : file_(std::move(file)) {}

  Node take() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (documents_++ > 0) throw InputError({*file_, mark.line + 1}, "", "several documents", "one document");
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    leaf(make(mark, Node::Kind::null), anchor);
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    refuse_tag(mark, tag);
    Node node = make(mark, Node::Kind::scalar);
    node.scalar = value;
    leaf(std::move(node), anchor);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto known = anchors_.find(anchor);
    if (known == anchors_.end()) fail(mark, "an alias of an enclosing value", "a complete value");
    count(mark.line + 1, weight(known->second));
    add(known->second);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(mark, tag, anchor, Node::Kind::sequence);
  }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(mark, tag, anchor, Node::Kind::mapping);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapEnd() override { close(); }

 private:
  struct Open {
    Node node;
    YAML::anchor_t anchor;
    std::string key;
    int key_line = 0;
    bool has_key = false;
    std::unordered_set<std::string> keys;
  };

  [[noreturn]] void fail(const YAML::Mark& mark, const std::string& found,
                         const std::string& expected) const {
    throw InputError({*file_, mark.line + 1}, stack_.empty() ? "" : stack_.back().key, found, expected);
  }
  void refuse_tag(const YAML::Mark& mark, const std::string& tag) const {
    if (!tag.empty() && tag != "?" && tag != "!")
      fail(mark, "the tag " + quote(tag), "a value without a tag");
  }
  void count(int line, std::size_t more) {
    nodes_ += more;
    if (nodes_ <= kMostNodes) return;
    throw InputError({*file_, line}, "", fmt::format("more than {} values, aliases expanded", kMostNodes),
                     fmt::format("at most {} values", kMostNodes));
  }
  Node make(const YAML::Mark& mark, Node::Kind kind) {
    count(mark.line + 1, 1);
    Node node;
    node.kind = kind;
    node.file = file_;
    node.line = mark.line + 1;
    return node;
  }
  void open(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, Node::Kind kind) {
    refuse_tag(mark, tag);
    stack_.push_back({make(mark, kind), anchor, "", 0, false, {}});
  }
  void close() {
    Open done = std::move(stack_.back());
    stack_.pop_back();
    leaf(std::move(done.node), done.anchor);
  }
  void leaf(Node node, YAML::anchor_t anchor) {
    if (anchor != 0) {
      count(node.line, weight(node));  // nested anchors copy their contents over and over
      anchors_[anchor] = node;
    }
    add(std::move(node));
  }
  void add(Node node) {
    if (stack_.empty()) {
      root_ = std::move(node);
      return;
    }
    Open& parent = stack_.back();
    if (parent.node.kind == Node::Kind::sequence) {
      parent.node.items.push_back(std::move(node));
    } else if (!parent.has_key) {
      take_key(parent, node);
    } else {
      if (node.kind == Node::Kind::null) node.line = parent.key_line;  // the parser places it at what follows
      parent.node.entries.push_back({parent.key, std::move(node)});
      parent.has_key = false;
    }
  }
  static void take_key(Open& parent, const Node& node) {
    if (node.kind != Node::Kind::scalar)
      throw InputError(node.origin(), "", node.found() + " as a key", "a plain text as a key");
    if (!parent.keys.insert(node.scalar).second)
      throw InputError(node.origin(), node.scalar, "the key a second time", "each key once");
    parent.key = node.scalar;
    parent.key_line = node.line;
    parent.has_key = true;
  }

  std::shared_ptr<const std::string> file_;
  std::vector<Open> stack_;
  std::map<YAML::anchor_t, Node> anchors_;
  std::size_t nodes_ = 0;
  int documents_ = 0;
  Node root_;
};

// Control characters and bytes that are not UTF-8 have no place in a file.
// Returns the number of lines.
int check_characters(std::string_view text, const std::string& file) {
  int line = 1;
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    const auto first = static_cast<unsigned char>(text[0]);
    if (length == 0) throw InputError({file, line}, "", "bytes that are not UTF-8", "a text in UTF-8");
    if ((first < 0x20 && first != '\t' && first != '\n' && first != '\r') || first == 0x7f)
      throw InputError({file, line}, "", fmt::format("the control character {:#04x}", first),
                       "a text in UTF-8");
    if (text.size() > length) line += first == '\n' ? 1 : 0;
    text.remove_prefix(length);
  }
  return line;
}

std::string item_name(const Node& item) {
  if (item.kind == Node::Kind::scalar) return item.scalar;
  for (const char* key : {"label", "name"})
    if (const Node* name = item.find(key); name != nullptr && name->kind == Node::Kind::scalar)
      return name->scalar;
  return "";
}

std::optional<std::size_t> index_in(const std::string& part) {
  std::size_t index = 0;
  const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), index);
  if (error != std::errc() || end != part.data() + part.size()) return std::nullopt;
  return index;
}

const Node* item_of(const Node& sequence, const std::string& part) {
  for (const Node& item : sequence.items)
    if (item_name(item) == part) return &item;
  const auto index = index_in(part);
  return index && *index < sequence.items.size() ? &sequence.items[*index] : nullptr;
}

// An index says nothing of what it is meant for, so its item's name stands beside it.
std::string with_name(const std::string& part, const Node& item) {
  const std::string name = item_name(item);
  return name.empty() || name == part ? part : part + " (" + name + ")";
}

// Where the name of an item at the front of a path ends: names may contain dots, and the longest that fits is
// meant.
std::size_t end_of_item_name(const Node& sequence, const std::string& path) {
  std::size_t end = path.find('.');
  for (const Node& item : sequence.items) {
    const std::string name = item_name(item);
    const bool fits =
        !name.empty() && path.starts_with(name) && (path.size() == name.size() || path[name.size()] == '.');
    if (fits && end != std::string::npos && name.size() > end)
      end = name.size() == path.size() ? std::string::npos : name.size();
  }
  return end;
}

// How a path may name the items, for who wrote `part`.
std::vector<std::string> item_names(const Node& sequence, const std::string& part) {
  std::vector<std::string> names;
  for (const Node& item : sequence.items)
    names.push_back(index_in(part) ? with_name(std::to_string(names.size()), item) : item_name(item));
  return names;
}

// What a plain value of this key stands for: `recording: FILE` for {file: FILE}.
const char* short_for(const std::string& key) {
  if (key == "recording") return "file";
  if (key == "grant") return "of";
  return "name";
}

// A plain value stands for a mapping with only that.
void become_mapping(Node& node, const std::string& key) {
  if (node.kind == Node::Kind::mapping) return;
  Node value = node;
  const bool given = node.kind == Node::Kind::scalar;
  node.kind = Node::Kind::mapping;
  node.scalar.clear();
  node.items.clear();
  if (given) node.entries.push_back({short_for(key), std::move(value)});
}

// To a part of the node, which is the value of that key.
Node& step(Node& node, const std::string& key, const std::string& part, const std::string& path,
           const Origin& origin) {
  if (node.kind == Node::Kind::sequence) {
    if (const Node* item = item_of(node, part)) return const_cast<Node&>(*item);
    throw InputError(origin, path, quote(part), expected_names(part, item_names(node, part)));
  }
  become_mapping(node, key);
  if (Node* value = node.find(part)) return *value;
  Node missing;
  missing.file = std::make_shared<const std::string>(origin.file);
  missing.line = origin.line;
  node.entries.push_back({part, std::move(missing)});
  return node.entries.back().value;
}

}  // namespace

Node Node::text(std::string value, const Node& where) {
  Node node;
  node.kind = Kind::scalar;
  node.scalar = std::move(value);
  node.file = where.file;
  node.line = where.line;
  return node;
}

Node Node::text(std::string value, const Origin& where) {
  Node place;
  place.file = std::make_shared<const std::string>(where.file);
  place.line = where.line;
  return text(std::move(value), place);
}

const Node* Node::find(std::string_view key) const {
  for (const auto& [name, value] : entries)
    if (name == key) return &value;
  return nullptr;
}

Node* Node::find(std::string_view key) { return const_cast<Node*>(std::as_const(*this).find(key)); }

void Node::put(const std::string& key, Node value) {
  if (Node* old = find(key))
    *old = std::move(value);
  else
    entries.push_back({key, std::move(value)});
}

std::string Node::found() const {
  switch (kind) {
    case Kind::null:
      return "nothing";
    case Kind::scalar:
      return quote(scalar);
    case Kind::sequence:
      return items.empty() ? "an empty list" : "a list";
    case Kind::mapping:
      return entries.empty() ? "an empty mapping" : "a mapping";
  }
  return "nothing";
}

nlohmann::ordered_json Node::json() const {
  switch (kind) {
    case Kind::null:
      return nullptr;
    case Kind::scalar:
      return scalar;
    case Kind::sequence: {
      auto list = nlohmann::ordered_json::array();
      for (const Node& item : items) list.push_back(item.json());
      return list;
    }
    case Kind::mapping:
      break;
  }
  auto map = nlohmann::ordered_json::object();
  for (const auto& [key, value] : entries) map[key] = value.json();
  return map;
}

Node parse_yaml(const std::string& text, const std::string& file) {
  const int lines = check_characters(text, file);
  // The mark of a document's end makes the parser notice a quote that is never closed.
  std::istringstream stream(text + "\n...\n");
  try {
    YAML::Parser parser(stream);
    Builder builder(std::make_shared<const std::string>(file));
    if (!parser.HandleNextDocument(builder))
      throw InputError({file, 1}, "", "an empty file", "a YAML mapping");
    Node root = builder.take();
    if (root.kind == Node::Kind::null) throw InputError({file, 1}, "", "an empty file", "a YAML mapping");
    parser.HandleNextDocument(builder);
    return root;
  } catch (const YAML::DeepRecursion& error) {
    throw InputError({file, std::min(error.mark.line + 1, lines)}, "", "values nested too deeply",
                     "a YAML mapping");
  } catch (const YAML::Exception& error) {
    throw InputError({file, std::min(error.mark.line + 1, lines)}, "", "invalid YAML (" + error.msg + ")",
                     "a YAML mapping");
  }
}

Node read_yaml(const std::string& path) {
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  if (error) throw InputError({path, 0}, "", "an unreadable file (" + error.message() + ")", "a YAML file");
  if (size > kLargestFile)
    throw InputError({path, 0}, "", fmt::format("{} bytes", size),
                     fmt::format("at most {} bytes", kLargestFile));
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  if (!in) throw InputError({path, 0}, "", "an unreadable file", "a YAML file");
  return parse_yaml(text.str(), path);
}

Node& place(Node& root, const std::string& path, const Origin& origin) {
  if (!is_utf8(path)) throw InputError(origin, path, "bytes that are not UTF-8", "a path in UTF-8");
  Node* node = &root;
  std::string rest = path, key;
  for (;;) {
    // A key may itself contain dots: the paths below `sweep` do.
    if (Node* whole = node->find(rest)) return *whole;
    const std::size_t dot =
        node->kind == Node::Kind::sequence ? end_of_item_name(*node, rest) : rest.find('.');
    const std::string part = rest.substr(0, dot);
    if (part.empty()) throw InputError(origin, path, "an empty name in the path", "names separated by dots");
    node = &step(*node, key, part, path, origin);
    key = part;
    if (dot == std::string::npos) return *node;
    rest.erase(0, dot + 1);
  }
}

std::string path_with_names(const Node& root, const std::string& path) {
  std::string named;
  const Node* node = &root;
  std::string rest = path;
  for (;;) {
    const bool list = node->kind == Node::Kind::sequence;
    const std::size_t dot = list ? end_of_item_name(*node, rest) : rest.find('.');
    const std::string part = rest.substr(0, dot);
    node = list ? item_of(*node, part) : node->find(part);
    if (node == nullptr) return named + rest;
    named += list ? with_name(part, *node) : part;
    if (dot == std::string::npos) return named;
    named += '.';
    rest.erase(0, dot + 1);
  }
}

}  // namespace gangway
