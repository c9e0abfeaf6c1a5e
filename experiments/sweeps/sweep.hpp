// Sweeps: which values a parameter takes, and all combinations. Nothing is kept for a combination: a sweep of
// a billion points takes the room of its file.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "models/input/field.hpp"

namespace gangway {

// The quantity that all values of a path are; result files tell it in base units, too.
enum class SweptQuantity { none, time, bytes, bandwidth, rate, share };

// One path of a sweep and its values: those listed, or the steps of a range, which are made when asked for.
class SweptPath {
 public:
  // Values are a list or {from, to, step | factor}; an item {label, value} stands in result files as its
  // label. Throws InputError.
  SweptPath(std::string path, const Field& values);

  const std::string& path() const { return path_; }
  std::size_t size() const { return size_; }
  Node value(std::size_t index) const;
  std::string text(std::size_t index) const;  // as it stands in result files
  SweptQuantity quantity() const { return quantity_; }

  // Of a long range only the values at both ends are checked before a run, of anything else all.
  std::vector<std::size_t> checked() const;

 private:
  void read_list(const Field& values);
  void read_range(const Field& values);
  double step(std::size_t index) const;
  SweptQuantity listed_quantity() const;

  std::string path_;
  std::vector<Node> listed_;
  std::vector<std::string> labels_;  // of those listed; empty: the value itself
  // Of a range: in nanoseconds, bytes, bytes per second, events per second, or plain.
  double from_ = 0, step_ = 0;
  bool factor_ = false;
  Node where_;
  std::size_t size_ = 0;
  SweptQuantity quantity_ = SweptQuantity::none;
};

// {label: fast, value: ...}, or a value by itself. Throws InputError.
struct LabelledValue {
  std::optional<Field> label;
  Field value;
};
LabelledValue read_labelled(const Field& item);

class Sweep {
 public:
  Sweep() = default;
  // Reads `sweep:`, a mapping from paths to values. Below `together` there is another one, or a list of them,
  // whose paths take their values side by side: as many each, one point for the first of all, one for the
  // second. At most 2^32 - 1 combinations. Throws InputError.
  explicit Sweep(const Field& field);

  const std::vector<SweptPath>& paths() const { return paths_; }
  std::uint32_t points() const { return points_; }  // 1 when nothing is swept

  // Which value each path has at a point; the last path varies fastest.
  std::vector<std::size_t> at(std::uint32_t point) const;
  std::uint64_t stride(std::size_t path) const {
    return strides_[path];
  }                                                            // so many points in a row share a value
  std::vector<std::string> values(std::uint32_t point) const;  // as texts

  // Columns of result files and their cells, each with a comma before it: every path, and behind one whose
  // values are quantities the same in base units, named PATH_ns, PATH_bytes, PATH_bytes_per_second,
  // PATH_per_second or PATH_share.
  std::vector<std::string> column_names() const;
  std::string columns() const;
  std::string cells(std::uint32_t point) const;

  // The points at which everything is checked before a run: all when they are few; else those that have each
  // path's values with all other paths at their first, but for those that vary with it.
  std::vector<std::uint32_t> checked() const;

 private:
  void add_path(std::string path, const Field& values, std::size_t first);  // of those it goes with

  std::vector<SweptPath> paths_;
  std::vector<std::uint64_t> strides_;  // by path
  std::uint32_t points_ = 1;
};

// Visits the paths of a `sweep:` as it is written, with what stands there for their values.
void each_swept(Node& sweep, const std::function<void(const std::string& path, Node& values)>& visit);

// `root` with what the point changes below the keys given, and nothing else of it.
Node changed(const Node& root, const Sweep& sweep, std::uint32_t point, const std::vector<std::string>& keys);

// The first name of a path.
std::string first_of(const std::string& path);

}  // namespace gangway
