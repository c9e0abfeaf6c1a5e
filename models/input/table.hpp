// Strict row-by-row reading of CSV files, our own and others'.
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gangway {

// Positioned on one row at a time; next() advances, first to the first row. Keeps the whole text in memory.
// Errors are InputErrors with file, line and column: an unreadable file, a row with another number of cells
// than the first line, a last line without a line end (a truncated file), an unclosed quote.
class Table {
 public:
  // For result folders.
  explicit Table(std::filesystem::path file);
  // For other programs' files, with this content. Allows Windows line ends, a byte order mark, empty lines at
  // the end, and a last line without a line end.
  Table(std::filesystem::path file, std::string content);
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;

  const std::filesystem::path& file() const { return file_; }
  const std::vector<std::string>& columns() const { return columns_; }
  // InputError if there are two of the name; column(): or none.
  std::size_t column(const std::string& name) const;
  std::optional<std::size_t> column_if_any(const std::string& name) const;

  bool next();  // false after the last row
  int line() const { return line_; }

  // Of the current row. Views are valid until the next row.
  std::string_view text(std::size_t column) const { return cells_[column]; }
  std::uint32_t index(std::size_t column) const;           // a whole number from 0 to 2^32 - 1
  std::optional<double> number(std::size_t column) const;  // finite; none for an empty cell
  [[noreturn]] void refuse(std::size_t column, const std::string& expected) const;

 private:
  void read_columns();
  bool read_line();
  std::string_view take_line();
  std::string_view read_cell(std::string_view& rest);

  std::filesystem::path file_;
  std::string text_;
  bool foreign_ = false;
  std::string_view rest_;
  std::vector<std::string> columns_;
  std::vector<std::string_view> cells_;
  std::deque<std::string> unquoted_;  // of the current row; a deque, as cells_ points into it
  int line_ = 0;
};

}  // namespace gangway
