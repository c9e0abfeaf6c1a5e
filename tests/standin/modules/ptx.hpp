// What the stand-in reads in PTX: the signatures and bounds of entries, and global variables. Bodies are the
// twins' business.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace gangway::standin {

struct Parameter {
  std::size_t offset, size;
};

struct Entry {
  std::string name;
  std::vector<Parameter> parameters;
  std::size_t parameter_bytes = 0;
  std::size_t required[3] = {0, 0, 0};  // .reqntid; zeros: not given
  std::size_t most_threads = 1024;      // of a block (.maxntid, .reqntid)
};

struct Variable {
  std::string name;
  std::size_t size, alignment;
};

struct Ptx {
  unsigned target = 0;  // 90 of sm_90
  std::vector<Entry> entries;
  std::vector<Variable> variables;
};

// None when it is not well-formed as far as it is read.
std::optional<Ptx> read_ptx(const std::string& text);

}  // namespace gangway::standin
