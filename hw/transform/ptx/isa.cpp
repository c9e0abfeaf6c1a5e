#include "hw/transform/ptx/isa.hpp"

#include <charconv>
#include <unordered_set>

namespace gangway::transform {
namespace {

// %pm3 is one of 8 that begin with %pm.
bool is_numbered(std::string_view name, std::string_view front, std::uint32_t count, std::string_view back) {
  if (!name.starts_with(front) || !name.ends_with(back) || name.size() <= front.size() + back.size())
    return false;
  const std::string_view digits = name.substr(front.size(), name.size() - front.size() - back.size());
  std::uint32_t number = 0;
  const char* const end = digits.data() + digits.size();
  const auto read = std::from_chars(digits.data(), end, number);
  return read.ec == std::errc() && read.ptr == end && number < count;
}

}  // namespace

bool is_known_instruction(std::string_view name) {
  static const std::unordered_set<std::string_view> kNames{
      "abs",          "activemask",    "add",       "addc",       "alloca",
      "and",          "applypriority", "atom",      "bar",        "barrier",
      "bfe",          "bfi",           "bfind",     "bmsk",       "bra",
      "brev",         "brkpt",         "brx",       "call",       "clusterlaunchcontrol",
      "clz",          "cnot",          "copysign",  "cos",        "cp",
      "createpolicy", "cvt",           "cvta",      "discard",    "div",
      "dp2a",         "dp4a",          "elect",     "ex2",        "exit",
      "fence",        "fma",           "fns",       "getctarank", "griddepcontrol",
      "isspacep",     "istypep",       "ld",        "ldmatrix",   "ldu",
      "lg2",          "lop3",          "mad",       "mad24",      "madc",
      "mapa",         "match",         "max",       "mbarrier",   "membar",
      "min",          "mma",           "mov",       "movmatrix",  "mul",
      "mul24",        "multimem",      "nanosleep", "neg",        "not",
      "or",           "pmevent",       "popc",      "prefetch",   "prefetchu",
      "prmt",         "rcp",           "red",       "redux",      "rem",
      "ret",          "rsqrt",         "sad",       "selp",       "set",
      "setmaxnreg",   "setp",          "shf",       "shfl",       "shl",
      "shr",          "sin",           "slct",      "sqrt",       "st",
      "stackrestore", "stacksave",     "stmatrix",  "sub",        "subc",
      "suld",         "suq",           "sured",     "sust",       "szext",
      "tanh",         "tcgen05",       "tensormap", "testp",      "tex",
      "tld4",         "trap",          "txq",       "vabsdiff",   "vabsdiff2",
      "vabsdiff4",    "vadd",          "vadd2",     "vadd4",      "vavrg2",
      "vavrg4",       "vmad",          "vmax",      "vmax2",      "vmax4",
      "vmin",         "vmin2",         "vmin4",     "vote",       "vset",
      "vset2",        "vset4",         "vshl",      "vshr",       "vsub",
      "vsub2",        "vsub4",         "wgmma",     "wmma",       "xor"};
  return kNames.count(name) != 0;
}

bool is_special_register(std::string_view name) {
  static const std::unordered_set<std::string_view> kVectors{
      "%tid", "%ntid", "%ctaid", "%nctaid", "%clusterid", "%nclusterid", "%cluster_ctaid", "%cluster_nctaid"};
  static const std::unordered_set<std::string_view> kScalars{"%aggr_smem_size",
                                                             "%clock",
                                                             "%clock64",
                                                             "%clock_hi",
                                                             "%cluster_ctarank",
                                                             "%cluster_nctarank",
                                                             "%current_graph_exec",
                                                             "%dynamic_smem_size",
                                                             "%globaltimer",
                                                             "%globaltimer_hi",
                                                             "%globaltimer_lo",
                                                             "%gridid",
                                                             "%is_explicit_cluster",
                                                             "%laneid",
                                                             "%lanemask_eq",
                                                             "%lanemask_ge",
                                                             "%lanemask_gt",
                                                             "%lanemask_le",
                                                             "%lanemask_lt",
                                                             "%nsmid",
                                                             "%nwarpid",
                                                             "%reserved_smem_offset_0",
                                                             "%reserved_smem_offset_1",
                                                             "%reserved_smem_offset_begin",
                                                             "%reserved_smem_offset_cap",
                                                             "%reserved_smem_offset_end",
                                                             "%smid",
                                                             "%total_smem_size",
                                                             "%warpid"};
  const std::size_t dot = name.find('.');
  if (kVectors.count(name.substr(0, dot)) != 0) return true;
  return kScalars.count(name) != 0 || is_numbered(name, "%envreg", 32, "") ||
         is_numbered(name, "%pm", 8, "") || is_numbered(name, "%pm", 8, "_64");
}

}  // namespace gangway::transform
