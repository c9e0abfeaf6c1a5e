// A CSV file, of a result folder or of somebody else, read strictly, row by row.
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gangway {

// Stands on one row at a time: next() goes to the first, then on. The whole text is kept in memory. Every
// error is an InputError with file, line and column: a file that cannot be read, a row with more or fewer
// cells than the first line, a last line without an end (a file cut off), a quote that does not close.
class Table {
 public:
  // Of a result folder.
  explicit Table(std::filesystem::path file);
  // Of another program, with this content: lines may end as on Windows, the last one may have no end, empty
  // ones may follow it, and a byte order mark may precede the first.
  Table(std::filesystem::path file, std::string content);
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;

  const std::filesystem::path& file() const { return file_; }
  const std::vector<std::string>& columns() const { return columns_; }
  std::size_t column(const std::string& name) const;  // its place; InputError when there is none
  std::optional<std::size_t> column_if_any(const std::string& name) const;

  bool next();  // false after the last row
  int line() const { return line_; }

  // Of the current row. A view is good until the next row.
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
