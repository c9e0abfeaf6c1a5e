#include <nanobind/stl/string.h>

#include "analysis/core/parts.hpp"
#include "models/error.hpp"

namespace gangway::python {
namespace {

// The classes are Python's own (analysis/gangway/errors.py), since they have attributes.
nb::object error_class(const char* name) { return nb::module_::import_("gangway.errors").attr(name); }

void raise(const char* name, const nb::object& error) {
  PyErr_SetObject(error_class(name).ptr(), error.ptr());
}

nb::object line_or_none(int line) { return line > 0 ? nb::cast(line) : nb::none(); }

void translate(const std::exception_ptr& thrown, void*) {
  try {
    std::rethrow_exception(thrown);
  } catch (const InputError& error) {
    raise("InputError",
          error_class("InputError")(error.what(), error.origin().file, line_or_none(error.origin().line),
                                    error.key(), error.found(), error.expected()));
  } catch (const RunError& error) {
    raise("RunError", error_class("RunError")(error.what()));
  }
}

}  // namespace

void add_errors(nb::module_&) { nb::register_exception_translator(translate); }

}  // namespace gangway::python
