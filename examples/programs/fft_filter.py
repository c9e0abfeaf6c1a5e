"""Filtering of images with CuPy (cuFFT): copied in, transformed, multiplied, transformed back; their sum is copied out.
A job is a batch of images of 1024 x 1024."""

import cupy
import cupyx
import numpy

import running


def build(args):
    random = numpy.random.default_rng(0)
    here = cupyx.empty_pinned((args.batch, 1024, 1024), numpy.float32)
    here[:] = random.random(here.shape, numpy.float32)
    there = cupy.empty(here.shape, cupy.float32)
    filters = cupy.fft.rfft2(cupy.asarray(random.random((4, 1024, 1024), numpy.float32)))

    def job():
        there.set(here)
        spectrum = cupy.fft.rfft2(there)
        total = sum(cupy.abs(cupy.fft.irfft2(spectrum * one)).sum() for one in filters)
        return float(total)

    return job


running.main(__doc__, build, running.cupy_tools,
             lambda parser: parser.add_argument("--batch", type=int, default=8, help="images (default 8)"))
