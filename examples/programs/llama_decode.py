"""Decoding with a small Llama-like model (12 layers of width 4096, half precision, random weights), 16 texts at once.
A job is one token of each: it is copied to the host, which decides whether the texts are long enough."""

import torch
from torch.nn import functional as F

import running

LAYERS, WIDTH, HEADS, INNER, WORDS, TEXTS, PROMPT, LONGEST = 12, 4096, 32, 11008, 32000, 16, 64, 512


class Decoder:
    def __init__(self):
        def weight(*shape):
            return torch.randn(*shape, device="cuda", dtype=torch.half) * shape[-1] ** -0.5

        head = WIDTH // HEADS
        self.words = weight(WORDS, WIDTH)
        self.norm = torch.ones(WIDTH, device="cuda", dtype=torch.half)
        self.layers = [(weight(3 * WIDTH, WIDTH), weight(WIDTH, WIDTH), weight(2 * INNER, WIDTH), weight(WIDTH, INNER))
                       for _ in range(LAYERS)]
        self.keys = torch.zeros(LAYERS, TEXTS, HEADS, LONGEST, head, device="cuda", dtype=torch.half)
        self.values = torch.zeros_like(self.keys)
        angle = torch.outer(torch.arange(LONGEST, device="cuda"), 10000 ** (-torch.arange(0, head, 2, device="cuda") / head))
        self.cos, self.sin = (torch.cat((f(angle), f(angle)), -1).half() for f in (torch.cos, torch.sin))
        self.tokens = torch.randint(0, WORDS, (TEXTS,), device="cuda")
        self.at = PROMPT

    def turned(self, x):
        a, b = x.chunk(2, -1)
        return x * self.cos[self.at] + torch.cat((-b, a), -1) * self.sin[self.at]

    @torch.inference_mode()
    def token(self):
        x = F.embedding(self.tokens, self.words)
        for layer, (qkv, out, up, down) in enumerate(self.layers):
            q, k, v = F.linear(F.rms_norm(x, (WIDTH,), self.norm), qkv).view(TEXTS, 3, HEADS, 1, -1).unbind(1)
            self.keys[layer, :, :, self.at] = self.turned(k).squeeze(2)
            self.values[layer, :, :, self.at] = v.squeeze(2)
            seen = F.scaled_dot_product_attention(self.turned(q), self.keys[layer, :, :, :self.at + 1],
                                                  self.values[layer, :, :, :self.at + 1])
            x = x + F.linear(seen.reshape(TEXTS, WIDTH), out)
            gate, value = F.linear(F.rms_norm(x, (WIDTH,), self.norm), up).chunk(2, -1)
            x = x + F.linear(F.silu(gate) * value, down)
        self.tokens = F.linear(F.rms_norm(x, (WIDTH,), self.norm), self.words).argmax(-1)
        over = self.tokens.tolist().count(0) == TEXTS
        self.at = PROMPT if over or self.at + 1 == LONGEST else self.at + 1


def build(args):
    torch.manual_seed(0)
    torch.backends.cuda.enable_cudnn_sdp(False)  # it would plan anew for each length
    return Decoder().token


running.main(__doc__, build)
