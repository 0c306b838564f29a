#!/usr/bin/env python3
"""A real training loop: a small convolutional network learns to tell eight kinds of images apart.

With PyTorch where it can be imported; else the program `train` beside it, which trains a perceptron
by the driver alone. The last line is JSON: steps, loss, and the time that a step took.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import statistics
import sys
import time
from pathlib import Path
from typing import Any

EXIT_NO_DEVICE = 69
BUILD = Path(__file__).resolve().parents[2] / "build/dev"


def make_images(torch: Any, count: int, device: str) -> tuple[Any, Any]:  # noqa: ANN401 - optional
    """Make images of noise and a grating, of which the direction is the kind."""
    generator = torch.Generator().manual_seed(1)
    kinds = torch.randint(8, (count,), generator=generator)
    angle = kinds.view(-1, 1, 1) * (torch.pi / 8)
    x = torch.arange(32).view(1, 1, 32)
    y = torch.arange(32).view(1, 32, 1)
    grating = torch.sin(0.8 * (x * torch.cos(angle) + y * torch.sin(angle)))
    noise = 0.5 * torch.randn((count, 32, 32), generator=generator)
    return (grating + noise).unsqueeze(1).to(device), kinds.to(device)


def make_network(torch: Any, device: str) -> Any:  # noqa: ANN401 - optional
    """Make the network, the same in every run."""
    torch.manual_seed(2)
    nn = torch.nn
    layers = (
        *(nn.Conv2d(1, 32, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Flatten(), nn.Linear(64 * 8 * 8, 8)),
    )
    return nn.Sequential(*layers).to(device)


def train(torch: Any, device: str, steps: int, samples: int) -> dict[str, Any]:  # noqa: ANN401
    """Train, and print the loss ten times; give what is known of the steps."""
    images, kinds = make_images(torch, samples, device)
    network = make_network(torch, device)
    optimizer = torch.optim.SGD(network.parameters(), lr=0.01, momentum=0.9)
    losses, step_ms = [], []
    for step in range(steps):
        before = time.perf_counter()
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(network(images), kinds)
        loss.backward()
        optimizer.step()
        if device == "cuda":
            torch.cuda.synchronize()
        step_ms.append(1000 * (time.perf_counter() - before))
        if step % max(1, steps // 10) == 0 or step == steps - 1:
            losses.append(loss.item())
            print(f"step {step + 1} loss {losses[-1]:.6f}")
    return {
        "device": "gpu" if device == "cuda" else "cpu",
        "framework": f"torch {torch.__version__}",
        "steps": steps,
        "first_loss": losses[0],
        "last_loss": losses[-1],
        "step_ms_median": statistics.median(step_ms),
        "step_ms_p95": sorted(step_ms)[steps * 95 // 100],
        "wall_s": sum(step_ms) / 1000,
    }


def without_torch(program: Path, device: str, steps: int, samples: int) -> int:
    """Become the program that needs no framework."""
    words = ["--device", device, "--steps", str(steps), "--samples", str(samples)]
    try:
        os.execv(program, [str(program), *words])
    except OSError as problem:
        print(f"train.py: {program}: {problem.strerror}; make workloads builds it", file=sys.stderr)
        return 1


def main() -> int:
    """Train with what there is."""
    parser = argparse.ArgumentParser(
        description="Train a small network.",
        epilog="Exit status: 0 done, 1 the loss did not fall, 2 called wrongly, 69 no CUDA device.",
    )
    parser.add_argument("--steps", type=int, default=200, help="at least 10 (default: 200)")
    parser.add_argument("--samples", type=int, default=512, help="in each step (default: 512)")
    parser.add_argument("--device", choices=("gpu", "cpu", "auto"), default="auto")
    parser.add_argument("--framework", choices=("auto", "torch", "none"), default="auto")
    help_text = "what trains without a framework (default: that of build/dev)"
    parser.add_argument("--train", type=Path, default=BUILD / "train", help=help_text)
    arguments = parser.parse_args()
    found = importlib.util.find_spec("torch") is not None
    if arguments.framework == "none" or (arguments.framework == "auto" and not found):
        return without_torch(arguments.train, arguments.device, arguments.steps, arguments.samples)
    torch: Any = importlib.import_module("torch")
    cuda = torch.cuda.is_available()
    if arguments.device == "gpu" and not cuda:
        print("train.py: torch sees no CUDA device", file=sys.stderr)
        return EXIT_NO_DEVICE
    device = "cuda" if cuda and arguments.device != "cpu" else "cpu"
    truth = train(torch, device, max(10, arguments.steps), arguments.samples)
    print(json.dumps(truth))
    return 0 if truth["last_loss"] < truth["first_loss"] else 1


if __name__ == "__main__":
    sys.exit(main())
