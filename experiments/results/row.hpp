// A row of a result file: cells by column name.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace gangway {

// A number, a text, or empty.
class Cell {
 public:
  Cell() = default;
  Cell(double value);  // empty if not finite
  Cell(std::optional<double> value);
  Cell(std::string text);  // empty if the text is

  bool empty() const { return std::holds_alternative<std::monostate>(value_); }
  std::optional<double> number() const;  // none for a text
  const std::string& text() const;       // empty for a number

  std::string csv() const;  // shortest decimal that reads back as the same double; text quoted if necessary
  nlohmann::ordered_json json() const;
  static Cell from_json(const nlohmann::ordered_json& json);  // nlohmann's exception for other JSON

  friend bool operator==(const Cell&, const Cell&) = default;

 private:
  std::variant<std::monostate, double, std::string> value_;
};

// In file order.
using Row = std::vector<std::pair<std::string, Cell>>;

// The cell of a column; empty if the row lacks it.
const Cell& cell(const Row& row, std::string_view column);

// The names in a cell that lists several, separated by '|'.
std::vector<std::string> listed_names(std::string_view text);

// A CSV field, quoted if necessary (RFC 4180).
std::string csv_field(const std::string& text);

std::string csv_names(const Row& row);  // separated by commas
std::string csv_values(const Row& row);

nlohmann::ordered_json row_json(const Row& row);
Row row_from(const nlohmann::ordered_json& json);

}  // namespace gangway
