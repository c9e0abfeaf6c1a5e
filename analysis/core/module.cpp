#include "analysis/core/parts.hpp"

NB_MODULE(_core, core) {
  gangway::python::add_errors(core);
  gangway::python::add_policies(core);
  gangway::python::add_experiments(core);
  gangway::python::add_sweeps(core);
  gangway::python::add_reports(core);
}
