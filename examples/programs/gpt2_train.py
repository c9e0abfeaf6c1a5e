"""Training of GPT-2 small, TF32, random weights and data, 512 tokens a text. A job is a step."""

import torch
from transformers import GPT2Config, GPT2LMHeadModel

import running


def build(args):
    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_tf32 = True
    model = GPT2LMHeadModel(GPT2Config()).cuda()
    optimiser = torch.optim.AdamW(model.parameters(), fused=True)
    tokens = torch.randint(0, 50257, (args.batch, 512), device="cuda")

    def step():
        optimiser.zero_grad()
        model(tokens, labels=tokens).loss.backward()
        optimiser.step()

    return step


running.main(__doc__, build, more=lambda parser: parser.add_argument("--batch", type=int, default=10, help="(default 10)"))
