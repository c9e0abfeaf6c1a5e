// forms_of MODULE.ptx REWRITTEN.ptx: rewrites one module, and prints as JSON which forms its kernels take.
#include <chrono>
#include <fstream>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "hw/transform/rewrite.hpp"

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: forms_of MODULE.ptx REWRITTEN.ptx\n";
    return 2;
  }
  std::ifstream in(argv[1], std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  if (!in.good() && !in.eof()) {
    std::cerr << argv[1] << ": cannot be read\n";
    return 2;
  }
  const auto begin = std::chrono::steady_clock::now();
  const auto rewritten = gangway::transform::rewrite(text);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  nlohmann::json out{
      {"unusable", rewritten.unusable}, {"seconds", took.count()}, {"kernels", nlohmann::json::array()}};
  for (const auto& kernel : rewritten.kernels) {
    nlohmann::json k{{"kernel", kernel.kernel}, {"line", kernel.line}};
    k["forms"] = k["refused"] = nlohmann::json::array();
    for (const auto& form : kernel.forms) k["forms"].push_back(form.form);
    for (const auto& r : kernel.refused)
      k["refused"].push_back(
          {{"form", r.form}, {"reason", r.reason}, {"instruction", r.instruction}, {"line", r.line}});
    out["kernels"].push_back(std::move(k));
  }
  std::cout << out.dump() << "\n";
  std::ofstream to(argv[2], std::ios::binary);
  to << rewritten.text;
  return to.flush().good() ? 0 : 1;
}
