// A form: a rewriting of a kernel that lets it leave the GPU early. One self-registering file each.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hw/transform/analysis/facts.hpp"

namespace gangway::transform {

// A trait for which a form refuses a kernel, and the reason in users' terms.
struct Objection {
  Trait trait;
  const char* reason;
};

class FormRule {
 public:
  virtual ~FormRule() = default;
  virtual std::string name() const = 0;
  virtual int rank() const = 0;  // a higher rank leaves sooner
  virtual std::vector<Objection> objections() const = 0;
  // Of the PTX ISA, that the form's own text needs: major and minor.
  virtual std::pair<std::uint32_t, std::uint32_t> least_version() const { return {0, 0}; }
  // Dynamic shared memory that a launch adds to the kernel's own, in bytes.
  virtual std::uint32_t shared_bytes() const = 0;
  // Code at the start of a rewritten kernel. It leaves the logical index in %gangway_index; the caller
  // appends the statements that derive the block index from it.
  virtual std::string beginning(const std::string& shared_base, bool copies) const = 0;
  // Code that replaces ret and exit and ends the body. Empty: they stay.
  virtual std::string instead_of_leaving() const = 0;
};

// All forms, by rank.
const std::vector<const FormRule*>& forms();

// Traits that no form supports.
std::vector<Objection> objections_of_all();

struct FormRegistration {
  explicit FormRegistration(const FormRule& rule);
};

}  // namespace gangway::transform
