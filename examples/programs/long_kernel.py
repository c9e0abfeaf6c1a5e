"""Products of large matrices in full single precision: a job is one kernel of tens of ms."""

import torch

import running


def build(args):
    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_tf32 = False
    a, b = (torch.randn(args.size, args.size, device="cuda") for _ in range(2))
    c = torch.empty_like(a)
    return lambda: torch.mm(a, b, out=c)


running.main(__doc__, build, more=lambda parser: parser.add_argument("--size", type=int, default=10240, help="(default 10240)"))
