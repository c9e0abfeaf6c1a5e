#include "experiments/results/part_store.hpp"

#include <fmt/format.h>

#include "models/error.hpp"

namespace gangway {
namespace {

// A transaction for each of many small parts would take most of their time.
constexpr std::chrono::milliseconds kLongestTransaction{100};
constexpr std::size_t kPiece = 16u << 20;  // of a text in one row
constexpr std::int64_t kPiecesPerCall = 1 << 12;
constexpr std::chrono::seconds kLongestWait{30};  // while somebody looks into the file

constexpr const char* kTables =
    "CREATE TABLE IF NOT EXISTS parts(number INTEGER PRIMARY KEY, point INTEGER NOT NULL, name TEXT NOT NULL,"
    " rows TEXT NOT NULL, error TEXT NOT NULL, events INTEGER NOT NULL, jobs INTEGER NOT NULL);"
    "CREATE TABLE IF NOT EXISTS texts(number INTEGER NOT NULL, piece INTEGER NOT NULL, text BLOB NOT NULL,"
    " PRIMARY KEY(number, piece));"
    "CREATE TABLE IF NOT EXISTS files(name TEXT PRIMARY KEY, bytes INTEGER NOT NULL, sha256 TEXT NOT NULL);"
    "CREATE TABLE IF NOT EXISTS said(name TEXT PRIMARY KEY, text TEXT NOT NULL);"
    "CREATE TABLE IF NOT EXISTS origins(first INTEGER NOT NULL, last INTEGER NOT NULL, name TEXT NOT NULL);";

constexpr const char* kPartColumns = "number, point, name, rows, error, events, jobs";

Part part_of(const Statement& row) {
  return {static_cast<std::uint32_t>(row.integer(1)),
          std::string(row.text(2)),
          std::string(row.text(3)),
          std::string(row.text(4)),
          static_cast<std::uint64_t>(row.integer(5)),
          static_cast<std::uint64_t>(row.integer(6))};
}

}  // namespace

void each_part(Database& store, const VisitPart& visit) {
  Statement rows(store, fmt::format("SELECT {} FROM parts ORDER BY number", kPartColumns));
  while (rows.step()) visit(static_cast<std::uint64_t>(rows.integer(0)), part_of(rows));
}

void each_text(Database& store, std::uint64_t number, const std::function<void(std::string_view)>& visit) {
  Statement rows(store, "SELECT text FROM texts WHERE number = ? ORDER BY piece");
  rows.bind(static_cast<std::int64_t>(number));
  while (rows.step()) visit(rows.text(0));
}

void PartsHash::add(std::uint64_t number, const Part& part) {
  hash_.add(fmt::format("part {} {} {} {} {} {} {}\n", number, part.point, part.events, part.jobs,
                        part.name.size(), part.rows.size(), part.error.size()));
  for (const std::string* text : {&part.name, &part.rows, &part.error}) hash_.add(*text);
}

void PartsHash::add_text(std::string_view piece) {
  hash_.add(fmt::format("text {}\n", piece.size()));
  hash_.add(piece);
}

PartStore::PartStore(std::filesystem::path file) : file_(std::move(file)) {
  open();
  try {
    if (sound()) return;
  } catch (const RunError&) {
  }
  database_.reset();
  std::error_code ignored;
  std::filesystem::remove(file_, ignored);
  std::filesystem::remove(file_.string() + "-journal", ignored);
  open();
  database_->run(kTables);
}

PartStore::~PartStore() {
  try {
    commit();
  } catch (const RunError&) {  // said before
  }
}

void PartStore::open() {
  failure_.clear();
  // The rollback journal works on network file systems, too, and it survives this process at any instant.
  database_.emplace(file_, Database::Mode::write, [this](const std::string& reason) { fail(reason); });
  database_->wait_for_others(kLongestWait);
}

bool PartStore::sound() {
  database_->run("PRAGMA journal_mode=TRUNCATE; PRAGMA synchronous=NORMAL; PRAGMA temp_store=FILE;");
  database_->run(kTables);
  Statement check(*database_, "PRAGMA quick_check(1)");
  return check.step() && check.text(0) == "ok";
}

void PartStore::fail(const std::string& reason) {
  in_transaction_ = in_transaction_ && database_ && database_->in_transaction();
  failure_ = "cannot write " + file_.string() + ": " + reason;
  throw RunError(failure_);
}

void PartStore::begin() {
  // A failure may have undone texts that came before it: a part must not be kept without them.
  if (!failure_.empty()) throw RunError(failure_);
  if (in_transaction_) return;
  database_->run("BEGIN");
  in_transaction_ = true;
  begun_ = std::chrono::steady_clock::now();
}

void PartStore::commit_old() {
  if (!in_transaction_ || all_or_none_) return;
  if (std::chrono::steady_clock::now() - begun_ < kLongestTransaction) return;
  database_->run("COMMIT");
  in_transaction_ = false;
}

void PartStore::commit() {
  const std::lock_guard lock(mutex_);
  if (!in_transaction_) return;
  database_->run("COMMIT");
  in_transaction_ = false;
}

bool PartStore::has(std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  Statement find(*database_, "SELECT 1 FROM parts WHERE number = ? AND error = ''");
  return find.bind(static_cast<std::int64_t>(number)).step();
}

std::uint64_t PartStore::count() {
  const std::lock_guard lock(mutex_);
  Statement find(*database_, "SELECT count(*) FROM parts WHERE error = ''");
  find.step();
  return static_cast<std::uint64_t>(find.integer(0));
}

void PartStore::keep_text(std::uint64_t number, std::uint32_t piece, std::string_view text) {
  const std::lock_guard lock(mutex_);
  begin();
  if (piece == 0) {
    Statement clear(*database_, "DELETE FROM texts WHERE number = ?");
    clear.bind(static_cast<std::int64_t>(number)).step();
  }
  std::int64_t row = piece * kPiecesPerCall;
  for (std::size_t at = 0; at < text.size(); at += kPiece) {
    Statement insert(*database_, "INSERT INTO texts VALUES(?, ?, ?)");
    insert.bind(static_cast<std::int64_t>(number)).bind(row++).bind(text.substr(at, kPiece)).step();
  }
}

void PartStore::keep(std::uint64_t number, const Part& part) {
  const std::lock_guard lock(mutex_);
  begin();
  if (!part.error.empty()) {
    Statement clear(*database_, "DELETE FROM texts WHERE number = ?");
    clear.bind(static_cast<std::int64_t>(number)).step();
  }
  Statement insert(*database_, "INSERT OR REPLACE INTO parts VALUES(?, ?, ?, ?, ?, ?, ?)");
  insert.bind(static_cast<std::int64_t>(number)).bind(part.point).bind(part.name).bind(part.rows);
  insert.bind(part.error).bind(static_cast<std::int64_t>(part.events));
  insert.bind(static_cast<std::int64_t>(part.jobs)).step();
  commit_old();
}

std::optional<Part> PartStore::first() {
  const std::lock_guard lock(mutex_);
  Statement row(*database_,
                fmt::format("SELECT {} FROM parts WHERE error = '' ORDER BY number LIMIT 1", kPartColumns));
  if (!row.step()) return std::nullopt;
  return part_of(row);
}

std::optional<Part> PartStore::find(std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  Statement row(*database_, fmt::format("SELECT {} FROM parts WHERE number = ?", kPartColumns));
  if (!row.bind(static_cast<std::int64_t>(number)).step()) return std::nullopt;
  return part_of(row);
}

PartStore::Totals PartStore::totals() {
  const std::lock_guard lock(mutex_);
  Statement sums(*database_, "SELECT sum(events), sum(jobs), sum(error <> '') FROM parts");
  sums.step();
  return {static_cast<std::uint64_t>(sums.integer(0)), static_cast<std::uint64_t>(sums.integer(1)),
          static_cast<std::uint64_t>(sums.integer(2))};
}

void PartStore::each(const VisitPart& visit) {
  commit();
  each_part(*database_, visit);
}

void PartStore::each_text(std::uint64_t number, const std::function<void(std::string_view)>& visit) {
  gangway::each_text(*database_, number, visit);
}

std::string PartStore::hash() {
  PartsHash hash;
  each([&](std::uint64_t number, const Part& part) {
    hash.add(number, part);
    each_text(number, [&](std::string_view piece) { hash.add_text(piece); });
  });
  return hash.hex();
}

void PartStore::all_or_none(const std::function<void()>& keep_some) {
  {
    const std::lock_guard lock(mutex_);
    begin();
    database_->run("SAVEPOINT some");
    all_or_none_ = true;
  }
  std::exception_ptr error;
  try {
    keep_some();
  } catch (...) {
    error = std::current_exception();
  }
  const std::lock_guard lock(mutex_);
  all_or_none_ = false;
  if (!error) {
    database_->run("RELEASE some");
    return commit_old();
  }
  if (database_->in_transaction()) database_->run("ROLLBACK TO some; RELEASE some");
  std::rethrow_exception(error);
}

void PartStore::say(const std::string& name, const std::string& text) {
  const std::lock_guard lock(mutex_);
  begin();
  Statement insert(*database_, "INSERT OR REPLACE INTO said VALUES(?, ?)");
  insert.bind(name).bind(text).step();
}

std::string PartStore::said(const std::string& name) {
  const std::lock_guard lock(mutex_);
  Statement row(*database_, "SELECT text FROM said WHERE name = ?");
  return row.bind(name).step() ? std::string(row.text(0)) : std::string();
}

void PartStore::keep_origin(std::uint32_t first_point, std::uint32_t last_point, const std::string& name) {
  const std::lock_guard lock(mutex_);
  begin();
  Statement insert(*database_, "INSERT INTO origins VALUES(?, ?, ?)");
  insert.bind(first_point).bind(last_point).bind(name).step();
}

std::string PartStore::origin_of(std::uint32_t point) {
  const std::lock_guard lock(mutex_);
  Statement row(*database_, "SELECT name FROM origins WHERE first <= ? AND last >= ? ORDER BY rowid LIMIT 1");
  return row.bind(point).bind(point).step() ? std::string(row.text(0)) : std::string();
}

void PartStore::each_origin(const std::function<void(std::uint32_t first, std::uint32_t last)>& visit) {
  Statement rows(*database_, "SELECT first, last FROM origins ORDER BY rowid");
  while (rows.step())
    visit(static_cast<std::uint32_t>(rows.integer(0)), static_cast<std::uint32_t>(rows.integer(1)));
}

void PartStore::settle() {
  commit();
  const std::lock_guard lock(mutex_);
  database_->run("PRAGMA journal_mode=DELETE");
}

void PartStore::keep_file(const std::string& name, const FileFacts& facts) {
  {
    const std::lock_guard lock(mutex_);
    begin();
    Statement insert(*database_, "INSERT OR REPLACE INTO files VALUES(?, ?, ?)");
    insert.bind(name).bind(static_cast<std::int64_t>(facts.bytes)).bind(facts.sha256).step();
  }
  commit();
}

std::map<std::string, FileFacts> PartStore::files() {
  const std::lock_guard lock(mutex_);
  Statement rows(*database_, "SELECT name, bytes, sha256 FROM files");
  std::map<std::string, FileFacts> files;
  while (rows.step())
    files[std::string(rows.text(0))] = {static_cast<std::uintmax_t>(rows.integer(1)),
                                        std::string(rows.text(2))};
  return files;
}

}  // namespace gangway
