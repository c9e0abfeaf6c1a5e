// The two ways to fail: wrong input (exit 2) and a failed run (exit 1).
#pragma once

#include <stdexcept>
#include <string>

namespace gangway {

// A position in a text. Line 0: none (for example the command line).
struct Origin {
  std::string file;
  int line = 0;
};

// Wrong input. what() is one line: FILE:LINE: [key 'KEY':] found FOUND, expected EXPECTED
class InputError : public std::runtime_error {
 public:
  InputError(const Origin& origin, const std::string& key, const std::string& found,
             const std::string& expected);
  explicit InputError(const std::string& line) : std::runtime_error(line) {}

  // As in what(); empty if only a line was given.
  const Origin& origin() const { return origin_; }
  const std::string& key() const { return key_; }
  const std::string& found() const { return found_; }
  const std::string& expected() const { return expected_; }

 private:
  Origin origin_;
  std::string key_, found_, expected_;
};

// A failed run. what() may have several lines (the history of events).
class RunError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// An exception from another language. what() starts with its type there.
class ForeignError : public RunError {
 public:
  using RunError::RunError;
};

// Why an input does not fit another one. The caller that knows the position turns it into an InputError.
struct Refusal {
  std::string found, expected;
};

// Quotes a text for an error message: control characters replaced, cut to 60 characters.
std::string quote(const std::string& text);

}  // namespace gangway
