// What this machine can do, and what to install for the rest.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace gangway {

// One thing that was looked for.
struct Examined {
  std::string what;
  bool yes = false;
  std::string found;   // its version or place, or what is wrong
  std::string advice;  // where it is `no`: what to do about it
  bool needed = true;  // whether the area is `no` without it
};

// What a user wants to do, and what it needs.
struct Area {
  std::string name;
  std::vector<Examined> parts;
  bool yes() const;  // all that is needed is there
};

// Looks at this machine: starts Python, loads the CUDA driver and CUPTI where they are, asks a daemon that
// listens for its status, and changes nothing. What is missing is told, never thrown.
std::vector<Area> examine_machine();

// {version, areas: [{name, yes, parts: [{what, yes, needed, found, advice}]}]}, for programs.
nlohmann::ordered_json examined_json(const std::vector<Area>& areas);

}  // namespace gangway
