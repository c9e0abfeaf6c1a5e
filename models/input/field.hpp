// Typed, strict reading of a document: every error names file, line, key path, what was found and what was
// expected.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "models/input/document.hpp"
#include "models/quantity.hpp"

namespace gangway {

class Mapping;

// A value with its path.
class Field {
 public:
  Field(const Node& node, std::string path) : node_(&node), path_(std::move(path)) {}

  const Node& node() const { return *node_; }
  const std::string& path() const { return path_; }
  [[noreturn]] void fail(const std::string& found, const std::string& expected) const;
  [[noreturn]] void fail(const std::string& expected) const { fail(node_->found(), expected); }

  // Each throws InputError unless the value has that form and lies in the (closed) range.
  std::string text() const;        // a non-empty scalar
  std::string identifier() const;  // letters, digits and _ - . only, at most 80; not NA and the like
  bool boolean() const;
  std::int64_t integer(std::int64_t least, std::int64_t most) const;
  double number(double least, double most) const;  // a plain number or a percentage
  Duration duration(Duration least = Duration{0}, Duration most = Duration::max()) const;
  Bytes bytes() const;
  Bandwidth bandwidth() const;
  Rate rate() const;
  std::string one_of(const std::vector<std::string>& names) const;
  std::vector<Field> items() const;
  Mapping mapping() const;
  bool is_scalar() const { return node_->kind == Node::Kind::scalar; }
  bool is_mapping() const { return node_->kind == Node::Kind::mapping; }

 private:
  const Node* node_;
  std::string path_;
};

// A mapping read key by key; finish() refuses keys that were not read.
class Mapping {
 public:
  explicit Mapping(Field field);

  Field need(const std::string& key);
  std::optional<Field> maybe(const std::string& key);
  std::optional<Duration> maybe_duration(const std::string& key, Duration least);
  const Field& self() const { return field_; }
  void finish() const;

 private:
  Field field_;
  std::vector<std::string> known_;
};

// Reads every file's header: `kind` (as given) and `version: 1`.
void read_header(Mapping& file, const std::string& kind);

}  // namespace gangway
