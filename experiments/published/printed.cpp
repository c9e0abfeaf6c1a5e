#include "experiments/published/printed.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "experiments/sweeps/experiment.hpp"
#include "models/nearest.hpp"

namespace gangway {
namespace {

namespace fs = std::filesystem;

std::optional<double> number_in(const std::string& text) {
  ParseFailure why;
  double share = 0;
  Duration time;
  Bytes size;
  Bandwidth bandwidth;
  if (parse_share(text, share, why)) return share;
  if (parse(text, time, why)) return static_cast<double>(time.ns);
  if (parse(text, size, why)) return static_cast<double>(size.count);
  if (parse(text, bandwidth, why)) return static_cast<double>(bandwidth.bytes_per_second);
  return std::nullopt;
}

bool equal(double a, double b) { return std::abs(a - b) <= 1e-9 * std::max(std::abs(a), std::abs(b)); }

PrintedNumber read_number(const Field& field, const std::string& what) {
  const auto value = field.is_scalar() ? number_in(field.node().scalar) : std::nullopt;
  if (!value) field.fail("a number, a percentage, a time, a size or a bandwidth");
  return {what, *value, field.node().origin()};
}

std::vector<PrintedNumber> read_numbers(Mapping& m) {
  const auto value = m.maybe("value");
  const auto values = m.maybe("values");
  if (value && values) values->fail("both value and values", "one of them");
  if (value) return {read_number(*value, "")};
  std::vector<PrintedNumber> numbers;
  if (!values) return numbers;
  if (!values->is_mapping()) values->fail("a mapping from subjects to numbers");
  for (const auto& [what, node] : values->node().entries)
    numbers.push_back(read_number(Field(node, values->path() + "." + what), what));
  return numbers;
}

std::vector<std::string> read_texts(const std::optional<Field>& field) {
  std::vector<std::string> texts;
  if (field)
    for (const Field& item : field->items()) texts.push_back(item.text());
  return texts;
}

PrintedStatement read_statement(const Field& field) {
  Mapping m = field.mapping();
  PrintedStatement statement;
  statement.origin = field.node().origin();
  statement.path = field.path();
  statement.id = m.need("id").identifier();
  statement.place = m.need("place").text();
  statement.about = m.need("about").text();
  statement.numbers = read_numbers(m);
  statement.compared = read_texts(m.maybe("compared"));
  statement.input = read_texts(m.maybe("input"));
  if (auto reason = m.maybe("reason")) statement.reason = reason->text();
  m.finish();
  const int told =
      int{!statement.compared.empty()} + int{!statement.input.empty()} + int{!statement.reason.empty()};
  if (told != 1) field.fail(fmt::format("{} of compared, input and reason", told), "exactly one");
  if (!statement.input.empty() && statement.numbers.empty())
    field.fail("an input without a number", "value or values");
  return statement;
}

// Statements by id, and the entries that are of each by experiment.
class Audit {
 public:
  Audit(const PrintedList& list, const fs::path& folder) : list_(list), folder_(folder) {
    for (const PrintedStatement& statement : list.statements) statements_.emplace(statement.id, &statement);
  }

  void take(const std::string& experiment, const std::vector<PublishedValue>& values) {
    for (const PublishedValue& value : values) {
      check_entry(experiment, value);
      if (!value.printed.empty()) entries_[value.printed].push_back({experiment, value});
    }
  }

  void finish() const {
    for (const PrintedStatement& statement : list_.statements) {
      check_compared(statement);
      check_once(statement);
      check_input(statement);
    }
  }

 private:
  struct Entry {
    std::string experiment;
    PublishedValue value;
  };

  [[noreturn]] static void refuse(const PrintedStatement& statement, const std::string& found,
                                  const std::string& expected) {
    throw InputError(statement.origin, statement.path, found, expected);
  }

  void check_entry(const std::string& experiment, const PublishedValue& value) const {
    const auto refuse_entry = [&](const std::string& found, const std::string& expected) {
      throw InputError(value.origin, value.path, found, expected);
    };
    if (value.printed.empty()) {
      if (value.class_name != "open")
        refuse_entry("class " + value.class_name + " of nothing that is printed", "printed, or class open");
      return;
    }
    const auto found = statements_.find(value.printed);
    if (found == statements_.end()) {
      std::vector<std::string> ids;
      for (const auto& [id, statement] : statements_) ids.push_back(id);
      refuse_entry("printed " + quote(value.printed), "a statement in " + (folder_ / kPrintedList).string() +
                                                          ": " + expected_names(value.printed, ids));
    }
    const PrintedStatement& statement = *found->second;
    if (std::find(statement.compared.begin(), statement.compared.end(), experiment) ==
        statement.compared.end())
      refuse_entry(
          value.printed + ", which is not said to be compared here",
          fmt::format("compared: [{}] at {}:{}", experiment, statement.origin.file, statement.origin.line));
    for (const double number : numbers_of(value))
      if (!fits(statement, value, number))
        refuse_entry(fmt::format("{}", number), numbers_expected(statement, value));
  }

  static std::vector<double> numbers_of(const PublishedValue& value) {
    std::vector<double> numbers{value.published};
    if (value.published_to) numbers.push_back(*value.published_to);
    return numbers;
  }

  static bool fits(const PrintedStatement& statement, const PublishedValue& value, double number) {
    if (statement.numbers.empty()) return value.class_name == "open" || number == value.neutral();
    return std::any_of(statement.numbers.begin(), statement.numbers.end(),
                       [&](const PrintedNumber& printed) { return equal(printed.value, number); });
  }

  static std::string numbers_expected(const PrintedStatement& statement, const PublishedValue& value) {
    if (statement.numbers.empty())
      return fmt::format("{}, because {} has no number", value.neutral(), statement.id);
    std::vector<double> numbers;
    for (const PrintedNumber& number : statement.numbers) numbers.push_back(number.value);
    return fmt::format("what {} has: {}", statement.id, fmt::join(numbers, ", "));
  }

  std::vector<Entry> entries_of(const std::string& id) const {
    const auto found = entries_.find(id);
    return found == entries_.end() ? std::vector<Entry>{} : found->second;
  }

  // Each experiment has as many entries with a number as the statement has it.
  void check_compared(const PrintedStatement& statement) const {
    for (const std::string& experiment : statement.compared) {
      std::vector<double> compared;
      for (const Entry& entry : entries_of(statement.id))
        if (entry.experiment == experiment)
          for (const double number : numbers_of(entry.value)) compared.push_back(number);
      if (compared.empty())
        refuse(statement, "no entry for " + statement.id + " in " + experiment + ".yaml",
               "one with printed: " + statement.id);
      for (const PrintedNumber& number : statement.numbers)
        if (count(compared, number) < count(statement.numbers, number))
          throw InputError(number.origin, statement.path,
                           fmt::format("{}, which no entry for {} in {}.yaml has, or too few", number.value,
                                       statement.id, experiment),
                           "an entry for each number that is printed");
    }
  }

  static std::ptrdiff_t count(const std::vector<double>& numbers, const PrintedNumber& number) {
    return std::count_if(numbers.begin(), numbers.end(), [&](double n) { return equal(n, number.value); });
  }
  static std::ptrdiff_t count(const std::vector<PrintedNumber>& numbers, const PrintedNumber& number) {
    return std::count_if(numbers.begin(), numbers.end(),
                         [&](const PrintedNumber& n) { return equal(n.value, number.value); });
  }

  // A statement counts in one experiment, and what counts is nowhere open.
  void check_once(const PrintedStatement& statement) const {
    const auto entries = entries_of(statement.id);
    const auto counted =
        std::find_if(entries.begin(), entries.end(), [](const Entry& e) { return e.value.counted(); });
    if (counted == entries.end()) return;
    for (const Entry& entry : entries) {
      if (entry.experiment == counted->experiment || entry.value.class_name == "input") continue;
      const bool same =
          !statement.numbers.empty() && std::any_of(entries.begin(), entries.end(), [&](const Entry& other) {
            return other.value.counted() && equal(other.value.published, entry.value.published);
          });
      if (entry.value.counted() || same)
        throw InputError(entry.value.origin, entry.value.path,
                         fmt::format("{} as {}, which counts in {}.yaml", statement.id,
                                     entry.value.class_name, counted->experiment),
                         "class input, because nothing counts twice");
    }
  }

  void check_input(const PrintedStatement& statement) const {
    if (statement.input.empty()) return;
    std::vector<double> there;
    for (const std::string& file : statement.input) {
      if (!fs::exists(folder_ / file)) refuse(statement, quote(file) + ", which does not exist", "a file");
      collect(read_yaml((folder_ / file).string()), there);
    }
    for (const PrintedNumber& number : statement.numbers)
      if (std::none_of(there.begin(), there.end(), [&](double value) { return equal(value, number.value); }))
        throw InputError(
            number.origin, statement.path,
            fmt::format("{}, which is not in {}", number.value, fmt::join(statement.input, ", ")),
            "numbers that are");
  }

  static void collect(const Node& node, std::vector<double>& numbers) {
    if (node.kind == Node::Kind::scalar)
      if (const auto number = number_in(node.scalar)) numbers.push_back(*number);
    for (const Node& item : node.items) collect(item, numbers);
    for (const auto& [key, value] : node.entries) collect(value, numbers);
  }

  const PrintedList& list_;
  fs::path folder_;
  std::map<std::string, const PrintedStatement*> statements_;
  std::map<std::string, std::vector<Entry>> entries_;
};

}  // namespace

PrintedList read_printed(const Field& root) {
  Mapping m = root.mapping();
  read_header(m, "printed");
  PrintedList list;
  list.paper = m.need("paper").text();
  std::map<std::string, int> lines;
  for (const Field& item : m.need("statements").items()) {
    list.statements.push_back(read_statement(item));
    const PrintedStatement& statement = list.statements.back();
    const auto [first, is_new] = lines.emplace(statement.id, statement.origin.line);
    if (!is_new)
      item.fail(fmt::format("the id {}, which line {} has", statement.id, first->second), "an id of its own");
  }
  m.finish();
  return list;
}

void check_printed(const PrintedList& list, const fs::path& folder) {
  Audit audit(list, folder);
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder.empty() ? fs::path(".") : folder))
    if (entry.path().extension() == ".yaml" && entry.path().filename() != kPrintedList)
      files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  for (const fs::path& file : files) {
    const Configuration configuration = read_configuration(file.string());
    if (configuration.kind == "experiment")
      audit.take(file.stem().string(), read_experiment(file.string(), {}).published);
  }
  audit.finish();
}

}  // namespace gangway
