#include <limits>
#include <nlohmann/json.hpp>

#include "experiments/results/row.hpp"
#include "tests/catch.hpp"

namespace gangway {
namespace {

TEST_CASE("a cell is a number, a text or nothing", "[results]") {
  CHECK(Cell(0.1).number() == 0.1);
  CHECK(Cell(0.1).csv() == "0.1");
  CHECK(Cell(std::string("b|a")).text() == "b|a");
  CHECK(Cell(std::string("b|a")).number() == std::nullopt);
  CHECK(Cell().empty());
  CHECK(Cell().csv().empty());
  CHECK(Cell(std::numeric_limits<double>::quiet_NaN()).empty());
  CHECK(Cell(std::optional<double>(std::numeric_limits<double>::infinity())).empty());
  CHECK(Cell(std::string()).empty());
}

TEST_CASE("a text in a row is quoted where CSV needs it", "[results]") {
  const Row row{
      {"antt", 1.5}, {"starved", std::string("a")}, {"error", std::string("no \"x\", line\n2")}, {"stp", {}}};
  CHECK(csv_names(row) == "antt,starved,error,stp");
  CHECK(csv_values(row) == "1.5,a,\"no \"\"x\"\", line\n2\",");
}

TEST_CASE("a first cell without value keeps its comma", "[results]") {
  CHECK(csv_values(Row{{"antt", {}}, {"stp", 2.0}}) == ",2");
}

TEST_CASE("a row survives JSON", "[results]") {
  const Row row{{"antt", 1.0 / 3}, {"starved", std::string("3.5")}, {"stp", {}}};
  CHECK(row_from(nlohmann::ordered_json::parse(row_json(row).dump())) == row);
  CHECK_THROWS_AS(row_from(nlohmann::ordered_json::parse(R"({"antt": [1]})")), nlohmann::json::exception);
}

TEST_CASE("a cell is found by its column", "[results]") {
  const Row row{{"antt", 1.0}, {"stp", 2.0}};
  CHECK(cell(row, "stp").number() == 2.0);
  CHECK(cell(row, "jain").empty());
}

}  // namespace
}  // namespace gangway
