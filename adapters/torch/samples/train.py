#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains a small network on the accelerator, which is anyplace:0, and on the CPU, and compares the losses.

  ANYPLACE_TORCH_PLACES=cpu_sim python train.py [EPOCHS]

Prints a line for each epoch; exits with 1 if a loss differs by more than 1e-6."""
import sys

import torch
import torch_anyplace  # noqa: F401  (import torch loads it, unless TORCH_DEVICE_BACKEND_AUTOLOAD=0)


def losses(device, epochs):
    """The mean loss of each epoch. The same numbers on every device: the data and the first weights are the CPU's."""
    torch.manual_seed(1)
    inputs = torch.randn(256, 16)
    targets = torch.sin(inputs.sum(dim=1, keepdim=True))
    model = torch.nn.Sequential(torch.nn.Linear(16, 64), torch.nn.ReLU(), torch.nn.Dropout(0.1), torch.nn.Linear(64, 1))
    model.to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    torch.manual_seed(2)  # dropout draws from the device's generator
    result = []
    for _ in range(epochs):
        total = torch.zeros((), device=device)
        for batch in range(0, len(inputs), 64):
            x = inputs[batch:batch + 64].to(device, non_blocking=True)
            y = targets[batch:batch + 64].to(device, non_blocking=True)
            optimizer.zero_grad()
            loss = torch.nn.functional.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()
            total += loss.detach()
        result.append(total.item() / 4)
    return result


def main():
    epochs = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    accelerator = torch.accelerator.current_accelerator(check_available=True)
    if accelerator is None:
        print("there is no accelerator", file=sys.stderr)
        return 1
    print(f"{accelerator}:0 is {torch.anyplace.place(0)}")
    there, here = losses(torch.device(accelerator.type, 0), epochs), losses("cpu", epochs)
    for epoch, (a, b) in enumerate(zip(there, here, strict=True)):
        print(f"epoch {epoch}: loss {a:.7f}, on the CPU {b:.7f}")
    return 1 if any(abs(a - b) > 1e-6 for a, b in zip(there, here, strict=True)) else 0


if __name__ == "__main__":
    sys.exit(main())
