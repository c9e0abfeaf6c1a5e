// SQLite, used for recordings and for the progress of runs.
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

// Not thread-safe. Every failure calls `failed`, which throws, with the system's or SQLite's reason. Throws
// std::bad_alloc if memory is short.
class Database {
 public:
  using Failed = std::function<void(const std::string& reason)>;

  enum class Mode { read, write };  // write: creates a missing file
  Database(const std::filesystem::path& file, Mode mode, Failed failed);
  // Reads a database from the bytes of a file.
  Database(std::string content, Failed failed);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  void run(const char* sql);
  void close();
  // How long to wait while another process holds the file; by default not at all.
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

// A prepared statement: binds values in order and reads columns in order.
class Statement {
 public:
  Statement(Database& database, const std::string& sql);
  ~Statement();
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  Statement& bind(std::int64_t number);
  Statement& bind(std::string_view text);  // not copied: must stay valid until the statement has run
  Statement& bind_null();
  // Runs a statement that returns nothing, and clears the bound values.
  void go();

  bool step();  // whether there is a row
  bool is_integer(int column) const;
  bool is_text(int column) const;
  bool is_null(int column) const;
  std::int64_t integer(int column) const;
  std::string_view text(int column) const;  // or a blob's bytes; valid until the next step

 private:
  Database& database_;
  sqlite3_stmt* statement_ = nullptr;
  int bound_ = 0;
};

}  // namespace gangway
