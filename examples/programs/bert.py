"""BERT-base inference, half precision, random weights, 256 tokens. A job is a batch of texts."""

import torch
from transformers import BertConfig, BertModel

import inference
import running


def build(args):
    torch.manual_seed(0)
    bert = BertModel(BertConfig(), add_pooling_layer=False).cuda().eval().half()
    tokens = torch.randint(0, 30522, (args.batch, 256))
    mask = torch.ones(args.batch, 256, dtype=torch.long, device="cuda")

    def first_of_each(there):
        return bert(there, attention_mask=mask).last_hidden_state[:, 0]

    return inference.job_of(first_of_each, tokens, args.graph)


running.main(__doc__, build, more=lambda parser: inference.add_options(parser, 8))
