#include "tests/standin/modules/ptx.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <map>

namespace gangway::standin {
namespace {

struct Malformed {};

// Words, numbers and single characters; comments are gone.
std::vector<std::string> tokens(const std::string& text) {
  std::vector<std::string> found;
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (std::isspace(static_cast<unsigned char>(c))) {
      ++i;
    } else if (text.compare(i, 2, "//") == 0) {
      i = std::min(text.find('\n', i), text.size());
    } else if (text.compare(i, 2, "/*") == 0) {
      const std::size_t end = text.find("*/", i + 2);
      if (end == std::string::npos) throw Malformed{};
      i = end + 2;
    } else {
      const auto belongs = [&](char d) {
        return std::isalnum(static_cast<unsigned char>(d)) || d == '_' || d == '.' || d == '$' || d == '%';
      };
      std::size_t end = i;
      while (end < text.size() && belongs(text[end])) ++end;
      end = std::max(end, i + 1);
      found.push_back(text.substr(i, end - i));
      i = end;
    }
  }
  return found;
}

class Reader {
 public:
  explicit Reader(const std::string& text) : tokens_(tokens(text)) {}

  Ptx read() {
    Ptx ptx;
    expect(".version");
    version();
    while (at_ < tokens_.size()) {
      const std::string token = next();
      if (token == ".target")
        ptx.target = target();
      else if (token == ".entry")
        ptx.entries.push_back(entry());
      else if (token == ".global" || token == ".const")
        ptx.variables.push_back(variable());
      else if (token == "{")
        skip_block();
    }
    if (ptx.target == 0) throw Malformed{};
    return ptx;
  }

 private:
  const std::string& peek() const {
    if (at_ >= tokens_.size()) throw Malformed{};
    return tokens_[at_];
  }
  std::string next() {
    std::string token = peek();
    ++at_;
    return token;
  }
  void expect(const char* token) {
    if (next() != token) throw Malformed{};
  }
  std::size_t number() {
    const std::string token = next();
    char* end = nullptr;
    const auto value = std::strtoull(token.c_str(), &end, 0);
    if (*end != '\0') throw Malformed{};
    return value;
  }

  void version() {
    const std::string token = next();
    char* end = nullptr;
    if (std::strtod(token.c_str(), &end) < 1.0 || *end != '\0') throw Malformed{};
  }

  unsigned target() {
    const std::string token = next();
    if (!token.starts_with("sm_")) throw Malformed{};
    return static_cast<unsigned>(std::strtoul(token.c_str() + 3, nullptr, 10));
  }

  void skip_block() {  // after its opening brace
    for (int depth = 1; depth > 0;) {
      const std::string token = next();
      if (token == "{") ++depth;
      if (token == "}") --depth;
    }
  }

  static std::size_t width(const std::string& type) {
    static const std::map<std::string, std::size_t> widths{
        {".b8", 1},  {".u8", 1},  {".s8", 1},  {".b16", 2},  {".u16", 2}, {".s16", 2},
        {".f16", 2}, {".b32", 4}, {".u32", 4}, {".s32", 4},  {".f32", 4}, {".b64", 8},
        {".u64", 8}, {".s64", 8}, {".f64", 8}, {".b128", 16}};
    const auto found = widths.find(type);
    return found == widths.end() ? 0 : found->second;
  }

  // The rest of a declaration up to its name and bounds: alignment, attributes, type.
  Variable declared() {
    Variable variable{{}, 0, 0};
    while (variable.size == 0) {
      const std::string token = next();
      if (token == ".align")
        variable.alignment = number();
      else if (token == "," || token == ")" || token == ";")
        throw Malformed{};
      else
        variable.size = width(token);
    }
    if (variable.alignment == 0) variable.alignment = variable.size;
    while (peek() == ".ptr" || peek() == ".global" || peek() == ".align") {
      if (next() == ".align") number();
    }
    variable.name = next();
    while (peek() == "[") {
      next();
      variable.size *= number();
      expect("]");
    }
    return variable;
  }

  Variable variable() {
    const Variable found = declared();
    while (next() != ";") continue;
    return found;
  }

  Entry entry() {
    Entry found;
    found.name = next();
    std::size_t end = 0;
    if (peek() == "(") {
      next();
      while (peek() != ")") {
        expect(".param");
        const Variable parameter = declared();
        const std::size_t offset =
            (end + parameter.alignment - 1) / parameter.alignment * parameter.alignment;
        found.parameters.push_back({offset, parameter.size});
        end = offset + parameter.size;
        if (peek() == ",") next();
      }
      next();
    }
    found.parameter_bytes = end;
    for (std::string token = next(); token != "{"; token = next()) {  // directives on performance
      if (token != ".maxntid" && token != ".reqntid") continue;
      std::size_t extent[3] = {number(), 1, 1};
      for (int dimension = 1; dimension < 3 && peek() == ","; ++dimension) {
        next();
        extent[dimension] = number();
      }
      found.most_threads = extent[0] * extent[1] * extent[2];
      if (token == ".reqntid") std::copy(extent, extent + 3, found.required);
    }
    skip_block();
    return found;
  }

  std::vector<std::string> tokens_;
  std::size_t at_ = 0;
};

}  // namespace

std::optional<Ptx> read_ptx(const std::string& text) {
  try {
    return Reader(text).read();
  } catch (const Malformed&) {
    return std::nullopt;
  }
}

}  // namespace gangway::standin
