// The least of SQLite that recordings need.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace gangway::recording {

// Every failure goes to `failed`, which throws, with SQLite's reason.
class Database {
 public:
  using Failed = std::function<void(const std::string& reason)>;

  enum class Mode { read, create };
  Database(const std::filesystem::path& file, Mode mode, Failed failed);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  void run(const char* sql);
  void close();

 private:
  friend class Statement;
  void check(int code);
  sqlite3* handle_ = nullptr;
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
  Statement& bind(std::string_view text);
  Statement& bind_null();
  // Runs it once, for what returns nothing; the values bound are gone then.
  void go();

  bool step();  // whether there is a row
  bool is_integer(int column) const;
  bool is_text(int column) const;
  bool is_null(int column) const;
  std::int64_t integer(int column) const;
  std::string_view text(int column) const;  // until the next step

 private:
  Database& database_;
  sqlite3_stmt* statement_ = nullptr;
  int bound_ = 0;
};

}  // namespace gangway::recording
