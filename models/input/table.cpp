#include "models/input/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <fstream>

#include "models/error.hpp"
#include "models/nearest.hpp"

namespace gangway {
namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

std::string content(const std::filesystem::path& file) {
  std::error_code error;
  const auto size = std::filesystem::file_size(file, error);
  std::ifstream in(file, std::ios::binary);
  std::string text(error ? 0 : size, '\0');
  if (error || !in.read(text.data(), static_cast<std::streamsize>(size)))
    throw InputError(fmt::format("{}: found {}, expected a file of a result folder", file.string(),
                                 error ? error.message() : std::strerror(errno)));
  return text;
}

template <typename Number>
bool parse_whole(std::string_view text, Number& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

Table::Table(std::filesystem::path file) : file_(std::move(file)), text_(content(file_)), rest_(text_) {
  read_columns();
}

Table::Table(std::filesystem::path file, std::string content)
    : file_(std::move(file)), text_(std::move(content)), foreign_(true), rest_(text_) {
  if (rest_.starts_with(kByteOrderMark)) rest_.remove_prefix(kByteOrderMark.size());
  const std::size_t last = rest_.find_last_not_of("\r\n");
  rest_ = rest_.substr(0, last == std::string_view::npos ? 0 : last + 1);
  read_columns();
}

void Table::read_columns() {
  if (!read_line()) throw InputError({file_.string(), 1}, "columns", "an empty file", "a line of columns");
  columns_.assign(cells_.begin(), cells_.end());
}

std::size_t Table::column(const std::string& name) const {
  const auto place = column_if_any(name);
  if (!place) throw InputError({file_.string(), 1}, name, "no such column", "a column of that name");
  return *place;
}

std::optional<std::size_t> Table::column_if_any(const std::string& name) const {
  const auto found = std::find(columns_.begin(), columns_.end(), name);
  if (found == columns_.end()) return std::nullopt;
  if (std::find(std::next(found), columns_.end(), name) != columns_.end())
    throw InputError({file_.string(), 1}, name, "two columns of that name", "one");
  return static_cast<std::size_t>(found - columns_.begin());
}

bool Table::next() {
  if (!read_line()) return false;
  if (cells_.size() != columns_.size())
    throw InputError({file_.string(), line_}, "row", fmt::format("{} cells", cells_.size()),
                     fmt::format("{} as in the first line", columns_.size()));
  return true;
}

std::string_view Table::take_line() {
  const std::size_t end = rest_.find('\n');
  if (end == std::string_view::npos && !foreign_)
    throw InputError({file_.string(), line_}, "row", "no end of the line",
                     "a whole line; the file is truncated");
  std::string_view line = rest_.substr(0, end);
  rest_.remove_prefix(std::min(rest_.size(), line.size() + 1));
  if (foreign_ && line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

bool Table::read_line() {
  if (rest_.empty()) return false;
  ++line_;
  std::string_view line = take_line();
  cells_.clear();
  unquoted_.clear();
  do cells_.push_back(read_cell(line));
  while (line.data() != nullptr);
  return true;
}

// Takes the first cell and its comma; leaves no data at all after the last one.
std::string_view Table::read_cell(std::string_view& rest) {
  if (!rest.starts_with('"')) {
    const std::size_t comma = rest.find(',');
    const std::string_view cell = rest.substr(0, comma);
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
    return cell;
  }
  std::string cell;
  std::size_t i = 1;
  for (; i < rest.size() && (rest[i] != '"' || rest.substr(i + 1).starts_with('"')); ++i) {
    cell += rest[i];
    if (rest[i] == '"') ++i;
  }
  if (i >= rest.size() || (i + 1 < rest.size() && rest[i + 1] != ','))
    throw InputError({file_.string(), line_}, "row", "an unclosed quote", "quoted cells");
  rest = i + 1 == rest.size() ? std::string_view() : rest.substr(i + 2);
  unquoted_.push_back(std::move(cell));
  return unquoted_.back();
}

std::uint32_t Table::index(std::size_t column) const {
  std::uint32_t value = 0;
  if (!parse_whole(text(column), value)) refuse(column, "a whole number from 0");
  return value;
}

std::optional<double> Table::number(std::size_t column) const {
  if (text(column).empty()) return std::nullopt;
  double value = 0;
  if (!parse_whole(text(column), value) || !std::isfinite(value)) refuse(column, "a number");
  return value;
}

void Table::refuse(std::size_t column, const std::string& expected) const {
  throw InputError({file_.string(), line_}, columns_[column], quote(std::string(text(column))), expected);
}

}  // namespace gangway
