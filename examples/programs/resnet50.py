"""ResNet-50 inference, half precision, random weights. A job is a batch of images."""

import torch
import torchvision

import inference
import running


def build(args):
    torch.manual_seed(0)
    torch.backends.cudnn.benchmark = False
    model = torchvision.models.resnet50().cuda().eval().half().to(memory_format=torch.channels_last)
    images = torch.randn(args.batch, 3, 224, 224).half().to(memory_format=torch.channels_last)
    return inference.job_of(model, images, args.graph)


running.main(__doc__, build, more=lambda parser: inference.add_options(parser, 8))
