#include "experiments/results/row.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "models/quantity.hpp"

namespace gangway {

Cell::Cell(double value) {
  if (std::isfinite(value)) value_ = value;
}

Cell::Cell(std::optional<double> value) {
  if (value && std::isfinite(*value)) value_ = *value;
}

Cell::Cell(std::string text) {
  if (!text.empty()) value_ = std::move(text);
}

std::optional<double> Cell::number() const {
  const double* value = std::get_if<double>(&value_);
  return value != nullptr ? std::optional<double>(*value) : std::nullopt;
}

const std::string& Cell::text() const {
  static const std::string none;
  const std::string* text = std::get_if<std::string>(&value_);
  return text != nullptr ? *text : none;
}

std::string Cell::csv() const {
  if (const auto value = number()) return to_text(*value);
  return csv_field(text());
}

nlohmann::ordered_json Cell::json() const {
  if (empty()) return nullptr;
  if (const auto value = number()) return *value;
  return text();
}

Cell Cell::from_json(const nlohmann::ordered_json& json) {
  if (json.is_null()) return {};
  return json.is_string() ? Cell(json.get<std::string>()) : Cell(json.get<double>());
}

const Cell& cell(const Row& row, std::string_view column) {
  static const Cell none;
  const auto found = std::find_if(row.begin(), row.end(), [&](const auto& c) { return c.first == column; });
  return found != row.end() ? found->second : none;
}

std::vector<std::string> listed_names(std::string_view text) {
  std::vector<std::string> names;
  while (!text.empty()) {
    const std::size_t bar = text.find('|');
    names.emplace_back(text.substr(0, bar));
    text.remove_prefix(bar == std::string_view::npos ? text.size() : bar + 1);
  }
  return names;
}

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (char c : text) out += c == '"' ? "\"\"" : std::string(1, c);
  return out + "\"";
}

std::string csv_names(const Row& row) {
  std::string text;
  for (const auto& [name, value] : row) text += (text.empty() ? "" : ",") + csv_field(name);
  return text;
}

std::string csv_values(const Row& row) {
  std::string text;
  for (std::size_t i = 0; i < row.size(); ++i) text += (i > 0 ? "," : "") + row[i].second.csv();
  return text;
}

nlohmann::ordered_json row_json(const Row& row) {
  auto json = nlohmann::ordered_json::object();
  for (const auto& [name, value] : row) json[name] = value.json();
  return json;
}

Row row_from(const nlohmann::ordered_json& json) {
  Row row;
  for (const auto& [name, value] : json.items()) row.emplace_back(name, Cell::from_json(value));
  return row;
}

}  // namespace gangway
