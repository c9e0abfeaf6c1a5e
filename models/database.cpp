#include "models/database.hpp"

#include <sqlite3.h>

#include <cerrno>
#include <cstring>
#include <new>

namespace gangway {

Database::Database(const std::filesystem::path& file, Mode mode, Failed failed) : failed_(std::move(failed)) {
  open(file.c_str(), mode == Mode::read ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
}

Database::Database(std::string content, Failed failed)
    : content_(std::move(content)), failed_(std::move(failed)) {
  open(":memory:", SQLITE_OPEN_READWRITE);
  const auto size = static_cast<sqlite3_int64>(content_.size());
  try {
    check(sqlite3_deserialize(handle_, "main", reinterpret_cast<unsigned char*>(content_.data()), size, size,
                              SQLITE_DESERIALIZE_READONLY));
  } catch (...) {
    close();
    throw;
  }
}

void Database::open(const char* file, int flags) {
  const int code = sqlite3_open_v2(file, &handle_, flags | SQLITE_OPEN_NOMUTEX, nullptr);
  try {
    check(code);
  } catch (...) {
    close();
    throw;
  }
}

Database::~Database() { close(); }

void Database::close() {
  sqlite3_close(handle_);
  handle_ = nullptr;
}

void Database::check(int code) {
  if (code == SQLITE_OK || code == SQLITE_ROW || code == SQLITE_DONE) return;
  if (code == SQLITE_NOMEM) throw std::bad_alloc();
  const int error = sqlite3_system_errno(handle_);
  if (code == SQLITE_FULL) return failed_(std::strerror(ENOSPC));
  const bool of_system = (code & 0xff) == SQLITE_IOERR || code == SQLITE_CANTOPEN;
  // Some calls return a code and leave the handle without an error.
  const char* const said =
      sqlite3_errcode(handle_) == SQLITE_OK ? sqlite3_errstr(code) : sqlite3_errmsg(handle_);
  failed_(of_system && error != 0 ? std::strerror(error) : said);
}

void Database::wait_for_others(std::chrono::milliseconds limit) {
  sqlite3_busy_timeout(handle_, static_cast<int>(limit.count()));
}

bool Database::in_transaction() const { return sqlite3_get_autocommit(handle_) == 0; }

void Database::run(const char* sql) { check(sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr)); }

Statement::Statement(Database& database, const std::string& sql) : database_(database) {
  database_.check(sqlite3_prepare_v2(database.handle_, sql.c_str(), -1, &statement_, nullptr));
}

Statement::~Statement() { sqlite3_finalize(statement_); }

Statement& Statement::bind(std::int64_t number) {
  sqlite3_bind_int64(statement_, ++bound_, number);
  return *this;
}

Statement& Statement::bind(std::string_view text) {
  sqlite3_bind_text64(statement_, ++bound_, text.data() == nullptr ? "" : text.data(), text.size(),
                      SQLITE_STATIC, SQLITE_UTF8);
  return *this;
}

Statement& Statement::bind_null() {
  sqlite3_bind_null(statement_, ++bound_);
  return *this;
}

void Statement::go() {
  step();
  sqlite3_reset(statement_);
  bound_ = 0;
}

bool Statement::step() {
  const int code = sqlite3_step(statement_);
  database_.check(code);
  return code == SQLITE_ROW;
}

bool Statement::is_integer(int column) const {
  return sqlite3_column_type(statement_, column) == SQLITE_INTEGER;
}
bool Statement::is_text(int column) const { return sqlite3_column_type(statement_, column) == SQLITE_TEXT; }
bool Statement::is_null(int column) const { return sqlite3_column_type(statement_, column) == SQLITE_NULL; }

std::int64_t Statement::integer(int column) const { return sqlite3_column_int64(statement_, column); }

std::string_view Statement::text(int column) const {
  const void* data =
      is_text(column) ? sqlite3_column_text(statement_, column) : sqlite3_column_blob(statement_, column);
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_, column));
  return data == nullptr ? std::string_view() : std::string_view(static_cast<const char*>(data), size);
}

}  // namespace gangway
