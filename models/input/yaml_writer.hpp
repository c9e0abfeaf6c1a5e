// Writes YAML that read_yaml() reads back as the same values.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "models/input/document.hpp"

namespace gangway {

// Constructors of values.
Node yaml_text(std::string value);
Node yaml_text(std::int64_t value);
Node yaml_list(std::vector<Node> items);
Node yaml_texts(const std::vector<std::string>& items);
Node yaml_mapping(std::initializer_list<std::pair<const char*, std::string>> texts);

// Writes a mapping, with `comments`, possibly of several lines, before the top-level keys that they name; the
// key "" is the start of the file. Short collections take one line.
std::string to_yaml(const Node& root, const std::map<std::string, std::string>& comments = {});

}  // namespace gangway
