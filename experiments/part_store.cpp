#include "experiments/part_store.hpp"

#include <sqlite3.h>

#include <cerrno>
#include <cstring>
#include <new>

#include "models/error.hpp"

namespace gangway {
namespace {

// A transaction for each of many small parts would take most of their time.
constexpr std::chrono::milliseconds kLongestTransaction{100};
constexpr std::size_t kPiece = 16u << 20;  // of a text in one row
constexpr std::int64_t kPiecesPerCall = 1 << 12;
constexpr int kBusyMilliseconds = 30'000;  // while somebody looks into the file

constexpr const char* kTables =
    "CREATE TABLE IF NOT EXISTS parts(number INTEGER PRIMARY KEY, point INTEGER NOT NULL, name TEXT NOT NULL,"
    " rows TEXT NOT NULL, error TEXT NOT NULL);"
    "CREATE TABLE IF NOT EXISTS texts(number INTEGER NOT NULL, piece INTEGER NOT NULL, text BLOB NOT NULL,"
    " PRIMARY KEY(number, piece));"
    "CREATE TABLE IF NOT EXISTS files(name TEXT PRIMARY KEY, bytes INTEGER NOT NULL, sha256 TEXT NOT NULL);";

}  // namespace

// A prepared statement; numbers and texts are bound from 1 on.
class PartStore::Statement {
 public:
  Statement(PartStore& store, const char* sql) : store_(store) {
    if (sqlite3_prepare_v2(store.database_, sql, -1, &statement_, nullptr) != SQLITE_OK) store.fail();
  }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  Statement& bind(std::int64_t number) {
    sqlite3_bind_int64(statement_, ++bound_, number);
    return *this;
  }
  Statement& bind(std::string_view text) {
    sqlite3_bind_text64(statement_, ++bound_, text.data() == nullptr ? "" : text.data(), text.size(),
                        SQLITE_STATIC, SQLITE_UTF8);
    return *this;
  }
  // Whether there is a row.
  bool step() {
    const int code = sqlite3_step(statement_);
    if (code != SQLITE_ROW && code != SQLITE_DONE) store_.fail();
    return code == SQLITE_ROW;
  }
  std::int64_t number(int column) const { return sqlite3_column_int64(statement_, column); }
  std::string_view text(int column) const {
    const auto* data = static_cast<const char*>(sqlite3_column_blob(statement_, column));
    const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_, column));
    return data == nullptr ? std::string_view() : std::string_view(data, size);
  }

 private:
  PartStore& store_;
  sqlite3_stmt* statement_ = nullptr;
  int bound_ = 0;
};

PartStore::PartStore(std::filesystem::path file) : file_(std::move(file)) {
  open();
  try {
    if (sound()) return;
  } catch (const RunError&) {
  }
  close();
  std::error_code ignored;
  std::filesystem::remove(file_, ignored);
  std::filesystem::remove(file_.string() + "-journal", ignored);
  open();
  try {
    run(kTables);
  } catch (...) {
    close();
    throw;
  }
}

PartStore::~PartStore() {
  try {
    commit();
  } catch (const RunError&) {  // said before
  }
  close();
}

void PartStore::open() {
  failure_.clear();
  // The rollback journal works on network file systems, too, and it survives this process at any instant.
  if (sqlite3_open_v2(file_.c_str(), &database_,
                      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr) != SQLITE_OK)
    fail();
  sqlite3_busy_timeout(database_, kBusyMilliseconds);
}

void PartStore::close() {
  sqlite3_close(database_);
  database_ = nullptr;
}

bool PartStore::sound() {
  run("PRAGMA journal_mode=TRUNCATE; PRAGMA synchronous=NORMAL; PRAGMA temp_store=FILE;");
  run(kTables);
  Statement check(*this, "PRAGMA quick_check(1)");
  return check.step() && check.text(0) == "ok";
}

void PartStore::fail() {
  const int code = sqlite3_errcode(database_);
  if (code == SQLITE_NOMEM) throw std::bad_alloc();
  std::string reason = code == SQLITE_FULL ? std::strerror(ENOSPC) : sqlite3_errmsg(database_);
  if (const int error = sqlite3_system_errno(database_); code == SQLITE_IOERR || code == SQLITE_CANTOPEN)
    if (error != 0) reason = std::strerror(error);
  in_transaction_ = in_transaction_ && sqlite3_get_autocommit(database_) == 0;
  failure_ = "cannot write " + file_.string() + ": " + reason;
  throw RunError(failure_);
}

void PartStore::run(const char* sql) {
  if (sqlite3_exec(database_, sql, nullptr, nullptr, nullptr) != SQLITE_OK) fail();
}

void PartStore::begin() {
  // A failure may have undone texts that came before it: a part must not be kept without them.
  if (!failure_.empty()) throw RunError(failure_);
  if (in_transaction_) return;
  run("BEGIN");
  in_transaction_ = true;
  begun_ = std::chrono::steady_clock::now();
}

void PartStore::commit_old() {
  if (!in_transaction_ || std::chrono::steady_clock::now() - begun_ < kLongestTransaction) return;
  run("COMMIT");
  in_transaction_ = false;
}

void PartStore::commit() {
  const std::lock_guard lock(mutex_);
  if (!in_transaction_) return;
  run("COMMIT");
  in_transaction_ = false;
}

bool PartStore::has(std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  Statement find(*this, "SELECT 1 FROM parts WHERE number = ? AND error = ''");
  return find.bind(static_cast<std::int64_t>(number)).step();
}

std::uint64_t PartStore::count() {
  const std::lock_guard lock(mutex_);
  Statement find(*this, "SELECT count(*) FROM parts WHERE error = ''");
  find.step();
  return static_cast<std::uint64_t>(find.number(0));
}

void PartStore::keep_text(std::uint64_t number, std::uint32_t piece, std::string_view text) {
  const std::lock_guard lock(mutex_);
  begin();
  if (piece == 0) {
    Statement clear(*this, "DELETE FROM texts WHERE number = ?");
    clear.bind(static_cast<std::int64_t>(number)).step();
  }
  std::int64_t row = piece * kPiecesPerCall;
  for (std::size_t at = 0; at < text.size(); at += kPiece) {
    Statement insert(*this, "INSERT INTO texts VALUES(?, ?, ?)");
    insert.bind(static_cast<std::int64_t>(number)).bind(row++).bind(text.substr(at, kPiece)).step();
  }
}

void PartStore::keep(std::uint64_t number, const Part& part) {
  const std::lock_guard lock(mutex_);
  begin();
  if (!part.error.empty()) {
    Statement clear(*this, "DELETE FROM texts WHERE number = ?");
    clear.bind(static_cast<std::int64_t>(number)).step();
  }
  Statement insert(*this, "INSERT OR REPLACE INTO parts VALUES(?, ?, ?, ?, ?)");
  insert.bind(static_cast<std::int64_t>(number)).bind(part.point).bind(part.name).bind(part.rows);
  insert.bind(part.error).step();
  commit_old();
}

std::optional<Part> PartStore::first() {
  commit();
  Statement row(*this, "SELECT point, name, rows FROM parts WHERE error = '' ORDER BY number LIMIT 1");
  if (!row.step()) return std::nullopt;
  return Part{static_cast<std::uint32_t>(row.number(0)), std::string(row.text(1)), std::string(row.text(2)),
              ""};
}

void PartStore::each(const std::function<void(std::uint64_t, const Part&)>& visit) {
  commit();
  Statement rows(*this, "SELECT number, point, name, rows, error FROM parts ORDER BY number");
  while (rows.step())
    visit(static_cast<std::uint64_t>(rows.number(0)),
          Part{static_cast<std::uint32_t>(rows.number(1)), std::string(rows.text(2)),
               std::string(rows.text(3)), std::string(rows.text(4))});
}

void PartStore::each_text(std::uint64_t number, const std::function<void(std::string_view)>& visit) {
  Statement rows(*this, "SELECT text FROM texts WHERE number = ? ORDER BY piece");
  rows.bind(static_cast<std::int64_t>(number));
  while (rows.step()) visit(rows.text(0));
}

void PartStore::keep_file(const std::string& name, const FileFacts& facts) {
  {
    const std::lock_guard lock(mutex_);
    begin();
    Statement insert(*this, "INSERT OR REPLACE INTO files VALUES(?, ?, ?)");
    insert.bind(name).bind(static_cast<std::int64_t>(facts.bytes)).bind(facts.sha256).step();
  }
  commit();
}

std::map<std::string, FileFacts> PartStore::files() {
  const std::lock_guard lock(mutex_);
  Statement rows(*this, "SELECT name, bytes, sha256 FROM files");
  std::map<std::string, FileFacts> files;
  while (rows.step())
    files[std::string(rows.text(0))] = {static_cast<std::uintmax_t>(rows.number(1)),
                                        std::string(rows.text(2))};
  return files;
}

}  // namespace gangway
