"""Writes the stand-in's exported functions from cuda.h: all that the header declares, under the names that the
real library exports. Each counts and logs its call, then asks the implementation in namespace api, if one of
the sources defines it, else answers CUDA_ERROR_NOT_SUPPORTED.

    generate.py --compiler g++ --include /usr/local/cuda/include --out FOLDER SOURCE...
"""
import argparse
import pathlib
import re
import subprocess

DECLARATION = re.compile(r"\bCUresult\s+(cu[A-Z]\w*)\s*\(([^;]*?)\)\s*;", re.S)
IMPLEMENTATION = re.compile(r"^CUresult (cu[A-Z]\w*)\(", re.M)
TYPED = re.compile(r"\bPFN_(cu[A-Z]\w*?)_v(\d+)(_ptsz|_ptds)?\)")
# Same arguments, same meaning: the old name is served by the new implementation.
ALIASES = {"cuCtxDestroy": "cuCtxDestroy_v2", "cuCtxPopCurrent": "cuCtxPopCurrent_v2", "cuCtxPushCurrent": "cuCtxPushCurrent_v2",
           "cuStreamDestroy": "cuStreamDestroy_v2", "cuEventDestroy": "cuEventDestroy_v2", "cuDeviceGetUuid": "cuDeviceGetUuid_v2",
           "cuDevicePrimaryCtxRelease": "cuDevicePrimaryCtxRelease_v2", "cuDevicePrimaryCtxReset": "cuDevicePrimaryCtxReset_v2",
           "cuDevicePrimaryCtxSetFlags": "cuDevicePrimaryCtxSetFlags_v2", "cuEventElapsedTime": "cuEventElapsedTime_v2",
           "cuGraphInstantiateWithParams": "cuGraphInstantiateWithParams", "cuMemHostRegister": "cuMemHostRegister_v2",
           "cuStreamWriteValue32": "cuStreamWriteValue32_v2", "cuStreamWaitValue32": "cuStreamWaitValue32_v2",
           "cuStreamWriteValue64": "cuStreamWriteValue64_v2", "cuStreamWaitValue64": "cuStreamWaitValue64_v2",
           "cuStreamBatchMemOp": "cuStreamBatchMemOp_v2", "cuLinkCreate": "cuLinkCreate_v2", "cuLinkAddData": "cuLinkAddData_v2",
           "cuLinkAddFile": "cuLinkAddFile_v2"}
BEFORE_INIT = {"cuInit", "cuDriverGetVersion", "cuGetErrorName", "cuGetErrorString", "cuGetProcAddress", "cuGetProcAddress_v2"}
HANDLES = {"CUstream", "CUcontext", "CUevent", "CUmodule", "CUfunction", "CUlibrary", "CUkernel", "CUgraph", "CUgraphNode",
           "CUgraphExec", "CUmemoryPool"}
STRUCTS = {"CUipcMemHandle", "CUipcEventHandle", "CUmemLocation", "CUuuid"}
NOT_MADE = {"from", "to", "phErrorNode", "hErrorNode_out", "graph_out"}  # arrays, and what success may leave alone
WIDTHS = re.compile(r"_pt[sd][sz]$")


def declarations(compiler, include):
    source = '#include <cuda.h>\n#include <cudaProfiler.h>\n'
    command = [compiler, "-x", "c++", "-E", "-P", "-D__CUDA_API_VERSION_INTERNAL", f"-I{include}", "-"]
    text = subprocess.run(command, input=source, capture_output=True, text=True, check=True).stdout
    found = {}
    for name, parameters in DECLARATION.findall(text):
        found.setdefault(name, [] if parameters.strip() in ("", "void") else [split(p) for p in parameters.split(",")])
    found.pop("cuGetProcAddress_v2_ptsz", None)  # declared, never exported
    return found


def split(parameter):
    """('const CUgraphNode *', 'from', '') of 'const CUgraphNode *from'; an array's bounds come last."""
    parameter = " ".join(parameter.split())
    kind, name, array = re.fullmatch(r"(.*?[\s*])(\w+)((?:\[\w*\])*)", parameter).groups()
    return kind.strip(), name, array


def argument(kind, name, array):
    if not array and kind.endswith("*") and kind[:-1].strip() in HANDLES and not name.endswith("s") and name not in NOT_MADE:
        return f"{{'r', address({name})}}"
    if array or kind.endswith("*"):
        text = kind.replace(" ", "") == "constchar*"
        return f"{{'{'s' if text else 'p'}', address({name})}}"
    if kind in STRUCTS:
        return f"{{'o', sizeof({name}) * 0}}"
    if kind in HANDLES:
        return f"{{'h', address({name})}}"
    if kind == "CUdeviceptr":
        return f"{{'d', std::uint64_t({name})}}"
    if kind == "float":
        return f"{{'f', std::uint64_t({name})}}"
    if kind == "int":
        return f"{{'i', std::uint64_t({name})}}"
    if re.fullmatch(r"unsigned( int| char| short| long long)?|size_t|cuuint\d+_t|CUdevice|CUdeviceptr_v1", kind):
        return f"{{'u', std::uint64_t({name})}}"
    return f"{{'e', bits({name})}}"  # enumerations, opaque numbers and pointers


def base(symbol):
    return re.sub(r"_v\d$", "", WIDTHS.sub("", symbol))


def version_rank(symbol):
    match = re.search(r"_v(\d)$", WIDTHS.sub("", symbol))
    return int(match.group(1)) if match else 1


def introduced(symbols, typedefs):
    """The CUDA version that brought each symbol: cudaTypedefs.h has them by base name, in the symbols' order."""
    versions, since = {}, {}
    for name, version, width in TYPED.findall(typedefs):
        versions.setdefault((name, width), set()).add(int(version))
    families = {}
    for symbol in symbols:
        match = WIDTHS.search(symbol)
        families.setdefault((base(symbol), match.group(0) if match else ""), []).append(symbol)
    for key, family in families.items():
        known = sorted(versions.get(key, {2000}))
        family.sort(key=version_rank)
        for index, symbol in enumerate(family):  # fewer versions than symbols: the newest are the known ones
            since[symbol] = known[max(0, len(known) - len(family) + index)]
    return since


def function(number, symbol, parameters, implemented):
    plain = WIDTHS.sub("", symbol)
    target = plain if plain in implemented else ALIASES.get(plain)
    signature = ", ".join(f"{kind} {name}{array}" for kind, name, array in parameters)
    values = ", ".join(name for _, name, _ in parameters)
    arguments = ", ".join(argument(*p) for p in parameters)
    lines = [f"STANDIN_EXPORT CUresult {symbol}({signature}) {{"]
    lines.append(f"  const std::array<Argument, {len(parameters)}> arguments{{{{{arguments}}}}};" if parameters else "  const std::array<Argument, 0> arguments{};")
    width = "true" if symbol != plain else "false"
    early = "true" if symbol in BEFORE_INIT else "false"
    lines.append(f"  Call call({number}, {width}, {early}, arguments);")
    if target not in implemented:
        lines.append("  return call.unimplemented();")
    else:
        lines.append("  if (call.refused()) return call.done(CUDA_ERROR_NOT_INITIALIZED);")
        lines.append("  if (const CUresult planted = call.planted(); planted != CUDA_SUCCESS) return call.done(planted);")
        lines.append(f"  try {{ return call.done(api::{target}({values})); }} catch (...) {{ return call.done(caught()); }}")
    return "\n".join(lines + ["}"])


def prototype(name, parameters):
    return f"CUresult {name}({', '.join(f'{kind} {name}{array}' for kind, name, array in parameters)});"


def write(path, text):
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--compiler", required=True)
    parser.add_argument("--include", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("sources", type=pathlib.Path, nargs="+")
    options = parser.parse_args()
    functions = declarations(options.compiler, options.include)
    symbols = sorted(functions)
    implemented = {name for source in options.sources for name in IMPLEMENTATION.findall(source.read_text())}
    unknown = sorted(implemented - set(functions))
    if unknown:
        raise SystemExit(f"generate.py: cuda.h does not declare what the sources implement: {', '.join(unknown)}")
    since = introduced(symbols, (options.include / "cudaTypedefs.h").read_text())

    api = ["#pragma once", "#include <cuda.h>", "#include <cudaProfiler.h>", "namespace gangway::standin::api {"]
    api += [prototype(name, functions[name]) for name in sorted(implemented)] + ["}"]
    entries = ['#include "api.hpp"', '#include "tests/standin/calls/call.hpp"', "#include <array>", "using namespace gangway::standin;",
               'extern "C" {']
    entries += [function(number, symbol, functions[symbol], implemented) for number, symbol in enumerate(symbols)]
    entries += ["}", "namespace gangway::standin {", "const Symbol symbols[] = {"]
    for symbol in symbols:
        match = WIDTHS.search(symbol)
        entries.append(f'  {{"{symbol}", "{base(symbol)}", {since[symbol]}, {"true" if match else "false"}, '
                       f"reinterpret_cast<void*>(&::{symbol})}},")
    entries += ["};", f"const std::size_t symbol_count = {len(symbols)};", "}"]
    options.out.mkdir(parents=True, exist_ok=True)
    write(options.out / "api.hpp", "\n".join(api) + "\n")
    write(options.out / "entries.cpp", "\n".join(entries) + "\n")


if __name__ == "__main__":
    main()
