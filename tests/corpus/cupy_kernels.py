"""The kernels that CuPy's own generators write, and its raw modules, compiled with NVRTC without a GPU.
python3 cupy_kernels.py FOLDER"""

import gc
import pathlib
import re
import sys
import warnings

warnings.simplefilter("ignore")

import cupy
import cupyx.scipy.interpolate
import cupyx.scipy.linalg
import cupyx.scipy.ndimage
import cupyx.scipy.signal
import cupyx.scipy.sparse
import cupyx.scipy.spatial
import cupyx.scipy.special
import cupyx.scipy.stats
import numpy
from cupy._core import _carray, _kernel, _reduction, core
from cupy.cuda import compiler
from cupyx import jit
from cupyx.jit import _compile as transpiler
from cupyx.jit import _cuda_types as cuda_types

ARRAY, INDEXER = 1, 2  # cupy/_core/_kernel.pxd: ARG_KIND_NDARRAY, ARG_KIND_INDEXER
SCALAR = 3
INSTANCES = 3  # of a raw module's templates
BLOCK = 512
TYPES = (numpy.float32, numpy.int64)  # the first one that a kernel takes
ADDED = {"elementwise": cupy.ElementwiseKernel("T x, T y, raw T w", "T z", "z = x * y + w[i % _ind.size()]", "gathered"),
         "reduction": cupy.ReductionKernel("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", "l2norm")}


def array(dtype, dimensions=1, contiguous=True):
    return _kernel._ArgInfo(ARRAY, cupy.ndarray, numpy.dtype(dtype).type, dimensions, contiguous, True)


def number(dtype):
    return _kernel._ArgInfo(SCALAR, numpy.dtype(dtype).type, numpy.dtype(dtype).type, 0, True, True)


def indexer(dimensions=1):
    return _kernel._ArgInfo(INDEXER, _carray.Indexer, None, dimensions, True, True)


def placeholders(parameters, dtype):
    """T and the like: one type for all."""
    return {p.ctype: dtype for p in parameters if p.ctype is not None and p.dtype is None}


def dtype_of(parameter, types):
    return parameter.dtype if parameter.dtype is not None else types[parameter.ctype]


def types_map(types):
    return _kernel._TypeMap(tuple(types.items()))


def elementwise(kernel, dtype, types=None, infos=None):
    types = types or placeholders(kernel.params, dtype)
    # Parameters of a type of their own are numbers, as a rule.
    infos = infos or tuple(indexer() if p.ctype is None else
                           number(p.dtype) if p.dtype is not None and p in kernel.in_params and not p.raw else
                           array(dtype_of(p, types)) for p in kernel.params)
    prologue = {name: kernel.kwargs[name] for name in ("loop_prep", "after_loop") if name in kernel.kwargs}
    return _kernel._get_elementwise_kernel_code(infos, types_map(types), kernel.params, kernel.operation, kernel.name,
                                                kernel.preamble, **prologue)


def overload(operations, dtype):
    """The one for this type, or the last."""
    usable = [o for o in operations.ops if o.routine is not None and not callable(o.routine)]
    return next((o for o in usable if numpy.dtype(dtype) in o.in_types), usable[-1])


def ufunc(function, dtype):
    operation = overload(function._ops, dtype)
    named = [(f"{kind}{i}", numpy.dtype(dtype).type)
             for kind, dtypes in (("in", operation.in_types), ("out", operation.out_types))
             for i, dtype in enumerate(dtypes)]
    letters = dict(zip("ABCDEFGHIJKLMNOP", named))  # what may stand for a type in an ElementwiseKernel
    ins, outs = (", ".join(f"{letter} {name}" for letter, (name, _) in letters.items() if name.startswith(kind))
                 for kind in ("in", "out"))
    names = "".join(f"typedef {letter} {name}_type;\n" for letter, (name, _) in letters.items())
    kernel = cupy.ElementwiseKernel(ins, outs, operation.routine, function.name, preamble=names + function._preamble,
                                    loop_prep=function._loop_prep)
    # Two dimensions that are not contiguous: the index is computed by divisions.
    return elementwise(kernel, dtype, {letter: chosen for letter, (_, chosen) in letters.items()},
                       tuple(array(chosen, 2, False) for _, chosen in named) + (indexer(2),))


def reduced(infos, kernel, types, **parts):
    return _reduction._create_reduction_function_code(
        kernel.name, BLOCK, parts["reduce_type"], kernel._params, infos, kernel.identity, parts["map"],
        parts["reduce"], parts["post"], types_map(types), parts["input"], parts["output"], kernel.preamble, ())


def arguments_of(kernel, types):
    infos = []
    for p in kernel._params:
        if p.name in ("_in_ind", "_out_ind"):
            infos.append(indexer())
        elif p.name == "_block_stride":
            infos.append(number(numpy.int32))
        else:
            infos.append(array(dtype_of(p, types)))
    return tuple(infos)


def reduction(kernel, dtype):
    types = {**placeholders(kernel._params, dtype), "IndexT": numpy.int64}
    ins = "".join(f"const {p.ctype} {p.name} = _raw_{p.name}[_in_ind.get()];" for p in kernel.in_params if not p.raw)
    outs = "".join(f"{p.ctype} &{p.name} = _raw_{p.name}[_out_ind.get()];" for p in kernel.out_params if not p.raw)
    return reduced(arguments_of(kernel, types), kernel, types, reduce_type=kernel.reduce_type, map=kernel.map_expr,
                   reduce=kernel.reduce_expr, post=kernel.post_map_expr, input=ins, output=outs)


def simple_reduction(kernel, dtype):
    operation = overload(kernel._ops, dtype)
    before, combine, after, accumulator = operation.routine
    inner, outer = numpy.dtype(operation.in_types[0]).type, numpy.dtype(operation.out_types[0]).type
    types = {"type_in0_raw": inner, "type_out0_raw": outer, "IndexT": numpy.int64}
    infos = tuple(array(inner if i == 0 else outer) if p.dtype is None and p.ctype == "T" else info
                  for i, (p, info) in enumerate(zip(kernel._params, arguments_of(kernel, {"T": dtype}))))
    return reduced(infos, kernel, types, reduce_type=accumulator or _kernel._get_typename(outer), map=before,
                   reduce=combine, post=after, input=kernel._input_expr, output=kernel._output_expr)


# Written in Python, put into CUDA C++ by CuPy.
def jit_saxpy(a, x, y, n):
    for i in range(jit.grid(1), n, jit.gridsize(1)):
        y[i] = a * x[i] + y[i]


def jit_sum(x, y, n):
    shared = jit.shared_memory(numpy.float32, 256)
    t = jit.threadIdx.x
    shared[t] = numpy.float32(0)
    i = jit.grid(1)
    if i < n:
        shared[t] = x[i]
    jit.syncthreads()
    s = numpy.uint32(128)
    while s > numpy.uint32(0):
        if t < s:
            shared[t] += shared[t + s]
        jit.syncthreads()
        s = s >> numpy.uint32(1)
    if t == numpy.uint32(0):
        jit.atomic_add(y, 0, shared[0])


def jit_transposed(x, y, n):
    i, j = jit.grid(2)
    if i < n and j < n:
        y[j * n + i] = x[i * n + j]


def transpiled(function):
    vector = cuda_types.CArray(numpy.dtype(numpy.float32), 1, True, True)
    kinds = {"a": cuda_types.Scalar(numpy.float32), "n": cuda_types.Scalar(numpy.int32)}
    names = function.__code__.co_varnames[:function.__code__.co_argcount]
    result = transpiler.transpile(function, ['extern "C"', "__global__"], "cuda",
                                  tuple(kinds.get(name, vector) for name in names), cuda_types.void)
    return result.code


def sources():
    """(group, name, source, options, instances), each once."""
    found = [o for o in gc.get_objects()
             if isinstance(o, (_kernel.ufunc, _kernel.ElementwiseKernel, _reduction._AbstractReductionKernel,
                               cupy.RawKernel, cupy.RawModule))]
    makers = {_kernel.ufunc: ("ufunc", ufunc), _kernel.ElementwiseKernel: ("elementwise", elementwise),
              _reduction.ReductionKernel: ("reduction", reduction),
              _reduction._SimpleReductionKernel: ("reduction", simple_reduction)}
    for o in found:
        kind = type(o)
        if kind in makers:
            group, make = makers[kind]
            yield group, o.name, lambda dtype, make=make, o=o: make(o, dtype), (), None
        else:
            instances = getattr(o, "name_expressions", None)
            entry = re.search(r"__global__[\w\s()]*?\bvoid\s+(?:__launch_bounds__\([^)]*\)\s*)?(\w+)\s*\(", o.code)
            yield "raw", getattr(o, "name", None) or entry.group(1), lambda dtype, o=o: o.code, o.options, instances
    for function in (jit_saxpy, jit_sum, jit_transposed):
        yield "jit", function.__name__, lambda dtype, f=function: transpiled(f), ("-DCUPY_JIT_MODE", "--std=c++17"), None


def compiled(source, options, instances, architecture):
    # CuPy asks the GPU whether its own architecture is known to NVRTC.
    compiler._get_arch_for_options_for_nvrtc = lambda arch=None: (f"-arch=compute_{arch}", "ptx")
    prefix = "".join(f"#include <{header}>\n" for header in core._cupy_header_list)
    options = core.assemble_cupy_compiler_options((*options, "-ftz=true"))
    ptx, _ = compiler.compile_using_nvrtc(prefix + source, options, architecture, "kernel.cu",
                                          instances and tuple(instances[:INSTANCES]), None, True)
    return ptx.decode() if isinstance(ptx, bytes) else ptx


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    done = set()
    for group, name, source, options, instances in sources():
        name = re.sub(r"\W+", "_", f"{group}-{name}")
        if name in done:
            continue
        done.add(name)
        for architecture in ("80", "90"):
            reasons = []
            for dtype in TYPES:
                try:
                    ptx = compiled(source(dtype), options, instances, architecture)
                    (folder / f"{name}.sm_{architecture}.ptx").write_text(ptx)
                    break
                except Exception as error:  # a type that this kernel does not take, say
                    lines = [line for line in str(error).splitlines() if "error" in line]
                    reasons.append((lines or repr(error).splitlines())[0].strip()[:160])
            else:
                print(f"skipped cupy/{name}.sm_{architecture}: {reasons[0]}")


if __name__ == "__main__":
    main()
