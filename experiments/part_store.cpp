#include "experiments/part_store.hpp"

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
    " rows TEXT NOT NULL, error TEXT NOT NULL);"
    "CREATE TABLE IF NOT EXISTS texts(number INTEGER NOT NULL, piece INTEGER NOT NULL, text BLOB NOT NULL,"
    " PRIMARY KEY(number, piece));"
    "CREATE TABLE IF NOT EXISTS files(name TEXT PRIMARY KEY, bytes INTEGER NOT NULL, sha256 TEXT NOT NULL);";

}  // namespace

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
  if (!in_transaction_ || std::chrono::steady_clock::now() - begun_ < kLongestTransaction) return;
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
  Statement insert(*database_, "INSERT OR REPLACE INTO parts VALUES(?, ?, ?, ?, ?)");
  insert.bind(static_cast<std::int64_t>(number)).bind(part.point).bind(part.name).bind(part.rows);
  insert.bind(part.error).step();
  commit_old();
}

std::optional<Part> PartStore::first() {
  commit();
  Statement row(*database_, "SELECT point, name, rows FROM parts WHERE error = '' ORDER BY number LIMIT 1");
  if (!row.step()) return std::nullopt;
  return Part{static_cast<std::uint32_t>(row.integer(0)), std::string(row.text(1)), std::string(row.text(2)),
              ""};
}

void PartStore::each(const std::function<void(std::uint64_t, const Part&)>& visit) {
  commit();
  Statement rows(*database_, "SELECT number, point, name, rows, error FROM parts ORDER BY number");
  while (rows.step())
    visit(static_cast<std::uint64_t>(rows.integer(0)),
          Part{static_cast<std::uint32_t>(rows.integer(1)), std::string(rows.text(2)),
               std::string(rows.text(3)), std::string(rows.text(4))});
}

void PartStore::each_text(std::uint64_t number, const std::function<void(std::string_view)>& visit) {
  Statement rows(*database_, "SELECT text FROM texts WHERE number = ? ORDER BY piece");
  rows.bind(static_cast<std::int64_t>(number));
  while (rows.step()) visit(rows.text(0));
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
