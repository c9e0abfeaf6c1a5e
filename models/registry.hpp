// Registries of policies, mechanisms, generators and the like, each in a file that registers itself.
#pragma once

#include <algorithm>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <set>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

#include "models/error.hpp"
#include "models/nearest.hpp"
#include "models/parameters.hpp"

namespace gangway {

// Common description. Entry types derive from it and add a factory.
struct Described {
  std::string name;
  std::string summary;
  std::vector<Parameter> parameters;
};

// For two registrations of one name: names both places and ends the program with exit code 1.
[[noreturn]] void stop_at_start(const std::string& name, const std::source_location& first,
                                const std::source_location& second);

// All entries of one type, sorted by name. Filled before main() by Registration objects. All members can be
// called from several threads at once.
template <typename Entry>
class Registry {
 public:
  // As of now. Entries stay valid, also when they are replaced.
  static std::vector<std::reference_wrapper<const Entry>> all() {
    const std::lock_guard lock(mutex());
    return {entries().begin(), entries().end()};
  }

  static std::vector<std::string> names() {
    std::vector<std::string> out;
    for (const Entry& entry : all()) out.push_back(entry.name);
    return out;
  }

  // Throws InputError with the nearest known name.
  static const Entry& get(const Field& name) { return *find(name.one_of(names())); }

  // The same for a name from outside a document: `origin` is where it was given ("--world"), `key` what it
  // names.
  static const Entry& named(const std::string& name, const std::string& origin, const std::string& key) {
    const Entry* found = find(name);
    if (found == nullptr) throw InputError({origin, 0}, key, quote(name), expected_names(name, names()));
    return *found;
  }

  // Before main() only. If the name is taken, ends the program: one line on stderr, exit code 1.
  static void add(Entry entry, const std::source_location& where) {
    static std::map<std::string, std::source_location> places;
    if (const auto [first, fresh] = places.emplace(entry.name, where); !fresh)
      stop_at_start(entry.name, first->second, where);
    const std::lock_guard lock(mutex());
    insert(std::move(entry));
  }

  // At run time: defines an entry, or replaces an earlier definition. InputError for the name of an added
  // entry.
  static void define(Entry entry) {
    static std::set<std::string> defined;
    static std::list<Entry> replaced;
    const std::lock_guard lock(mutex());
    if (const auto there = place_of(entry.name); there != entries().end()) {
      if (defined.count(entry.name) == 0)
        throw InputError({"gangway", 0}, "name", quote(entry.name) + ", a name of Gangway's own",
                         "another name");
      replaced.splice(replaced.end(), entries(), there);
    }
    defined.insert(entry.name);
    insert(std::move(entry));
  }

 private:
  static const Entry* find(const std::string& name) {
    const std::lock_guard lock(mutex());
    const auto place = place_of(name);
    return place == entries().end() ? nullptr : &*place;
  }

  // The mutex must be held for these.
  static auto place_of(const std::string& name) {
    return std::find_if(entries().begin(), entries().end(), [&](const Entry& e) { return e.name == name; });
  }
  static void insert(Entry entry) {
    auto& all = entries();
    const auto place =
        std::find_if(all.begin(), all.end(), [&](const Entry& there) { return entry.name < there.name; });
    all.insert(place, std::move(entry));
  }

  static std::list<Entry>& entries() {
    static std::list<Entry> all;
    return all;
  }
  static std::mutex& mutex() {
    static std::mutex mutex;
    return mutex;
  }
};

// `where`: the registration's place, in the entry's file.
template <typename Entry>
struct Registration {
  explicit Registration(Entry entry, const std::source_location& where = std::source_location::current()) {
    Registry<Entry>::add(std::move(entry), where);
  }
};

// A choice as in files: a name, or {name, params}, plus a label where allowed.
template <typename Entry>
struct Chosen {
  const Entry* entry = nullptr;
  ParameterValues values{{}, std::nullopt};
  std::string label;
};

template <typename Entry>
Chosen<Entry> choose(const Field& field, bool labelled = false) {
  if (!field.is_mapping()) {
    const Entry& entry = Registry<Entry>::get(field);
    return {&entry, ParameterValues(entry.parameters, std::nullopt), entry.name};
  }
  Mapping mapping = field.mapping();
  const Entry& entry = Registry<Entry>::get(mapping.need("name"));
  ParameterValues values(entry.parameters, mapping.maybe("params"));
  std::string label = entry.name;
  if (labelled)
    if (auto given = mapping.maybe("label")) label = given->identifier();
  mapping.finish();
  return {&entry, std::move(values), std::move(label)};
}

}  // namespace gangway
