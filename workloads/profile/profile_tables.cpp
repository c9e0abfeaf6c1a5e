#include "workloads/profile/profile_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "models/error.hpp"

namespace gangway::profile {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kDatabaseBegins("SQLite format 3\0", 16);

std::string checked_database(const fs::path& file) {
  std::string name = file.string();
  std::error_code failed;
  if (!fs::is_regular_file(file, failed))
    throw InputError({name, 0}, "profile", fs::exists(file, failed) ? "no regular file" : "no file",
                     "a profile");
  std::ifstream in(file, std::ios::binary);
  std::string head(kDatabaseBegins.size(), '\0');
  in.read(head.data(), static_cast<std::streamsize>(head.size()));
  if (!in || head != kDatabaseBegins)
    throw InputError({name, 0}, "profile", "no SQLite database",
                     "a report exported by `nsys export --type sqlite`");
  return name;
}

std::string quoted_name(const std::string& name) { return '"' + name + '"'; }

}  // namespace

ProfileTables::ProfileTables(const fs::path& file)
    : file_(checked_database(file)), database_(file, Database::Mode::read, [this](const std::string& reason) {
        refuse("profile", quote(reason), "an undamaged database");
      }) {
  // The file is somebody else's: what it defines must not run anything.
  database_.run("PRAGMA trusted_schema=OFF");
  Statement select(database_,
                   "SELECT t.name, c.name FROM sqlite_master AS t, pragma_table_info(t.name) AS c "
                   "WHERE t.type = 'table' AND t.sql NOT LIKE 'CREATE VIRTUAL%'");
  while (select.step()) tables_[std::string(select.text(0))].insert(std::string(select.text(1)));
}

void ProfileTables::refuse(const std::string& key, const std::string& found,
                           const std::string& expected) const {
  throw InputError({file_, 0}, key, found, expected);
}

TableRows::TableRows(ProfileTables& tables, const std::string& table,
                     std::initializer_list<const char*> columns, std::size_t needed) {
  const auto known = tables.tables_.find(table);
  if (known == tables.tables_.end()) return;
  std::string list;
  std::size_t place = 0;
  for (const std::string_view names : columns) {
    std::string found;
    for (std::size_t from = 0; found.empty() && from < names.size();) {
      const std::size_t to = std::min(names.find('|', from), names.size());
      const std::string name(names.substr(from, to - from));
      if (known->second.contains(name)) found = name;
      from = to + 1;
    }
    if (found.empty() && place < needed)
      tables.refuse(table, fmt::format("no column {}", names), "one of Nsight Systems' tables");
    list += (place++ == 0 ? "" : ", ") + (found.empty() ? std::string("NULL") : quoted_name(found));
  }
  select_.emplace(tables.database_, "SELECT " + list + " FROM " + quoted_name(table));
}

bool TableRows::next() { return select_ && select_->step(); }

std::optional<std::int64_t> TableRows::number(int column) const {
  if (!select_->is_integer(column)) return std::nullopt;
  return select_->integer(column);
}

std::optional<std::string_view> TableRows::text(int column) const {
  if (!select_->is_text(column)) return std::nullopt;
  return select_->text(column);
}

}  // namespace gangway::profile
