// Sweeps: the values of parameters, and all their combinations. Combinations are not stored: memory is
// independent of their number.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "models/input/field.hpp"

namespace gangway {

// The common quantity of a path's values; result files also give them in base units.
enum class SweptQuantity { none, time, bytes, bandwidth, rate, share };

// A swept path with its values: a list, or a range whose steps are computed on demand.
class SweptPath {
 public:
  // Values are a list or {from, to, step | factor}; an item {label, value} appears in result files as its
  // label. Throws InputError.
  SweptPath(std::string path, const Field& values);

  const std::string& path() const { return path_; }
  std::size_t size() const { return size_; }
  Node value(std::size_t index) const;
  std::string text(std::size_t index) const;  // as in result files
  SweptQuantity quantity() const { return quantity_; }

  // Of a long range only values at both ends are checked before a run; otherwise all.
  std::vector<std::size_t> checked() const;

 private:
  void read_list(const Field& values);
  void read_range(const Field& values);
  double step(std::size_t index) const;
  SweptQuantity listed_quantity() const;

  std::string path_;
  std::vector<Node> listed_;
  std::vector<std::string> labels_;  // of listed values; empty: the value itself
  // For a range: in ns, bytes, bytes per second, events per second, or plain.
  double from_ = 0, step_ = 0;
  bool factor_ = false;
  Node where_;
  std::size_t size_ = 0;
  SweptQuantity quantity_ = SweptQuantity::none;
};

// {label: fast, value: ...}, or a plain value. Throws InputError.
struct LabelledValue {
  std::optional<Field> label;
  Field value;
};
LabelledValue read_labelled(const Field& item);

class Sweep {
 public:
  Sweep() = default;
  // Reads `sweep:`, a mapping from paths to values. `together` contains such a mapping, or a list of them,
  // whose paths vary in lockstep and need equally many values. At most 2^32 - 1 combinations. Throws
  // InputError.
  explicit Sweep(const Field& field);

  const std::vector<SweptPath>& paths() const { return paths_; }
  std::uint32_t points() const { return points_; }  // 1 if nothing is swept

  // Index of each path's value at a point; the last path varies fastest.
  std::vector<std::size_t> at(std::uint32_t point) const;
  std::uint64_t stride(std::size_t path) const {
    return strides_[path];
  }                                                            // so many points in a row share a value
  std::vector<std::string> values(std::uint32_t point) const;  // as texts

  // Columns of result files and their cells, each preceded by a comma: every path, followed, if its values
  // are quantities, by the value in base units, named PATH_ns, PATH_bytes, PATH_bytes_per_second,
  // PATH_per_second or PATH_share.
  std::vector<std::string> column_names() const;
  std::string columns() const;
  std::string cells(std::uint32_t point) const;

  // Points checked before a run: all if there are few; else those with each value of one path and the first
  // values of the others, apart from paths that vary with it.
  std::vector<std::uint32_t> checked() const;

 private:
  void add_path(std::string path, const Field& values, std::size_t first);  // of those it goes with

  std::vector<SweptPath> paths_;
  std::vector<std::uint64_t> strides_;  // by path
  std::uint32_t points_ = 1;
};

// Visits the paths of a `sweep:` as written, with their values.
void each_swept(Node& sweep, const std::function<void(const std::string& path, Node& values)>& visit);

// `root` with the point's changes below the given keys only.
Node changed(const Node& root, const Sweep& sweep, std::uint32_t point, const std::vector<std::string>& keys);

// The first component of a path.
std::string first_of(const std::string& path);

}  // namespace gangway
