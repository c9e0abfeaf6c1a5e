"""Training of GPT-2 small, TF32, random weights and data, 512 tokens a text. A job is a step."""

import running
import training


def build(args):
    return training.gpt2(args.batch, fused=True)


running.main(__doc__, build, more=lambda parser: parser.add_argument("--batch", type=int, default=10, help="(default 10)"))
