// A text file, plain or gzip-compressed, as a stream of characters.
#pragma once

#include <zlib.h>

#include <cstddef>
#include <filesystem>
#include <iterator>
#include <memory>
#include <string>

namespace gangway::profile {

class TextFile {
 public:
  // Throws InputError if unreadable; so does reading.
  explicit TextFile(const std::filesystem::path& file);

  bool at_end() { return next_ == end_ && !fill(); }
  char character() const { return *next_; }
  void advance() {
    if (*next_ == '\n') ++line_;
    ++next_;
  }
  int line() const { return line_; }  // of the next character, from 1

  // For iterator-based readers. All iterators of a file share one position.
  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = char;
    using difference_type = std::ptrdiff_t;
    using pointer = const char*;
    using reference = char;

    explicit Iterator(TextFile* file = nullptr) : file_(file) {}
    char operator*() const { return file_->character(); }
    Iterator& operator++() {
      file_->advance();
      return *this;
    }
    Iterator operator++(int) {
      Iterator before = *this;
      ++*this;
      return before;
    }
    friend bool operator==(const Iterator& a, const Iterator& b) { return a.at_end() == b.at_end(); }

   private:
    bool at_end() const { return file_ == nullptr || file_->at_end(); }
    TextFile* file_;
  };
  Iterator begin() { return Iterator(this); }
  Iterator end() { return Iterator(); }

 private:
  bool fill();

  std::string name_, buffer_;
  std::unique_ptr<gzFile_s, decltype(&gzclose_r)> file_;
  const char* next_ = nullptr;
  const char* end_ = nullptr;
  int line_ = 1;
};

}  // namespace gangway::profile
