"""Images in and out: a U-Net in half precision, launched kernel by kernel, 2 images of 128 x 128. A job is a request."""

import running


def build(args):
    import torch
    from torch import nn
    from torch.nn import functional
    torch.manual_seed(0)
    torch.backends.cudnn.benchmark = True

    class Block(nn.Module):
        def __init__(self, into, out):
            super().__init__()
            self.first, self.second = nn.Conv2d(into, out, 3, padding=1), nn.Conv2d(out, out, 3, padding=1)
            self.norms = nn.ModuleList(nn.GroupNorm(8, out) for _ in range(2))
            self.skip = nn.Conv2d(into, out, 1)

        def forward(self, x):
            within = functional.silu(self.norms[0](self.first(x)))
            return self.skip(x) + functional.silu(self.norms[1](self.second(within)))

    class UNet(nn.Module):
        def __init__(self, widths=(64, 128, 256, 512)):
            super().__init__()
            self.first = nn.Conv2d(3, widths[0], 3, padding=1)
            self.down = nn.ModuleList(Block(a, b) for a, b in zip(widths, widths[1:]))
            self.middle = Block(widths[-1], widths[-1])
            self.up = nn.ModuleList(Block(2 * b, a) for a, b in zip(widths[-2::-1], widths[::-1]))
            self.last = nn.Conv2d(widths[0], 3, 3, padding=1)

        def forward(self, x):
            x, kept = self.first(x), []
            for block in self.down:
                x = block(x)
                kept.append(x)
                x = functional.avg_pool2d(x, 2)
            x = self.middle(x)
            for block in self.up:
                x = block(torch.cat([functional.interpolate(x, scale_factor=2), kept.pop()], 1))
            return self.last(x)

    model = UNet().cuda().half().to(memory_format=torch.channels_last).eval()
    images = torch.randn(2, 3, 128, 128).pin_memory()

    def job():
        with torch.no_grad():
            model(images.to("cuda", non_blocking=True).half().to(memory_format=torch.channels_last)).float().cpu()
    return job


running.main(__doc__, build)
