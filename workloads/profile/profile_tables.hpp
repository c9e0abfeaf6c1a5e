// Tables of an SQLite file whose columns differ between versions: found by name, none where they are missing.
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
  // Throws InputError where it is no SQLite database.
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

// The rows of one table, in its own order; no rows where there is no such table.
class TableRows {
 public:
  // A column: its names in all versions, separated by |. Where `needed` are not there, InputError.
  TableRows(ProfileTables& tables, const std::string& table, std::initializer_list<const char*> columns,
            std::size_t needed);

  bool next();
  // Values of the row at hand, by the column's place. None where it is NULL, of another type or not there.
  std::optional<std::int64_t> number(int column) const;
  // Likewise where it is out of range.
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
  std::optional<std::string_view> text(int column) const;  // until the next row

 private:
  std::optional<Statement> select_;
};

}  // namespace gangway::profile
