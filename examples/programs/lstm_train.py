"""Training of a language model of two LSTM layers of width 1024, 32 texts of 100 tokens. A job is a step."""

import running


def build(args):
    import torch
    from torch import nn
    torch.manual_seed(0)
    embed, lstm, head = nn.Embedding(8000, 512).cuda(), nn.LSTM(512, 1024, 2, batch_first=True).cuda(), nn.Linear(1024, 8000).cuda()
    parameters = [*embed.parameters(), *lstm.parameters(), *head.parameters()]
    optimiser = torch.optim.Adam(parameters)
    batches = [torch.randint(0, 8000, (32, 101)).pin_memory() for _ in range(8)]
    steps = iter(range(1 << 60))

    def job():
        batch = batches[next(steps) % 8].to("cuda", non_blocking=True)
        optimiser.zero_grad()
        out, _ = lstm(embed(batch[:, :-1]))
        nn.functional.cross_entropy(head(out).flatten(0, 1), batch[:, 1:].flatten()).backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimiser.step()
    return job


running.main(__doc__, build)
