#include "tests/ptx/interpreter/syntax.hpp"

#include "tests/ptx/interpreter/parser.hpp"

namespace gangway::testing::ptx {

Type type_named(std::string_view name) {
  if (name == "pred") return {'p', 8, false};
  if (name == "f16x2") return {'f', 16, true};
  if (name == "bf16x2") return {'h', 16, true};
  if (name == "bf16") return {'h', 16, false};
  if (name == "tf32") return {'t', 32, false};
  static const std::map<std::string_view, Type> types = [] {
    std::map<std::string_view, Type> all;
    all["b8"] = {'b', 8};
    all["b16"] = {'b', 16};
    all["b32"] = {'b', 32};
    all["b64"] = {'b', 64};
    all["b128"] = {'b', 128};
    all["u8"] = {'u', 8};
    all["u16"] = {'u', 16};
    all["u32"] = {'u', 32};
    all["u64"] = {'u', 64};
    all["s8"] = {'s', 8};
    all["s16"] = {'s', 16};
    all["s32"] = {'s', 32};
    all["s64"] = {'s', 64};
    all["f16"] = {'f', 16};
    all["f32"] = {'f', 32};
    all["f64"] = {'f', 64};
    return all;
  }();
  const auto found = types.find(name);
  return found == types.end() ? Type{} : found->second;
}

Space space_named(std::string_view name) {
  if (name == ".reg") return Space::reg;
  if (name == ".global") return Space::global;
  if (name == ".const") return Space::constant;
  if (name == ".shared") return Space::shared;
  if (name == ".local") return Space::local;
  if (name == ".param") return Space::param;
  return Space::none;
}

Syntax parsed(std::string_view text) { return Parser(text).module(); }

}  // namespace gangway::testing::ptx
