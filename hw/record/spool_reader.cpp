#include "hw/record/spool_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string_view>
#include <utility>

#include "models/error.hpp"

namespace gangway::spool {
namespace {

namespace fs = std::filesystem;

std::string bytes_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  if (!in) throw RunError("cannot read " + file.string());
  return bytes;
}

class SpoolReader {
 public:
  explicit SpoolReader(const fs::path& file) : bytes_(bytes_of(file)) {}

  Contents read() {
    for (std::size_t at = 0; at + sizeof(Head) <= bytes_.size();) {
      Head head;
      std::memcpy(&head, bytes_.data() + at, sizeof head);
      if (head.size < sizeof head || at + head.size > bytes_.size()) break;
      record_ = std::string_view(bytes_).substr(at, head.size);
      take(head.type);
      at += head.size;
    }
    return std::move(out_);
  }

 private:
  template <typename Record>
  bool get(Record& record) const {
    if (record_.size() < sizeof(Record)) return false;
    std::memcpy(&record, record_.data(), sizeof(Record));
    return true;
  }
  template <typename Record>
  void keep(std::vector<Record>& records) {
    Record record;
    if (get(record)) records.push_back(record);
  }
  template <typename Record>
  std::string text(std::size_t length) const {
    const std::string_view behind = record_.substr(sizeof(Record));
    return std::string(behind.substr(0, std::min(length, behind.size())));
  }

  void take(Type type) {
    switch (type) {
      case Type::begin:
        return begin();
      case Type::text: {
        Text t;
        if (get(t) && t.id == out_.texts.size()) out_.texts.push_back(text<Text>(t.length));
        return;
      }
      case Type::trouble: {
        Trouble t;
        if (get(t)) out_.trouble = text<Trouble>(t.length);
        return;
      }
      case Type::lost: {
        Lost lost;
        if (get(lost)) out_.lost += lost.records;
        return;
      }
      case Type::end:
        out_.finished = true;
        return;
      case Type::function:
        return keep(out_.functions);
      case Type::shape:
        return keep(out_.shapes);
      case Type::call:
        return keep(out_.calls);
      case Type::kernel:
        return keep(out_.kernels);
      case Type::copy:
        return keep(out_.copies);
      case Type::memset:
        return keep(out_.memsets);
      case Type::graph:
        return keep(out_.graphs);
      case Type::sync:
        return keep(out_.syncs);
      case Type::event:
        return keep(out_.events);
      case Type::memory:
        return keep(out_.memory);
      case Type::marker:
        return keep(out_.markers);
      case Type::stream:
        return keep(out_.streams);
      case Type::context:
        return keep(out_.contexts);
      case Type::device:
        return keep(out_.devices);
      case Type::thread:
        return keep(out_.threads);
    }
  }

  void begin() {
    Begin b;
    if (!get(b)) return;
    out_.begin = b;
    const std::string_view words = record_.substr(sizeof b);
    for (std::size_t from = 0; from < words.size() && words[from] != '\0';) {
      const std::size_t to = std::min(words.find('\0', from), words.size());
      out_.command.emplace_back(words.substr(from, to - from));
      from = to + 1;
    }
  }

  std::string bytes_;
  std::string_view record_;
  Contents out_;
};

}  // namespace

Contents read_spool(const fs::path& file) {
  Contents contents = SpoolReader(file).read();
  if (contents.begin && contents.begin->version != kVersion)
    throw RunError(
        fmt::format("{}: a spool of version {}, not {}", file.string(), contents.begin->version, kVersion));
  return contents;
}

std::vector<Contents> read_spools(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::vector<Contents> out;
  for (const fs::path& file : files) {
    Contents contents = read_spool(file);
    if (contents.begin) out.push_back(std::move(contents));
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const Contents& a, const Contents& b) { return a.begin->time < b.begin->time; });
  return out;
}

}  // namespace gangway::spool
