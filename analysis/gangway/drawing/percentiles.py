"""Percentiles, as the result files have them."""
import math


def nearest_rank(ordered, share):
    """The least of the sorted values that at least this share of them does not exceed; NaN of nothing. As rank_of() in models/metrics."""
    return ordered[max(1, math.ceil(share * len(ordered))) - 1] if len(ordered) else math.nan
