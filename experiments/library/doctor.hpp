// Examines what this machine can do, and what is missing.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace gangway {

// One requirement.
struct Examined {
  std::string what;
  bool yes = false;
  std::string found;   // its version or place, or the problem
  std::string advice;  // what to do if it is missing
  bool needed = true;  // whether the area requires it
};

// A task of users, with its requirements.
struct Area {
  std::string name;
  std::vector<Examined> parts;
  bool yes() const;  // all required parts are present
};

// Examines this machine: starts Python, loads the CUDA driver and CUPTI if present, and asks a running daemon
// for its status. Changes nothing and never throws.
std::vector<Area> examine_machine();

// As JSON: {version, areas: [{name, yes, parts: [{what, yes, needed, found, advice}]}]}.
nlohmann::ordered_json examined_json(const std::vector<Area>& areas);

}  // namespace gangway
