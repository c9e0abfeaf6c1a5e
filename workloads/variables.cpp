#include "workloads/variables.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "models/shown.hpp"

namespace gangway {
namespace {

constexpr std::int64_t kMost = std::int64_t{1} << 60;  // bytes; sums stay below twice that

void add(Bytes& sum, Bytes size) { sum.count = std::min(kMost, sum.count + size.count); }

BlockMap read_map(const Field& field) {
  Mapping m = field.mapping();
  BlockMap map;
  const Field size = m.need("size");
  map.size = map.stride = size.bytes();
  if (map.size.count == 0) size.fail("at least 1 B for a block");
  if (auto first = m.maybe("first")) map.first = first->bytes();
  if (auto stride = m.maybe("stride")) {
    map.stride = stride->bytes();
    if (map.stride < map.size)
      stride->fail("a map that overlaps: every " + to_text(map.stride) + " a block's " + to_text(map.size),
                   "at least the size");
  }
  m.finish();
  return map;
}

Variable read_variable(const Field& field, const Client& client) {
  Mapping m = field.mapping();
  Variable variable;
  variable.name = m.need("name").identifier();
  for (const Variable& other : client.variables)
    if (other.name == variable.name)
      field.fail(quote(variable.name) + " a second time", "each variable once");
  const Field size = m.need("size");
  variable.size = size.bytes();
  if (variable.size.count == 0) size.fail("a variable of at least 1 B");
  if (auto input = m.maybe("input")) variable.input = input->boolean();
  if (auto output = m.maybe("output")) variable.output = output->boolean();
  variable.dirty = variable.output;
  if (auto dirty = m.maybe("dirty")) {
    variable.dirty = dirty->boolean();
    if (variable.output && !variable.dirty)
      dirty->fail("an output that no kernel writes", "dirty: true, or none, as outputs are dirty");
  }
  if (auto map = m.maybe("map")) variable.map = read_map(*map);
  m.finish();
  return variable;
}

void read_variables(const Field& field, const std::optional<Field>& memory, Client& client) {
  Bytes all;
  for (const Field& item : field.items()) {
    const Variable variable = read_variable(item, client);
    add(all, variable.size);
    if (variable.input) add(client.copy_in, variable.size);
    if (variable.output) add(client.copy_out, variable.size);
    client.variables.push_back(variable);
    if (memory && all > client.memory)
      item.fail(shown_size(all) + " of variables up to here",
                "at most the " + shown_size(client.memory) + " of `memory`");
  }
  if (!memory) client.memory = all;
}

}  // namespace

void read_memory(Mapping& m, Client& client) {
  const auto copy_in = m.maybe("copy_in"), copy_out = m.maybe("copy_out"), memory = m.maybe("memory");
  if (memory) client.memory = memory->bytes();
  if (copy_in) client.copy_in = copy_in->bytes();
  if (copy_out) client.copy_out = copy_out->bytes();
  const auto variables = m.maybe("variables");
  if (!variables) return;
  for (const auto& copy : {copy_in, copy_out})
    if (copy) copy->fail("copies beside variables, which say what is copied", "one of them");
  read_variables(*variables, memory, client);
}

void check_maps(const Field& field, const Client& client) {
  const Node* variables = field.node().find("variables");
  if (variables == nullptr) return;
  const BlockCount blocks = largest_grid(client);
  for (std::size_t i = 0; i < client.variables.size(); ++i) {
    const Variable& variable = client.variables[i];
    if (!variable.map || blocks.count == 0) continue;
    const BlockMap& map = *variable.map;
    const std::int64_t room = variable.size.count - map.first.count - map.size.count;
    if (room >= 0 && (blocks.count == 1 || map.stride.count <= room / (blocks.count - 1))) continue;
    throw InputError(
        variables->items[i].origin(), fmt::format("{}.variables.{}.map", field.path(), i),
        fmt::format("a map of {} blocks beyond the variable's {}", blocks.count, shown_size(variable.size)),
        "parts within it for all blocks of the largest kernel");
  }
}

}  // namespace gangway
