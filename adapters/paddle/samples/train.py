# SPDX-License-Identifier: Apache-2.0
"""Trains a small LeNet on made-up digits for three epochs on a device and on the CPU, and compares the losses.

    CUSTOM_DEVICE_ROOT=/where/the/plug-in/is python train.py [anyplace:0]

The last line is "largest difference D"; the exit status is 0 if D is within 1e-6 and the loss went down."""
import sys

import numpy
import paddle
from paddle import nn

EPOCHS = 3
BATCH = 64
SAMPLES = 512
TOLERANCE = 1e-6


def made_up_digits():
    """Pictures whose class is the place of a bright square among noise."""
    random = numpy.random.RandomState(1)
    labels = random.randint(0, 10, SAMPLES).astype("int64")
    pictures = random.rand(SAMPLES, 1, 28, 28).astype("float32") * 0.3
    for picture, label in zip(pictures, labels):
        row, column = 2 + 13 * (label // 5), 1 + 5 * (label % 5)
        picture[0, row : row + 8, column : column + 5] += 1.0
    return pictures, labels


def lenet():
    return nn.Sequential(
        nn.Conv2D(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2D(2, 2),
        nn.Conv2D(6, 16, 5), nn.ReLU(), nn.MaxPool2D(2, 2),
        nn.Flatten(), nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 10))


def train(place, pictures, labels):
    """The mean loss of each epoch. Everything is on `place`, and begins with the same numbers everywhere."""
    paddle.set_device(place)
    model = lenet()
    random = numpy.random.RandomState(2)
    for parameter in model.parameters():
        scale = (2.0 / numpy.prod(parameter.shape[1:] if len(parameter.shape) == 4 else parameter.shape[:1])) ** 0.5
        parameter.set_value((random.randn(*parameter.shape) * scale).astype("float32"))
    optimizer = paddle.optimizer.Adam(learning_rate=1e-3, parameters=model.parameters())
    losses = []
    for _ in range(EPOCHS):
        total = 0.0
        for begin in range(0, SAMPLES, BATCH):
            x = paddle.to_tensor(pictures[begin : begin + BATCH])
            y = paddle.to_tensor(labels[begin : begin + BATCH])
            loss = nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            total += float(loss)
        losses.append(total / (SAMPLES // BATCH))
    assert place == "cpu" or all(str(p.place) == f"Place({place})" for p in model.parameters())
    return losses


def main(place):
    pictures, labels = made_up_digits()
    here, cpu = train(place, pictures, labels), train("cpu", pictures, labels)
    print(f"{place}: " + ", ".join(f"{loss:.9f}" for loss in here))
    print("cpu: " + ", ".join(f"{loss:.9f}" for loss in cpu))
    difference = max(abs(a - b) for a, b in zip(here, cpu))
    print(f"largest difference {difference:g}")
    return 0 if difference <= TOLERANCE and here[-1] < here[0] else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else "anyplace:0"))
