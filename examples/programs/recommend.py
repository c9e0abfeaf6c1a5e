"""Ranks 8192 items by 16 embedding tables and three dense layers. The next batch comes in a second stream. A job is a batch."""

import running


def build(args):
    import torch
    from torch import nn
    torch.manual_seed(0)
    bags = nn.ModuleList(nn.EmbeddingBag(200_000, 64, mode="sum") for _ in range(16)).cuda()
    dense = nn.Sequential(nn.Linear(16 * 64 + 13, 1024), nn.ReLU(), nn.Linear(1024, 512), nn.ReLU(), nn.Linear(512, 1)).cuda()
    batches = [(torch.randint(0, 200_000, (16, 8192, 4)).pin_memory(), torch.randn(8192, 13).pin_memory()) for _ in range(4)]
    side, coming, steps = torch.cuda.Stream(), [], iter(range(1 << 60))

    def fetch():
        with torch.cuda.stream(side):
            coming[:] = [part.to("cuda", non_blocking=True) for part in batches[next(steps) % 4]]

    def job():
        with torch.no_grad():
            torch.cuda.current_stream().wait_stream(side)
            ids, features = coming
            for part in (ids, features):
                part.record_stream(torch.cuda.current_stream())
            fetch()
            found = dense(torch.cat([bag(of) for bag, of in zip(bags, ids)] + [features], 1))
            return torch.topk(found.flatten(), 100).values.cpu()

    fetch()
    return job


running.main(__doc__, build)
