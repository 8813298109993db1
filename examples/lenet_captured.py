"""LeNet's training step, captured: its calls are made once, and every further step is one ``replay()``.

``python examples/lenet_captured.py`` trains the network of ``lenet.py`` both ways on the best device, and compares.
On CUDA a replay is one CUDA graph of all the step's kernels, so that the host has next to nothing to do.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np

import portadnn as dnn
from portadnn.examples.lenet import CLASSES, LeNet


class CapturedLeNet(LeNet):
    """LeNet that learns by replays. A step reads its images and labels where the first one read them."""

    step: Any = None

    def learn(self, x: Any, target: Any) -> Any:
        """Take one step; return the cross-entropy before it, class by class, which the next step overwrites."""
        if self.step is None:
            self.x, self.target = self.handle.empty(x.shape), self.handle.empty(target.shape)
        dnn.transform_tensor(self.handle, x, self.x)
        dnn.transform_tensor(self.handle, target, self.target)
        if self.step is None:
            with self.handle.capture() as self.step:
                self.loss = super().learn(self.x, self.target)
        else:
            self.step.replay()
        return self.loss

    def train(self, images: Any, labels: Any, epochs: int, batch: int, seed: int) -> Iterator[list[float]]:
        """Do what LeNet does, and keep every step's loss before the next one overwrites it."""
        starts = range(0, len(images) - batch + 1, batch)
        losses = self.handle.zeros((len(starts), CLASSES, 1, 1))
        rng = np.random.default_rng(seed)
        targets = np.eye(CLASSES, dtype=np.float32)[labels][:, :, None, None]
        for _ in range(epochs):
            order = rng.permutation(len(images))
            x, target = self.handle.asarray(images[order]), self.handle.asarray(targets[order])
            for number, i in enumerate(starts):
                loss = self.learn(x[i : i + batch], target[i : i + batch])
                dnn.transform_tensor(self.handle, loss, losses[number : number + 1])
            yield self.handle.to_numpy(losses).sum((1, 2, 3)).tolist()


def compare(handle: dnn.Handle, data: Any, epochs: int = 5, batch: int = 32) -> None:
    """Train both ways, and print the losses and the time of a step."""
    steps = epochs * (len(data.train_images) // batch)
    list(
        LeNet(handle, *data.train_images.shape[2:], seed=0).train(  # compiles
            data.train_images[:batch], data.train_labels[:batch], 1, batch, seed=0
        )
    )
    for kind in (LeNet, CapturedLeNet):
        net = kind(handle, *data.train_images.shape[2:], seed=0)
        start = time.perf_counter()
        losses = [np.mean(one) for one in net.train(data.train_images, data.train_labels, epochs, batch, seed=0)]
        seconds = time.perf_counter() - start
        accuracy = np.mean(net.classify(data.test_images) == data.test_labels)
        curve = " ".join(f"{loss:.4f}" for loss in losses)
        print(f"{kind.__name__}: losses {curve}, accuracy {accuracy:.1%}, {seconds / steps * 1e6:.0f} us a step")
    print(f"replays: {net.step.mode} of {len(net.step)} calls{net.step.reason and f' ({net.step.reason})'}")


if __name__ == "__main__":
    from portadnn.examples.digits import load

    with dnn.Handle() as chosen:
        print(f"{chosen.info.name} ({chosen.backend})")
        compare(chosen, load())
