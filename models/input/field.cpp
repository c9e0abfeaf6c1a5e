#include "models/input/field.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include "models/nearest.hpp"

namespace gangway {
namespace {

// What pandas.read_csv reads as a missing value, quoted or not, of all that is an identifier otherwise.
constexpr std::array<std::string_view, 8> kMissing{"NA",  "NULL", "NaN",  "None",
                                                   "nan", "null", "-NaN", "-nan"};

template <typename Quantity>
Quantity read_quantity(const Field& field) {
  Quantity value;
  ParseFailure why;
  parse("", value, why);  // the expectation, for values that are no text at all
  if (!field.is_scalar() || !parse(field.node().scalar, value, why)) field.fail(why.expected);
  return value;
}

}  // namespace

void Field::fail(const std::string& found, const std::string& expected) const {
  throw InputError(node_->origin(), path_, found, expected);
}

std::string Field::text() const {
  if (!is_scalar() || node_->scalar.empty()) fail("a text");
  return node_->scalar;
}

std::string Field::identifier() const {
  std::string value = text();
  const bool fine = value.size() <= 80 && value.front() != '.' &&
                    std::all_of(value.begin(), value.end(), [](unsigned char c) {
                      return std::isalnum(c) != 0 ||
                             std::string_view("_-.").find(static_cast<char>(c)) != std::string_view::npos;
                    });
  if (!fine) fail("a name of at most 80 letters, digits and _ - . that does not begin with a dot");
  if (std::find(kMissing.begin(), kMissing.end(), value) != kMissing.end())
    fail("a name that table readers such as pandas do not treat as a missing value");
  return value;
}

bool Field::boolean() const {
  if (is_scalar() && node_->scalar == "true") return true;
  if (is_scalar() && node_->scalar == "false") return false;
  fail("true or false");
}

std::int64_t Field::integer(std::int64_t least, std::int64_t most) const {
  std::int64_t value = 0;
  const std::string& text = node_->scalar;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = is_scalar() && error == std::errc() && end == text.data() + text.size();
  if (!whole || value < least || value > most) fail(fmt::format("a whole number from {} to {}", least, most));
  return value;
}

double Field::number(double least, double most) const {
  double value = 0;
  ParseFailure why;
  if (!is_scalar() || !parse_share(node_->scalar, value, why) || !(value >= least && value <= most))
    fail(fmt::format("a number (or a percentage) from {} to {}", least, most));
  return value;
}

Duration Field::duration(Duration least, Duration most) const {
  const auto value = read_quantity<Duration>(*this);
  if (value < least || value > most)
    fail(most == Duration::max() ? fmt::format("at least {}", to_text(least))
                                 : fmt::format("from {} to {}", to_text(least), to_text(most)));
  return value;
}

Bytes Field::bytes() const { return read_quantity<Bytes>(*this); }
Bandwidth Field::bandwidth() const { return read_quantity<Bandwidth>(*this); }
Rate Field::rate() const { return read_quantity<Rate>(*this); }

std::string Field::one_of(const std::vector<std::string>& names) const {
  std::string value = is_scalar() ? node_->scalar : std::string();
  if (std::find(names.begin(), names.end(), value) == names.end()) fail(expected_names(value, names));
  return value;
}

std::vector<Field> Field::items() const {
  if (node_->kind != Node::Kind::sequence || node_->items.empty()) fail("a list with at least one item");
  std::vector<Field> fields;
  for (std::size_t i = 0; i < node_->items.size(); ++i)
    fields.emplace_back(node_->items[i], fmt::format("{}.{}", path_, i));
  return fields;
}

Mapping Field::mapping() const { return Mapping(*this); }

Mapping::Mapping(Field field) : field_(std::move(field)) {
  if (!field_.is_mapping()) field_.fail("a mapping");
}

Field Mapping::need(const std::string& key) {
  if (auto field = maybe(key)) return *field;
  const std::string path = field_.path().empty() ? key : field_.path() + "." + key;
  // A key that nobody asked for so far and that resembles this one is rather a slip of the pen than another
  // mistake.
  for (const auto& [name, value] : field_.node().entries)
    if (std::find(known_.begin(), known_.end(), name) == known_.end() && resembles(name, key))
      throw InputError(value.origin(), field_.path().empty() ? name : field_.path() + "." + name,
                       "an unknown key", fmt::format("the required key '{}' (did you mean '{}'?)", key, key));
  throw InputError(field_.node().origin(), path, "nothing", "this key, which is required");
}

std::optional<Field> Mapping::maybe(const std::string& key) {
  if (std::find(known_.begin(), known_.end(), key) == known_.end()) known_.push_back(key);
  const Node* node = field_.node().find(key);
  if (node == nullptr) return std::nullopt;
  return Field(*node, field_.path().empty() ? key : field_.path() + "." + key);
}

std::optional<Duration> Mapping::maybe_duration(const std::string& key, Duration least) {
  const auto field = maybe(key);
  return field ? std::optional(field->duration(least)) : std::nullopt;
}

void Mapping::finish() const {
  for (const auto& [key, value] : field_.node().entries) {
    if (std::find(known_.begin(), known_.end(), key) != known_.end()) continue;
    const std::string path = field_.path().empty() ? key : field_.path() + "." + key;
    throw InputError(value.origin(), path, "an unknown key", expected_names(key, known_));
  }
}

void read_header(Mapping& file, const std::string& kind) {
  file.need("kind").one_of({kind});
  file.need("version").one_of({"1"});
}

}  // namespace gangway
