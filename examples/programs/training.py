"""Training with PyTorch: GPT-2 small, TF32, random weights and data, 512 tokens a text."""

import torch
from transformers import GPT2Config, GPT2LMHeadModel


def gpt2(batch, **of_optimiser):
    """A step, as a function. `of_optimiser`: options of AdamW."""
    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_tf32 = True
    model = GPT2LMHeadModel(GPT2Config()).cuda()
    optimiser = torch.optim.AdamW(model.parameters(), **of_optimiser)
    tokens = torch.randint(0, 50257, (batch, 512), device="cuda")

    def step():
        optimiser.zero_grad()
        model(tokens, labels=tokens).loss.backward()
        optimiser.step()

    return step
