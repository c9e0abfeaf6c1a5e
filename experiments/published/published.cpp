#include "experiments/published/published.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "experiments/metrics/catalogue.hpp"

namespace gangway {
namespace {

std::uint32_t read_point(const Field& field, std::uint32_t least = 0) {
  return static_cast<std::uint32_t>(field.integer(least, 1'000'000));
}

std::vector<std::string> read_names(const Field& field) {
  std::vector<std::string> names;
  for (const Field& item : field.items()) {
    const std::string name = item.identifier();
    if (std::find(names.begin(), names.end(), name) != names.end())
      item.fail(quote(name) + " twice", "each name once");
    names.push_back(name);
  }
  return names;
}

TakenClients read_clients_taken(const Field& field) {
  Mapping m = field.mapping();
  TakenClients taken;
  taken.take = m.need("take").one_of({"mean", "median", "min", "max"});
  if (auto of = m.maybe("of")) taken.of = read_names(*of);
  if (auto except = m.maybe("except")) taken.except = read_names(*except);
  if (!taken.of.empty() && !taken.except.empty()) field.fail("both of and except", "one of them");
  m.finish();
  return taken;
}

void read_over(const Field& field, PublishedValue& value) {
  Mapping m = field.mapping();
  value.last_point = read_point(m.need("to"), value.point);
  value.take = m.need("take").one_of({"mean", "median", "min", "max"});
  m.finish();
}

// A number or a percentage; of a time also a quantity.
double read_number(const Field& field, const PublishedValue& value) {
  Duration time;
  ParseFailure why;
  if (is_time_metric(value.metric) && field.is_scalar() && parse(field.node().scalar, time, why))
    return static_cast<double>(time.ns);
  return field.number(-1e300, 1e300);
}

void read_number_or_range(const Field& field, PublishedValue& value) {
  if (field.node().kind != Node::Kind::sequence) {
    value.published = read_number(field, value);
    return;
  }
  const auto ends = field.items();
  if (ends.size() != 2) field.fail("a number, or the two ends of a range");
  value.published = read_number(ends[0], value);
  value.published_to = read_number(ends[1], value);
  if (*value.published_to <= value.published) ends[1].fail("more than the first end");
}

void read_base(Mapping& m, PublishedValue& value) {
  if (auto base = m.maybe("relative_to")) value.relative_to = base->identifier();
  if (auto base = m.maybe("relative_to_point")) value.relative_to_point = read_point(*base);
  if (auto base = m.maybe("relative_to_client")) value.relative_to_client = base->identifier();
  if (auto base = m.maybe("relative_to_clients")) value.relative_to_clients = read_clients_taken(*base);
  if (auto other = m.maybe("minus")) value.minus = other->identifier();
  if (auto as = m.maybe("as")) value.as = as->one_of({"overhead", "loss", "speedup"});
}

void check_relation(const PublishedValue& value, const Field& field) {
  const bool near = value.class_name == "tight" || value.class_name == "moderate";
  if (value.relation == "order" && value.group.empty())
    field.fail("a ranked value without a group", "the group it is ranked in");
  if (value.class_name == "order" && value.relation == "=")
    field.fail("class order with relation =", "a class with a tolerance, or another relation");
  if (near && value.relation != "=")
    field.fail(fmt::format("class {} with relation {}", value.class_name, value.relation),
               "class order, because no value is given to compare with");
  if ((value.relation == "in") != value.published_to.has_value())
    field.fail(value.published_to ? "a range with relation " + value.relation : "one number with relation in",
               "relation in with a range, and with nothing else");
}

void check_base(const PublishedValue& value, const Field& field) {
  const bool of_clients = !value.client.empty() || value.clients;
  if (!value.client.empty() && value.clients) field.fail("both client and clients", "one of them");
  if (!value.relative_to_client.empty() && value.relative_to_clients)
    field.fail("both relative_to_client and relative_to_clients", "one of them");
  if (!of_clients && (!value.relative_to_client.empty() || value.relative_to_clients))
    field.fail("a metric of all relative to one of clients", "client or clients");
  if (!value.minus.empty() && !value.as.empty())
    field.fail("a difference as " + value.as, "one of minus and as");
}

}  // namespace

std::string TakenClients::text() const {
  if (!of.empty()) return fmt::format("{} of {}", take, fmt::join(of, " "));
  return except.empty() ? take + " of all" : fmt::format("{} of all but {}", take, fmt::join(except, " "));
}

std::string PublishedValue::divisor() const {
  std::vector<std::string> parts;
  if (!relative_to.empty()) parts.push_back(relative_to);
  if (!relative_to_client.empty()) parts.push_back("client " + relative_to_client);
  if (relative_to_clients) parts.push_back("clients: " + relative_to_clients->text());
  if (relative_to_point) parts.push_back(fmt::format("point {}", *relative_to_point));
  return fmt::format("{}", fmt::join(parts, " at "));
}

std::string PublishedValue::quantity() const {
  const std::string base = divisor();
  return metric + (base.empty() ? "" : "/" + base) + (minus.empty() ? "" : " minus " + minus);
}

PublishedValue read_published(const Field& field) {
  Mapping m = field.mapping();
  PublishedValue value;
  value.origin = field.node().origin();
  value.path = field.path();
  value.figure = m.need("figure").identifier();
  if (auto id = m.maybe("printed")) value.printed = id->identifier();
  if (auto point = m.maybe("point")) value.point = read_point(*point);
  value.last_point = value.point;
  if (auto over = m.maybe("over")) read_over(*over, value);
  value.policy = m.need("policy").identifier();
  if (auto client = m.maybe("client")) value.client = client->identifier();
  if (auto clients = m.maybe("clients")) value.clients = read_clients_taken(*clients);
  const bool of_clients = !value.client.empty() || value.clients;
  value.metric = m.need("metric").one_of(of_clients ? client_metrics() : point_metrics());
  read_number_or_range(m.need("published"), value);
  value.class_name = m.need("class").one_of({"tight", "moderate", "order", "input", "open"});
  value.relation = value.published_to ? "in" : value.class_name == "order" ? "order" : "=";
  if (auto relation = m.maybe("relation")) value.relation = relation->one_of({"=", "<", ">", "in", "order"});
  if (auto group = m.maybe("group")) value.group = group->identifier();
  read_base(m, value);
  if (auto note = m.maybe("note")) value.note = note->text();
  m.finish();
  check_relation(value, field);
  check_base(value, field);
  return value;
}

void refuse_repeated(const std::vector<PublishedValue>& values) {
  std::map<std::string, const PublishedValue*> seen;
  for (const PublishedValue& value : values) {
    const std::string what = fmt::format("{} {} {} {} {} {}", value.point, value.last_point, value.take,
                                         value.policy, value.who(), value.quantity());
    const auto [first, is_new] = seen.emplace(what, &value);
    if (!is_new)
      throw InputError(value.origin, value.path, "the same measured quantity as " + first->second->path,
                       "one entry for each quantity");
  }
}

}  // namespace gangway
