"""Four networks in plain PyTorch, with random weights: a ResNet, a U-Net, an LSTM language model, a transformer.

They know nothing of portadnn; record them, compare them, replay them::

    portadnn record --torch -o unet.jsonl -- -m portadnn.examples.torch_models unet
    portadnn diff torch -- -m portadnn.examples.torch_models transformer --size 32
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Callable

import torch
from torch import Tensor, nn


class Bottleneck(nn.Module):
    """A block of ResNet-50: 1x1, 3x3 and 1x1 convolutions beside a shortcut."""

    def __init__(self, channels: int, width: int, stride: int) -> None:
        super().__init__()
        out = 4 * width
        self.conv1, self.bn1 = nn.Conv2d(channels, width, 1, bias=False), nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3, self.bn3 = nn.Conv2d(width, out, 1, bias=False), nn.BatchNorm2d(out)
        self.shortcut: nn.Module = nn.Identity()
        if stride != 1 or channels != out:
            self.shortcut = nn.Sequential(nn.Conv2d(channels, out, 1, stride, bias=False), nn.BatchNorm2d(out))

    def forward(self, x: Tensor) -> Tensor:
        """Return (n, 4 * width, h / stride, w / stride)."""
        y = torch.relu(self.bn1(self.conv1(x)))
        y = torch.relu(self.bn2(self.conv2(y)))
        return torch.relu(self.bn3(self.conv3(y)) + self.shortcut(x))


class ResNet(nn.Module):
    """ResNet-50 (K. He et al., "Deep Residual Learning for Image Recognition", 2015), or one with other blocks."""

    def __init__(self, blocks: tuple[int, ...] = (3, 4, 6, 3), width: int = 64, classes: int = 1000) -> None:
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, width, 7, 2, 3, bias=False), nn.BatchNorm2d(width)
        self.maxpool = nn.MaxPool2d(3, 2, 1)
        channels, layers = width, []
        for stage, count in enumerate(blocks):
            inner = width << stage
            strides = [1 if stage == 0 else 2, *[1] * (count - 1)]
            layers.append(
                nn.Sequential(*(Bottleneck(channels if i == 0 else 4 * inner, inner, s) for i, s in enumerate(strides)))
            )
            channels = 4 * inner
        self.layers = nn.Sequential(*layers)
        self.pool, self.fc = nn.AdaptiveAvgPool2d(1), nn.Linear(channels, classes)

    def forward(self, x: Tensor) -> Tensor:
        """Return (n, classes) for images (n, 3, h, w)."""
        x = self.maxpool(torch.relu(self.bn1(self.conv1(x))))
        return self.fc(self.pool(self.layers(x)).flatten(1))


def _twice(channels: int, out: int) -> nn.Sequential:
    def once(channels: int) -> list[nn.Module]:
        return [nn.Conv2d(channels, out, 3, padding=1), nn.GroupNorm(4, out), nn.SiLU()]

    return nn.Sequential(*once(channels), *once(out))


class UNet(nn.Module):
    """A U-Net (O. Ronneberger et al., "U-Net", 2015) with group normalisation."""

    def __init__(self, width: int = 32, depth: int = 3, classes: int = 2) -> None:
        super().__init__()
        sizes = [width << level for level in range(depth + 1)]
        self.down = nn.ModuleList(_twice(a, b) for a, b in zip([3, *sizes[:-2]], sizes[:-1], strict=True))
        self.pool = nn.MaxPool2d(2)
        self.middle = _twice(sizes[-2], sizes[-1])
        self.widen = nn.ModuleList(nn.ConvTranspose2d(b, a, 2, 2) for a, b in itertools.pairwise(sizes))
        self.up = nn.ModuleList(_twice(2 * a, a) for a in sizes[:-1])
        self.head = nn.Conv2d(width, classes, 1)

    def forward(self, x: Tensor) -> Tensor:
        """Return (n, classes, h, w) for images (n, 3, h, w), h and w multiples of 2 ** depth."""
        kept = []
        for block in self.down:
            x = block(x)
            kept.append(x)
            x = self.pool(x)
        x = self.middle(x)
        for widen, block, skip in zip(reversed(self.widen), reversed(self.up), reversed(kept), strict=True):
            x = block(torch.cat([skip, widen(x)], 1))
        return self.head(x)


class LanguageModel(nn.Module):
    """An LSTM that predicts the next of some words."""

    def __init__(self, words: int = 1000, width: int = 128, layers: int = 2) -> None:
        super().__init__()
        self.embedding = nn.Embedding(words, width)
        self.lstm = nn.LSTM(width, width, layers, batch_first=True)
        self.head = nn.Linear(width, words)

    def forward(self, words: Tensor) -> Tensor:
        """Return (n, t, words) for numbers of words (n, t)."""
        return torch.log_softmax(self.head(self.lstm(self.embedding(words))[0]), -1)


class Layer(nn.Module):
    """A layer of a transformer: attention to what came before, and two linear maps, each after a normalisation."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: Tensor) -> Tensor:
        """Return (n, t, width)."""
        n, t, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(n, t, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        found = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(found.transpose(1, 2).reshape(n, t, width))
        return x + self.mlp(self.norm2(x))


class Transformer(nn.Module):
    """A small transformer that predicts the next of some words."""

    def __init__(self, words: int = 1000, width: int = 128, heads: int = 4, layers: int = 2) -> None:
        super().__init__()
        self.embedding = nn.Embedding(words, width)
        self.layers = nn.Sequential(*(Layer(width, heads) for _ in range(layers)))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words)

    def forward(self, words: Tensor) -> Tensor:
        """Return (n, t, words) for numbers of words (n, t)."""
        return torch.log_softmax(self.head(self.norm(self.layers(self.embedding(words)))), -1)


MODELS: dict[str, Callable[[], nn.Module]] = {
    "resnet50": ResNet,
    "unet": UNet,
    "lstm": LanguageModel,
    "transformer": Transformer,
}


def inputs(name: str, batch: int, size: int) -> Tensor:
    """Return random images of `size` x `size` pixels, or `size` random words."""
    if name in ("lstm", "transformer"):
        return torch.randint(0, 1000, (batch, size))
    return torch.randn(batch, 3, size, size)


def train(model: nn.Module, x: Tensor, steps: int) -> float:
    """Make some steps that pull all outputs to 0, and return the last loss."""
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    loss = torch.zeros(())
    for _ in range(steps):
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
    return float(loss.detach())


def main() -> None:
    """Train one of the networks."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("model", choices=MODELS)
    parser.add_argument("--batch", type=int, default=2)
    parser.add_argument("--size", type=int, default=64, help="pixels of a side, or words")
    parser.add_argument("--steps", type=int, default=1)
    asked = parser.parse_args()
    torch.manual_seed(1)
    loss = train(MODELS[asked.model](), inputs(asked.model, asked.batch, asked.size), asked.steps)
    print(f"{asked.model}: loss {loss:.4g} after {asked.steps} steps")


if __name__ == "__main__":
    main()
