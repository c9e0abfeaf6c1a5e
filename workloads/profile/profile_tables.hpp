// SQLite tables whose columns vary by version: looked up by name, none if missing.
#pragma once

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "models/database.hpp"

namespace gangway::profile {

class ProfileTables {
 public:
  // Throws InputError if it is not an SQLite database.
  explicit ProfileTables(const std::filesystem::path& file);

  bool has(const std::string& table) const { return tables_.contains(table); }
  const std::string& file() const { return file_; }
  [[noreturn]] void refuse(const std::string& key, const std::string& found,
                           const std::string& expected) const;

 private:
  friend class TableRows;
  std::string file_;
  Database database_;
  std::map<std::string, std::set<std::string>> tables_;  // their columns
};

// The rows of a table in its own order; none if the table is missing.
class TableRows {
 public:
  // `columns`: all names of each column, separated by |. InputError if `needed` ones are missing.
  TableRows(ProfileTables& tables, const std::string& table, std::initializer_list<const char*> columns,
            std::size_t needed);

  bool next();
  // Values of the current row by column position. None if NULL, of another type, or missing.
  std::optional<std::int64_t> number(int column) const;
  // Also none if out of range.
  template <typename Value>
  std::optional<Value> number_as(int column) const {
    const auto value = number(column);
    if (!value || *value < 0 || static_cast<std::uint64_t>(*value) > std::numeric_limits<Value>::max())
      return std::nullopt;
    return static_cast<Value>(*value);
  }
  template <typename Value>
  Value number_or(int column, Value otherwise) const {
    return number_as<Value>(column).value_or(otherwise);
  }
  std::optional<std::string_view> text(int column) const;  // valid until the next row

 private:
  std::optional<Statement> select_;
};

}  // namespace gangway::profile
