# SPDX-License-Identifier: Apache-2.0
"""Training: the same losses and gradients as on the CPU, autocast, optimizers, threads."""
import copy
import threading
import unittest

import torch
from torch import nn
from torch.nn import functional

DEVICE = "anyplace:0"


def step(model, optimizer, inputs, targets):
    optimizer.zero_grad()
    loss = functional.mse_loss(model(inputs), targets)
    loss.backward()
    optimizer.step()
    return loss.item()


class Training(unittest.TestCase):
    def compare(self, model, inputs, targets, make_optimizer, steps=4):
        there = copy.deepcopy(model).to(DEVICE)
        ours, cpus = make_optimizer(there.parameters()), make_optimizer(model.parameters())
        for _ in range(steps):
            torch.manual_seed(5)
            a = step(there, ours, inputs.to(DEVICE), targets.to(DEVICE))
            torch.manual_seed(5)
            b = step(model, cpus, inputs, targets)
            self.assertAlmostEqual(a, b, delta=1e-6)
        for mine, theirs in zip(there.parameters(), model.parameters(), strict=True):
            self.assertEqual(mine.grad.device.type, "anyplace")
            torch.testing.assert_close(mine.cpu(), theirs, rtol=1e-5, atol=1e-6)

    def test_layers(self):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(8, 32), nn.LayerNorm(32), nn.GELU(), nn.Dropout(0.2), nn.Linear(32, 2))
        self.compare(model, torch.randn(16, 8), torch.randn(16, 2), lambda p: torch.optim.AdamW(p, lr=1e-2))

    def test_convolutions(self):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                              nn.Linear(8 * 16, 4))
        self.compare(model, torch.randn(4, 3, 8, 8), torch.randn(4, 4), lambda p: torch.optim.SGD(p, lr=1e-2, momentum=0.9))

    def test_recurrent_and_attention(self):
        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.embedding = nn.Embedding(20, 16)
                self.recurrent = nn.LSTM(16, 16, batch_first=True)
                self.attention = nn.MultiheadAttention(16, 4, batch_first=True)
                self.out = nn.Linear(16, 1)

            def forward(self, inputs):
                x, _ = self.recurrent(self.embedding(inputs.long()))
                x, _ = self.attention(x, x, x)
                return self.out(x.mean(dim=1))

        torch.manual_seed(0)
        # The CPU's fused attention rounds otherwise than what it is made of here, and Adam would divide by that.
        self.compare(Model(), torch.randint(0, 20, (6, 5)), torch.randn(6, 1), lambda p: torch.optim.SGD(p, lr=1e-2))

    def test_cells(self):
        torch.manual_seed(0)

        class Model(nn.Module):
            def __init__(self, cell):
                super().__init__()
                self.cell = cell

            def forward(self, inputs):
                result, _ = self.cell(inputs)
                return result[:, -1]

        for bias in (True, False):
            for kind in (nn.LSTM, nn.GRU, nn.RNN):
                with self.subTest(kind=kind.__name__, bias=bias):
                    model = Model(kind(4, 6, num_layers=2, bias=bias, batch_first=True))
                    self.compare(model, torch.randn(3, 5, 4), torch.randn(3, 6), lambda p: torch.optim.SGD(p, lr=0.1))

    def test_optimizers_for_lists_of_tensors(self):
        torch.manual_seed(0)
        for optimizer in (torch.optim.Adam, torch.optim.RMSprop, torch.optim.Adagrad):
            self.compare(nn.Linear(4, 4), torch.randn(8, 4), torch.randn(8, 4), lambda p, o=optimizer: o(p, lr=1e-3, foreach=True))

    def test_double_backward(self):
        ours = torch.tensor([2.0, 3.0], device=DEVICE, requires_grad=True)
        (first,) = torch.autograd.grad((ours ** 3).sum(), ours, create_graph=True)
        (second,) = torch.autograd.grad(first.sum(), ours)
        torch.testing.assert_close(second.cpu(), torch.tensor([12.0, 18.0]))

    def test_checkpointing(self):
        from torch.utils.checkpoint import checkpoint

        torch.manual_seed(0)
        layer, inputs = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5)).to(DEVICE), torch.randn(2, 4, device=DEVICE, requires_grad=True)
        torch.manual_seed(1)
        checkpoint(layer, inputs, use_reentrant=False).sum().backward()
        with_it = inputs.grad.clone()
        inputs.grad = None
        torch.manual_seed(1)
        layer(inputs).sum().backward()
        torch.testing.assert_close(with_it.cpu(), inputs.grad.cpu())

    def test_accumulating_gradients_over_streams(self):
        weight = torch.ones(100, device=DEVICE, requires_grad=True)
        side = torch.anyplace.Stream()
        side.wait_stream(torch.anyplace.current_stream())
        with side:
            (weight * 2).sum().backward()
        torch.anyplace.current_stream().wait_stream(side)
        (weight * 3).sum().backward()
        torch.testing.assert_close(weight.grad.cpu(), torch.full((100,), 5.0))


class Autocast(unittest.TestCase):
    def test_types(self):
        a, b = torch.randn(4, 4, device=DEVICE), torch.randn(4, 4, device=DEVICE)
        for dtype in (torch.bfloat16, torch.float16):
            with torch.autocast("anyplace", dtype=dtype):
                self.assertEqual((a @ b).dtype, dtype)
                self.assertEqual(functional.linear(a, b).dtype, dtype)
                self.assertEqual((a @ b).softmax(dim=0).dtype, torch.float32)
                self.assertEqual(torch.addcmul(a, (a @ b), b).dtype, torch.float32)
                with torch.autocast("anyplace", enabled=False):
                    self.assertEqual((a @ b).dtype, torch.float32)
            self.assertEqual((a @ b).dtype, torch.float32)

    def test_values(self):
        torch.manual_seed(0)
        model, inputs = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 1)), torch.randn(4, 8)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            expected = model(inputs)
        with torch.autocast("anyplace", dtype=torch.bfloat16):
            ours = copy.deepcopy(model).to(DEVICE)(inputs.to(DEVICE))
        torch.testing.assert_close(ours.cpu(), expected)

    def test_scaler(self):
        model = nn.Linear(4, 1).to(DEVICE)
        optimizer, scaler = torch.optim.SGD(model.parameters(), lr=0.1), torch.amp.GradScaler("anyplace", init_scale=16.0)
        before = model.weight.detach().clone()
        with torch.autocast("anyplace", dtype=torch.float16):
            loss = model(torch.randn(8, 4, device=DEVICE)).float().pow(2).mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        self.assertFalse(torch.equal(before.cpu(), model.weight.detach().cpu()))

    def test_binary_cross_entropy_is_refused(self):
        with torch.autocast("anyplace"), self.assertRaisesRegex(RuntimeError, "with_logits"):
            functional.binary_cross_entropy(torch.rand(3, device=DEVICE), torch.rand(3, device=DEVICE))


class Threads(unittest.TestCase):
    def test_backward_from_several_at_once(self):
        problems = []

        def work(seed):
            try:
                host = torch.full((64, 64), float(seed), requires_grad=True)
                ours = host.detach().to(DEVICE).requires_grad_()
                for _ in range(10):
                    (host @ host).sum().backward()
                    (ours @ ours).sum().backward()
                torch.testing.assert_close(ours.grad.cpu(), host.grad)
            except Exception as problem:  # reported below, with its thread's number
                problems.append((seed, problem))

        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(1, 7)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(problems, [])

    def test_backward_with_both_devices(self):
        if torch.anyplace.device_count() < 2:
            self.skipTest("there is one device")
        first = torch.ones(10, device="anyplace:0", requires_grad=True)
        second = torch.ones(10, device="anyplace:1", requires_grad=True)
        ((first * 2).to("anyplace:1") * second * 3).sum().backward()
        torch.testing.assert_close(first.grad.cpu(), torch.full((10,), 6.0))
        torch.testing.assert_close(second.grad.cpu(), torch.full((10,), 6.0))

    def test_each_on_its_own_stream(self):
        problems = []

        def work(value):
            with torch.anyplace.stream(torch.anyplace.Stream()):
                for _ in range(50):
                    ours = torch.full((1000,), float(value), device=DEVICE)
                    if ours.sum().item() != value * 1000:
                        problems.append(value)

        threads = [threading.Thread(target=work, args=(value,)) for value in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(problems, [])


if __name__ == "__main__":
    unittest.main()
