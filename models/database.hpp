// SQLite, for what is kept in one file: recordings, and what a run has done so far.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace gangway {

// For one thread at a time. Every failure goes to `failed`, which throws, with the system's reason or
// SQLite's; where memory is short, std::bad_alloc is thrown.
class Database {
 public:
  using Failed = std::function<void(const std::string& reason)>;

  enum class Mode { read, write };  // write: made where it is not there
  Database(const std::filesystem::path& file, Mode mode, Failed failed);
  // To read, from a file's bytes.
  Database(std::string content, Failed failed);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  void run(const char* sql);
  void close();
  // How long to wait while another process has the file; not at all if that was never said.
  void wait_for_others(std::chrono::milliseconds limit);
  bool in_transaction() const;

 private:
  friend class Statement;
  void open(const char* file, int flags);
  void check(int code);
  sqlite3* handle_ = nullptr;
  std::string content_;
  Failed failed_;
};

// A prepared statement: values are bound one behind the other, and columns read in their order.
class Statement {
 public:
  Statement(Database& database, const std::string& sql);
  ~Statement();
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  Statement& bind(std::int64_t number);
  Statement& bind(std::string_view text);  // not copied: it has to stay until the statement has run
  Statement& bind_null();
  // Runs it once, for what returns nothing; the values bound are gone then.
  void go();

  bool step();  // whether there is a row
  bool is_integer(int column) const;
  bool is_text(int column) const;
  bool is_null(int column) const;
  std::int64_t integer(int column) const;
  std::string_view text(int column) const;  // or a blob's bytes; until the next step

 private:
  Database& database_;
  sqlite3_stmt* statement_ = nullptr;
  int bound_ = 0;
};

}  // namespace gangway
